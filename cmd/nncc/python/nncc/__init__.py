# SPDX-License-Identifier: Apache-2.0
"""nncc from Python: a network in, C firmware out.

    import nncc
    report = nncc.compile(torch_model, samples, board="cortex-m4", out="firmware")
    nncc.verify(torch_model, samples, board="cortex-m4")
    nncc.evaluate(torch_model, samples, board="cortex-m4", data=test, labels=labels)

A model is a file (.onnx, .tflite) or a torch.nn.Module. Samples are a path, an array or tensor whose first axis counts
them, or a list or dict of these for several inputs. More keywords are flags of the command line: max_ram=64000 is
--max-ram 64000, True is a flag without a value, a list repeats it.
"""

import inspect
import json
import os
import pathlib
import subprocess
import sys
import tempfile

BINARY = pathlib.Path(__file__).parent / "bin" / ("nncc.exe" if os.name == "nt" else "nncc")


class Error(RuntimeError):
    """What nncc said; .status is 1 for a difference, 2 for bad input, 3 for a gate, 4 for a missing tool."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


def run(*args):
    """Runs the program with arguments and gives what it printed."""
    done = subprocess.run([str(a) for a in (BINARY, *args)], capture_output=True, text=True)
    if done.returncode:
        raise Error(done.returncode, (done.stdout + done.stderr).strip())
    sys.stderr.write(done.stderr)
    return done.stdout


def compile(model, samples=None, *, board, out=None, **flags):
    """Writes a folder of C, by default MODEL-BOARD, and gives its report."""
    if _module(model):
        flags.setdefault("name", type(model).__name__.lower())
    out = pathlib.Path(out or f"{flags.get('name') or pathlib.Path(model).stem}-{board}")
    _call("compile", model, samples, {"board": board, "out": out, **flags})
    return json.loads((out / "report.json").read_text(encoding="utf-8"))


def verify(model, samples=None, *, board, **flags):
    """Builds the firmware, runs it on an emulated board, compares, and gives the verdict."""
    return json.loads(_call("verify", model, samples, {"board": board, "json": True, **flags}))


def evaluate(model, samples=None, *, board, data, labels, **flags):
    """Accuracy on labelled data, of the model in float and of the board's program."""
    return json.loads(_call("eval", model, samples, {"board": board, "json": True, **flags}, data, labels))


def _module(model):
    return hasattr(model, "forward")


def _call(verb, model, samples, flags, data=None, labels=None):
    with tempfile.TemporaryDirectory() as work:
        path = _export(model, samples, os.path.join(work, "model.onnx")) if _module(model) else model
        for flag, x, more in ("calib", samples, {}), ("data", data, {"labels": labels}):
            if x is not None:
                flags = {flag: _file(model, x, os.path.join(work, flag + ".npz"), more), **flags}
        return run(verb, *_words(flags), path)


def _words(flags):
    for name, value in flags.items():
        for v in value if isinstance(value, (list, tuple)) else [value]:
            if v is not None and v is not False:
                yield "--" + name.replace("_", "-") + ("" if v is True else f"={v}")


def _arrays(model, x):
    """Arrays by the names of inputs: those of forward, or their numbers."""
    if isinstance(x, dict):
        return x
    x = x if isinstance(x, (list, tuple)) else [x]
    names = inspect.signature(model.forward).parameters if _module(model) else [f"input_{i}" for i in range(len(x))]
    return dict(zip(names, x))


def _file(model, x, path, more):
    """The path of samples; those in memory are written."""
    if isinstance(x, (str, os.PathLike)):
        return x
    import numpy

    numpy.savez(path, **{k: numpy.asarray(v) for k, v in {**_arrays(model, x), **more}.items() if v is not None})
    return path


def _export(model, samples, path):
    """Writes a torch model as ONNX; the first sample has the shapes of its inputs."""
    import torch

    if samples is None or isinstance(samples, (str, os.PathLike)):
        raise TypeError("a torch model wants samples in memory: the first one has the shapes of its inputs")
    inputs = {k: torch.as_tensor(v)[:1] for k, v in _arrays(model, samples).items()}
    old = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    torch.onnx.export(model.eval(), tuple(inputs.values()), path, input_names=list(inputs), opset_version=17, **old)
    return path


def main():
    """The command line, in place of this process where the system can."""
    if os.name != "nt":
        os.execv(BINARY, ["nncc", *sys.argv[1:]])
    sys.exit(subprocess.run([BINARY, *sys.argv[1:]]).returncode)
