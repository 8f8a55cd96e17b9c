"""The pretrained weights: loaded quickly, to the bit, and refused with a reason when something is wrong."""

import hashlib
import importlib.util
import json
from pathlib import Path
from time import perf_counter

import pytest
import torch

import t1.weights
from t1.errors import InputError
from t1.models.t1 import T1, T1Config
from t1.weights import CARD, WEIGHTS, load_pretrained, read_card, save_pretrained

SETTINGS = {
    "encoding": "shared",
    "lines": True,
    "bounded": True,
    "inputs": ("distance", "roughness", "season"),
}
QUANTILES = (0.1, 0.5, 0.9)


def network(n_channels: int = 6) -> T1:
    torch.manual_seed(3)
    model = T1(T1Config(n_vars=0, n_channels=n_channels, quantiles=QUANTILES, **SETTINGS))
    torch.nn.init.normal_(model.head.weight)
    return model


@pytest.fixture
def folder(tmp_path) -> Path:
    card = save_pretrained(tmp_path / "w", network(), trained={"steps": 9}, figures={"runs": 0.5})
    assert card == tmp_path / "w" / CARD
    return tmp_path / "w"


def test_a_network_comes_back_to_the_bit_and_ready_to_fill(folder):
    saved, loaded = network(), load_pretrained(folder)
    assert loaded.config == saved.config
    assert not loaded.training
    for name, t in saved.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], t), name
    x = torch.randn(2, 96, 5)
    observed = torch.rand(x.shape) < 0.6
    with torch.no_grad():
        assert torch.equal(loaded(x, observed), saved.eval()(x, observed))
    wide = loaded.for_variables(5)
    wide.loss(t1.models.base.Batch(x, observed, ~observed)).backward()
    assert all(p.grad is not None for p in wide.parameters())  # and ready to be tuned


def test_the_card_tells_what_the_weights_are(folder):
    card = read_card(folder)
    assert card["trained"] == {"steps": 9} and card["figures"] == {"runs": 0.5}
    assert card["parameters"] == sum(p.numel() for p in network().parameters())
    assert card["sha256"] == hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()


def test_loading_is_quick_and_leaves_random_numbers_alone(tmp_path):
    save_pretrained(tmp_path, network(64), trained={}, figures={})
    torch.manual_seed(1)
    before = torch.get_rng_state()
    taken = []
    for _ in range(5):
        began = perf_counter()
        load_pretrained(tmp_path)
        taken.append(perf_counter() - began)
    assert min(taken) < 0.05
    assert torch.equal(torch.get_rng_state(), before)


def test_without_a_path_the_shipped_weights_are_loaded(folder, monkeypatch):
    monkeypatch.setattr(t1.weights, "SHIPPED", folder)
    assert load_pretrained().config == network().config
    assert read_card()["trained"] == {"steps": 9}


def test_the_shipped_weights_are_whole_and_small():
    if not (t1.weights.SHIPPED / CARD).exists():
        pytest.skip("no weights are shipped yet")
    assert load_pretrained().config.any_width
    assert (t1.weights.SHIPPED / WEIGHTS).stat().st_size <= 3_000_000


def spoil_card(folder: Path, **changes) -> None:
    card = json.loads((folder / CARD).read_text())
    (folder / CARD).write_text(json.dumps({**card, **changes}))


def other_network(folder: Path) -> None:
    spoil_card(folder, network={**json.loads((folder / CARD).read_text())["network"], "n_channels": 7})


def no_safetensors(folder: Path) -> None:
    (folder / WEIGHTS).write_bytes(b"not weights")
    spoil_card(folder, sha256=hashlib.sha256(b"not weights").hexdigest())


@pytest.mark.parametrize(
    ("spoil", "says", "cure"),
    [
        (lambda f: (f / WEIGHTS).write_bytes((f / WEIGHTS).read_bytes()[:-9]), "cut short", "Copy"),
        (lambda f: (f / WEIGHTS).unlink(), "cannot read the pretrained weights", "Copy"),
        (lambda f: (f / CARD).unlink(), "cannot read the pretrained weights", "Copy"),
        (lambda f: (f / CARD).write_text("{"), "no readable JSON", "Copy"),
        (lambda f: (f / CARD).write_bytes(b"\xff\xfe"), "no readable JSON", "Copy"),
        (lambda f: (f / CARD).write_text("[]"), "describes no pretrained T1", "exported"),
        (lambda f: spoil_card(f, format="other"), "describes no pretrained T1", "exported"),
        (lambda f: spoil_card(f, version=2), "version 2, this t1 reads version 1", "Upgrade t1"),
        (lambda f: spoil_card(f, version=0), "version 0, this t1 reads version 1", "Export them again"),
        (lambda f: spoil_card(f, sha256=None), "was altered", "Copy"),
        (lambda f: spoil_card(f, network={"n_vars": 0, "magic": 1}), "does not fit", "Copy"),
        (lambda f: spoil_card(f, network={"n_vars": 0}), "does not fit", "Copy"),
        (other_network, "does not fit", "Copy"),
        (no_safetensors, "does not fit", "Copy"),
    ],
)
def test_what_cannot_be_loaded_is_explained(folder, spoil, says, cure):
    spoil(folder)
    with pytest.raises(InputError, match=says) as error:
        load_pretrained(folder)
    assert cure in error.value.cure and str(error.value).count(error.value.cure) == 1
    assert error.value.option == "weights"


def test_absent_shipped_weights_name_another_cure(tmp_path, monkeypatch):
    monkeypatch.setattr(t1.weights, "SHIPPED", tmp_path)
    with pytest.raises(InputError, match="cannot read the pretrained weights") as error:
        load_pretrained()
    assert "Install t1 again" in error.value.cure


def test_large_weights_are_not_written(tmp_path):
    with pytest.raises(InputError, match="at most 3,000,000"):
        save_pretrained(tmp_path / "w", network(256), trained={}, figures={})
    assert not (tmp_path / "w").exists()


def test_a_folder_that_cannot_be_written_is_explained(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        save_pretrained(tmp_path / "file", network(), trained={}, figures={})


def test_the_card_becomes_a_page(folder, capsys):
    path = Path(__file__).parents[1] / "scripts" / "model_card.py"
    spec = importlib.util.spec_from_file_location("model_card", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    script.main([str(folder)])
    page = capsys.readouterr().out
    assert "| inputs | distance, roughness, season |" in page
    assert "| steps | 9 |" in page and "| runs | 0.5 |" in page
