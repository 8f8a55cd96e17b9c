"""Checkpoints: what goes in comes out, a kill never breaks a folder, and a bad folder is explained."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from t1 import checkpoint
from t1.errors import InputError

TENSORS = {"a": torch.arange(6.0).reshape(2, 3), "b.c": torch.tensor([True, False])}
INFO = {"name": "ETTh1", "loss": 0.1, "none": None, "list": [1, "ü", {"deep": True}]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    checkpoint.save(tmp_path / "model", TENSORS, INFO)
    return tmp_path / "model"


def weights_file(folder: Path) -> Path:
    (file,) = folder.glob("weights-*.safetensors")
    return file


def edit(folder: Path, **changes: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def assert_holds(folder: Path, tensors: dict[str, torch.Tensor], info: dict[str, object]) -> None:
    got, got_info = checkpoint.load(folder)
    assert got_info == info
    assert got.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert got[name].dtype == tensor.dtype
        assert torch.equal(got[name], tensor)


def test_what_goes_in_comes_out(folder):
    assert_holds(folder, TENSORS, INFO)
    assert sorted(p.name for p in folder.iterdir()) == ["config.json", "weights-1.safetensors"]


def test_a_second_save_replaces_the_first_and_leaves_nothing_behind(folder):
    (folder / ".config.json.abc.part").write_text("of a killed save")
    (folder / "weights-7.safetensors").write_text("of a killed save")
    (folder / "notes.txt").write_text("the user's")
    checkpoint.save(folder, {"x": torch.ones(2)}, {})
    assert_holds(folder, {"x": torch.ones(2)}, {})
    assert sorted(p.name for p in folder.iterdir()) == ["config.json", "notes.txt", "weights-8.safetensors"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool])
def test_kinds_of_tensors(tmp_path, dtype):
    base = torch.arange(12).reshape(3, 4).to(dtype)
    tensors = {
        "plain": base,
        "shared": base[1:],
        "turned": base.t(),
        "spread": base[:1].expand(5, 4),
        "scalar": base[0, 0],
        "empty": base[:0],
    }
    checkpoint.save(tmp_path, tensors, {})
    assert_holds(tmp_path, tensors, {})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=25)
@given(info=st.dictionaries(st.text(), json_values, max_size=4))
def test_any_info_comes_back(tmp_path_factory, info):
    folder = tmp_path_factory.mktemp("info")
    checkpoint.save(folder, {}, info)
    assert_holds(folder, {}, info)


@pytest.mark.parametrize("bad", [{"loss": float("nan")}, {"loss": float("inf")}, {"object": object()}])
def test_info_that_json_cannot_hold_changes_nothing(folder, bad):
    with pytest.raises((ValueError, TypeError)):
        checkpoint.save(folder, {}, bad)
    assert_holds(folder, TENSORS, INFO)


def test_the_files_are_json_and_safetensors(folder):
    assert json.loads((folder / "config.json").read_text())["format"] == "t1-checkpoint"
    data = weights_file(folder).read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    assert header.keys() - {"__metadata__"} == TENSORS.keys()


# ---------------------------------------------------------------- folders that are not right


def test_an_absent_folder(tmp_path):
    assert not checkpoint.exists(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"nowhere does not exist\.\nGive the folder"):
        checkpoint.load(tmp_path / "nowhere")


def test_a_file_in_place_of_a_folder(folder):
    with pytest.raises(InputError, match=r"config\.json is a file, a T1 model is a folder"):
        checkpoint.load(folder / "config.json")
    with pytest.raises(InputError, match="cannot write"):
        checkpoint.save(folder / "config.json", {}, {})


def test_a_folder_of_something_else(tmp_path):
    with pytest.raises(InputError, match=r"is not a T1 model folder: it has no config\.json"):
        checkpoint.load(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "\x00\x01", "NaN oder so"])
def test_broken_json(folder, text):
    (folder / "config.json").write_text(text)
    with pytest.raises(InputError, match=r"config\.json is no readable JSON"):
        checkpoint.load(folder)


@pytest.mark.parametrize("text", ["[]", "7", "{}", '{"format": "other"}', '{"model_type": "bert"}'])
def test_a_config_of_something_else_is_neither_read_nor_overwritten(folder, text):
    (folder / "config.json").write_text(text)
    for act in (lambda: checkpoint.load(folder), lambda: checkpoint.save(folder, {}, {})):
        with pytest.raises(InputError, match="is not a T1 model folder"):
            act()
    assert (folder / "config.json").read_text() == text


def test_a_newer_format(folder):
    edit(folder, version=99)
    with pytest.raises(InputError, match=r"written by a newer t1.*version 99.*\n.*Upgrade"):
        checkpoint.load(folder)


@pytest.mark.parametrize(
    "change", [{"version": "1"}, {"weights": "../secret.safetensors"}, {"weights": None}, {"info": 3}]
)
def test_an_edited_config(folder, change):
    edit(folder, **change)
    with pytest.raises(InputError, match=r"config\.json was altered"):
        checkpoint.load(folder)


def test_absent_weights(folder):
    weights_file(folder).unlink()
    with pytest.raises(InputError, match=r"incomplete: its weights file weights-1\.safetensors is not there"):
        checkpoint.load(folder)


@pytest.mark.parametrize("keep", [0, 5, -1])
def test_truncated_weights(folder, keep):
    file = weights_file(folder)
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(InputError, match=r"weights-1\.safetensors is cut short or was altered"):
        checkpoint.load(folder)


def test_altered_weights(folder):
    file = weights_file(folder)
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    with pytest.raises(InputError, match="is cut short or was altered"):
        checkpoint.load(folder)


def test_weights_that_are_no_safetensors(folder):
    file = weights_file(folder)
    file.write_bytes(b"nothing of the kind")
    edit(folder, sha256=checkpoint._sha256(b"nothing of the kind"))
    with pytest.raises(InputError, match="no readable safetensors file"):
        checkpoint.load(folder)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a place where not even root can write")
def test_a_place_that_cannot_be_written():
    with pytest.raises(InputError, match=r"cannot write to /proc/t1-model.*\n.*another folder"):
        checkpoint.save("/proc/t1-model", {}, {})


def test_a_config_that_cannot_be_read(tmp_path):
    (tmp_path / "config.json").mkdir()
    with pytest.raises(InputError, match=r"cannot read .*config\.json.*\n.*permissions"):
        checkpoint.load(tmp_path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("locked", [".", "config.json", "weights-1.safetensors"])
def test_a_place_that_cannot_be_read(folder, locked):
    (folder / locked).chmod(0)
    try:
        with pytest.raises(InputError, match=r"cannot read .*\n.*permissions"):
            checkpoint.load(folder)
    finally:
        (folder / locked).chmod(0o700)


# ---------------------------------------------------------------- kill -9

KILL_SAVERS = """
import os, random, signal, sys, time
import torch
from t1 import checkpoint

