"""ONNX models as programs of the `aten` dialect; the one place that imports `onnx`."""
