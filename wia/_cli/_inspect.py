"""`wia inspect`: what a model is, and what it needs."""

from __future__ import annotations

import argparse

from wia._cli._output import (
    Commands,
    add_json,
    print_fields,
    print_heading,
    print_json,
    print_table,
    size_text,
)

__all__ = ["add_parser"]


def add_parser(commands: Commands, debug: argparse.ArgumentParser) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "inspect",
        parents=[debug],
        help="tell what an ONNX model is and needs",
        description="Tells the inputs and outputs of an ONNX model, its operators, parameters, "
        "arithmetic, memory, and how much of it each device has kernels for, without computing. "
        "Needs the extra wia[onnx].",
    )
    parser.add_argument("model", metavar="MODEL", help="a file in the format ONNX")
    parser.add_argument(
        "--shape",
        action="append",
        default=[],
        type=_shape,
        metavar="NAME=N,N,...",
        help="the shape of an input; sizes that the model leaves open are 1",
    )
    parser.add_argument(
        "--size",
        action="append",
        default=[],
        type=_size,
        metavar="NAME=N",
        help="the size of a dimension that the model has by this name, in all inputs",
    )
    parser.add_argument(
        "--values", action="store_true", help="also dtype and shape of what each node gives"
    )
    add_json(parser)
    parser.set_defaults(run=_run)


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, equals, sizes = text.rpartition("=")
    try:
        if not equals:
            raise ValueError
        return name, tuple(int(size) for size in sizes.split(",") if size)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} was given; expected NAME=N,N,... as x=1,3,224,224"
        ) from None


def _size(text: str) -> tuple[str, int]:
    name, equals, size = text.rpartition("=")
    if not equals or not size.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} was given; expected NAME=N as batch=8")
    return name, int(size)


def _run(options: argparse.Namespace) -> int:
    from wia import onnx

    found = onnx.inspect(options.model, dict(options.shape), sizes=dict(options.size))
    if options.json:
        values = found._asdict()
        for side in ("inputs", "outputs"):
            values[side] = [info._asdict() for info in values[side]]
        print_json(values)
        return 0
    print_heading(found.name)
    total = sum(found.operations.values())
    fields = {
        "format": f"IR {found.ir_version}; opsets "
        + ", ".join(f"{domain} {version}" for domain, version in found.opsets.items()),
        "parameters": f"{found.parameters:,} ({size_text(found.parameter_size)})",
        "arithmetic": f"{found.flops / 1e9:.3f} Gflop, {size_text(int(found.moved_size))} moved",
        "memory": f"{size_text(found.peak_size)} at most beside the parameters",
        "nodes": f"{found.nodes}, which call {total} operations",
    }
    for side, infos in (("input", found.inputs), ("output", found.outputs)):
        for info in infos:
            sizes = "?" if info.shape is None else ", ".join(map(str, info.shape))
            taken = found.shapes.get(info.name)
            shown = f", taken as [{', '.join(map(str, taken))}]" if taken else ""
            fields[f"{side} {info.name}"] = (
                f"{info.dtype or 'sequence, map or optional'}[{sizes}]{shown}"
            )
    if found.sizes:
        fields["sizes"] = ", ".join(f"{name} = {size}" for name, size in found.sizes.items())
    if found.missing:
        fields["missing"] = ", ".join(found.missing)
    if found.stopped:
        fields["stopped"] = f"the numbers are those of a part: {found.stopped}"
    print_fields(fields)
    print()
    rows = [(name, str(count)) for name, count in found.operators.items()]
    print_table(("OPERATOR", "NODES"), rows, right=("NODES",))
    print()
    rows = [(name, str(count)) for name, count in found.operations.items()]
    print_table(("OPERATION", "CALLS"), rows, right=("CALLS",))
    print()
    print_table(
        ("DEVICE", "HAS KERNELS FOR"),
        [(name, f"{count} of {total} calls") for name, count in found.devices.items()],
    )
    if options.values:
        print()
        shapes = [(name, text, found.inferred.get(name, "")) for name, text in found.values.items()]
        print_table(("VALUE", "IS", "FOR ANY SIZES"), shapes)
    return 0
