"""A list of ONNX nodes that grows by calling operators like functions."""

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 20  # the first one with GELU
IR_VERSION = 9  # of the file; the one that came with the opset


class Graph:
    """Nodes and constants; tensors go by their names."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def op(self, kind: str, *inputs: Any, n_out: int = 1, **attributes: Any) -> Any:
        """Add an operator, and give the name of its output; arrays and numbers become constants."""
        names = [x if isinstance(x, str) else self.constant(x) for x in inputs]
        out = [f"{kind}-{len(self.nodes)}-{k}" for k in range(n_out)]
        self.nodes.append(helper.make_node(kind, names, out, **attributes))
        return out[0] if n_out == 1 else out

    def constant(self, value: Any) -> str:
        """A constant; numbers with a point are 32-bit floats, whole ones 64-bit integers."""
        array = np.asarray(value)
        if array.dtype.kind == "f":
            array = array.astype(np.float32)
        elif array.dtype != np.int32:
            array = array.astype(np.int64)
        tensor = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape))
        key = f"{tensor.data_type} {array.shape} {array.tobytes().hex()}" if array.size < 64 else ""
        same = next((name for name, known in self.constants.items() if key and known.doc_string == key), None)
        if same is not None:
            return same
        tensor.name, tensor.doc_string = f"constant-{len(self.constants)}", key
        self.constants[tensor.name] = tensor
        return tensor.name

    def model(
        self, inputs: dict[str, tuple[str, tuple[Any, ...]]], output: tuple[str, tuple[Any, ...]]
    ) -> Any:
        """The checked model; inputs are (type, shape) by name, with names for the sizes that may vary."""
        for tensor in self.constants.values():
            tensor.ClearField("doc_string")
        shown = [
            helper.make_tensor_value_info(name, getattr(TensorProto, kind), shape)
            for name, (kind, shape) in inputs.items()
        ]
        name, shape = output
        self.nodes.append(helper.make_node("Identity", [name], ["levels"]))
        out = helper.make_tensor_value_info("levels", TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, "t1", shown, [out], list(self.constants.values()))
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="t1"
        )
        onnx.checker.check_model(model, full_check=True)
        return model
