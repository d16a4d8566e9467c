"""A first Python program: multiplies two matrices on a device."""

import sys

import wia

with wia.Context(sys.argv[1] if len(sys.argv) > 1 else None) as ctx:
    a = ctx.tensor([[1, 2], [3, 4]], dtype="float32")
    product = ctx.matmul(a, a, transpose_b=True)
    print(product.numpy())
