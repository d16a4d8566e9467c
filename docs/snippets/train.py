"""Fits a line to four points."""

import wia

with wia.Context("reference") as ctx:
    x = ctx.tensor([[0.0], [1.0], [2.0], [3.0]])
    y = ctx.tensor([[1.0], [3.0], [5.0], [7.0]])
    weight, bias = ctx.zeros((1, 1)), ctx.zeros(1)
    weight_mean, weight_square = ctx.zeros((1, 1)), ctx.zeros((1, 1))
    bias_mean, bias_square = ctx.zeros(1), ctx.zeros(1)
    for step in range(1, 401):
        with wia.Tape() as tape:
            error = ctx.add(ctx.matmul(x, weight), bias) - y
            loss = ctx.reduce_mean(error * error)
            d_weight, d_bias = tape.gradient(loss, [weight, bias])
        weight, weight_mean, weight_square = ctx.adam_step(
            weight, d_weight, weight_mean, weight_square, rate=0.05, step=step
        )
        bias, bias_mean, bias_square = ctx.adam_step(
            bias, d_bias, bias_mean, bias_square, rate=0.05, step=step
        )
    print(f"y = {weight.tolist()[0][0]:.2f} x + {bias.tolist()[0]:.2f}")
