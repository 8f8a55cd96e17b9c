"""`t1 export -o t1.onnx`: the pretrained network as an ONNX file, to run without torch."""

import argparse
from pathlib import Path


def add_export(p: argparse.ArgumentParser) -> None:
    p.description = "Write the pretrained network as an ONNX file: any number of windows and of columns."
    p.set_defaults(run=_export)
    p.add_argument("-o", "--output", required=True, metavar="FILE", help="where to write: t1.onnx")
    p.add_argument(
        "--weights", metavar="PATH", help="a folder that t1 pretrain exported (else the shipped one)"
    )


def _export(a: argparse.Namespace) -> int:
    from t1.onnx.engine import export_onnx

    export_onnx(a.output, a.weights)
    print(f"{Path(a.output).stat().st_size:,} bytes: {a.output}")
    return 0
