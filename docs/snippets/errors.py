"""Errors: by WIA's classes, by Python's, and with what they know."""

import wia

with wia.Context("reference") as ctx:
    a, b = ctx.zeros(4), ctx.zeros(3)
    # [error]
    try:
        ctx.add(a, b)
    except wia.InvalidArgumentError as error:  # a ValueError too
        print(error.status, error.function)
        print(error)
    # [missing]
    try:
        wia.Context("referense")
    except LookupError as error:  # a wia.NotFoundError
        print(type(error).__name__)
    # [end]
