"""Arrays of numpy as tensors and back, on one memory."""

import numpy as np

import wia

with wia.Context("reference") as ctx:
    # [in]
    array = np.arange(4, dtype=np.float32)
    x = ctx.from_dlpack(array)  # no copy
    ctx.add(x, x, out=x)
    print(array)
    # [out]
    back = np.from_dlpack(x)  # no copy either
    back[0] = 7
    print(x.tolist())
    # [copy]
    y = ctx.from_dlpack(array, copy=True)  # memory of the device's own
    y.fill(1)
    print(array, y.tolist())
    # [end]
