"""A graph: captured once, launched many times, changed in between."""

import numpy as np

import wia

with wia.Context("reference") as ctx, ctx.stream() as stream:
    weights, bias = ctx.full((64, 64), 0.5), ctx.full((1, 64), 1)
    x, y = ctx.empty((1, 64)), ctx.empty((1, 64))
    batch = np.ones((1, 64), np.float32)
    # [capture]
    with stream.capture(name="layer") as graph:
        x.write(batch, stream=stream)  # read anew by each launch
        ctx.matmul(x, weights, out=y, stream=stream)
        ctx.add(y, bias, out=y, stream=stream)
    # [launch]
    with graph, graph.instantiate() as executable:
        executable.launch()  # here, complete on return
        print(y[0, 0].tolist())  # 33.0
        batch[:] = 2
        executable.launch(stream)  # later, in the stream's order
        print(y[0, 0].tolist())  # 65.0
        # [update]
        executable.set_scalars(1, alpha=10)  # node 1 is the product
        other = ctx.full((1, 64), 5)
        executable.replace(bias, other)  # wherever bias was an operand
        executable.launch()
        print(y[0, 0].tolist())  # 645.0
        # [look]
        for node in graph.nodes():
            print(node.index, node.kind, node.name, node.dependencies)
        print(graph.to_dot())
        # [end of look]

    # [branches]
    with ctx.stream() as side, wia.Event(ctx) as fork, wia.Event(ctx) as join:
        left, right = ctx.empty((64, 64)), ctx.empty((64, 64))
        with stream.capture() as graph:
            fork.record(stream)
            side.wait(fork)  # side joins the capture
            ctx.matmul(weights, weights, out=left, stream=stream)
            ctx.add(weights, weights, out=right, stream=side)
            join.record(side)
            stream.wait(join)  # and is waited for before the end
            ctx.add(left, right, out=left, stream=stream)
        with graph, graph.instantiate(branches="parallel") as executable:
            executable.launch()
        print(left[0, 0].tolist())  # 17.0
    # [end of branches]
