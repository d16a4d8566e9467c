"""Lowerings: short functions that issue operations of the catalog for one operator of ONNX."""