torch.set_num_threads(1)
folder, rng = sys.argv[1], random.Random(1)
for attempt in range(15):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        n = checkpoint.load(folder)[1]["n"] if checkpoint.exists(folder) else 0
        while True:
            n += 1
            checkpoint.save(folder, {"x": torch.full((20000,), n), "y": torch.full((3,), -n)}, {"n": n})
            os.write(write, b".")
    os.read(read, 1)
    began = time.perf_counter()
    os.read(read, 1)
    time.sleep(rng.uniform(0, 1.5) * (time.perf_counter() - began))  # into the middle of a save
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    tensors, info = checkpoint.load(folder)
    assert (tensors["x"] == info["n"]).all() and (tensors["y"] == -info["n"]).all()
print(info["n"])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_savers_never_leave_a_broken_folder(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", KILL_SAVERS, str(tmp_path / "model")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) >= 30  # two and more for each kill
    checkpoint.save(tmp_path / "model", TENSORS, INFO)
    assert_holds(tmp_path / "model", TENSORS, INFO)
    assert len(list((tmp_path / "model").iterdir())) == 2


def test_reading_while_somebody_writes(tmp_path):
    """A reader between two saves finds one of them, whole."""
    checkpoint.save(tmp_path, {"x": torch.zeros(5)}, {"n": 0})
    saver = "import sys, torch\nfrom t1 import checkpoint\nfor n in range(40):\n"
    saver += "    checkpoint.save(sys.argv[1], {'x': torch.full((5,), float(n))}, {'n': n})\n"
    process = subprocess.Popen([sys.executable, "-c", saver, str(tmp_path)])
    while process.poll() is None:
        tensors, info = checkpoint.load(tmp_path)
        assert (tensors["x"] == info["n"]).all()
    assert process.returncode == 0
    assert checkpoint.load(tmp_path)[1] == {"n": 39}
