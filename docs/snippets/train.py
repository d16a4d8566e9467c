"""Fits a line to four points."""

import wia

with wia.Context("reference") as ctx:
    x = ctx.tensor([[0.0], [1.0], [2.0], [3.0]])
    y = ctx.tensor([[1.0], [3.0], [5.0], [7.0]])
    weight, bias = ctx.zeros((1, 1)), ctx.zeros(1)
    state = [ctx.zeros(t.shape) for t in (weight, weight, bias, bias)]
    for step in range(1, 401):
        with wia.Tape() as tape:
            error = ctx.add(ctx.matmul(x, weight), bias) - y
            loss = ctx.reduce_mean(error * error)
            d_weight, d_bias = tape.gradient(loss, [weight, bias])
        values = {"rate": 0.05, "step": step}
        weight, *state[:2] = ctx.adam_step(weight, d_weight, *state[:2], **values)
        bias, *state[2:] = ctx.adam_step(bias, d_bias, *state[2:], **values)
    print(f"y = {weight.tolist()[0][0]:.2f} x + {bias.tolist()[0]:.2f}")
