"""Asynchronous work: two streams, an event between them, functions, and what a failure does."""

import wia

with wia.Context("reference") as ctx:
    a = ctx.full((256, 256), 0.5)
    # [two streams]
    with ctx.stream() as first, ctx.stream() as second, wia.Event(ctx) as ready:
        product = ctx.matmul(a, a, stream=first)
        ready.record(first)
        second.wait(ready)  # later work on second begins after the product
        total = ctx.add(product, a, stream=second)
        second.synchronize(timeout=30)
        print(total[0, 0].tolist())
    # [waiting]
    with ctx.stream() as stream:
        product = ctx.matmul(a, a, stream=stream)
        print(product.numpy()[0, 0])  # waits for the product, and for nothing else
    # [functions]
    with ctx.stream() as stream, wia.Event(ctx) as camera:
        stream.wait(camera)
        ctx.matmul(a, a, out=product, stream=stream)
        stream.call(lambda error: print("failed" if error else "a frame is done"))
        camera.signal()  # the frame is there
        stream.synchronize(timeout=30)
    # [end of functions]
    # [a time-out]
    with ctx.stream() as stream, wia.Event(ctx) as never:
        stream.wait(never)
        ctx.add(a, a, stream=stream)
        try:
            stream.synchronize(timeout=0.1)
        except wia.DeadlineExceededError as error:
            print(error.status)
        stream.reset()  # drops what is queued
    # [end]
