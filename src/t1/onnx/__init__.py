"""T1 as an ONNX file: written by `export_onnx`, run by `OnnxT1` with onnxruntime and numpy, without torch."""
