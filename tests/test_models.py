"""The contract of `t1.models.base`, kept by every system of the catalogue; a new entry is found by itself."""

import dataclasses

import numpy as np
import pytest
import torch

from t1 import checkpoint
from t1.errors import InputError
from t1.methods.catalog import MODELS, build
from t1.models.base import Batch

NAMES = list(MODELS)
SHAPES = [(n_vars, window) for n_vars in (1, 7, 40) for window in (24, 96)]
PARAMETERS = {  # that learn, at paper size for 7 variables and windows of 96
    "t1": 536_777,
    "timemixerpp": 885_605,
    "moderntcn": 1_497_440,
    "itransformer": 224_224,
    "timesnet": 586_791,
    "patchtst": 349_024,
    "dlinear": 18_624,
    "imputeformer": 902_209,
    "saits": 1_328_414,
    "csdi": 413_617,
    "brits": 2_178_496,
}
FEW_DRAWS = {
    "csdi": {"n_samples": 1, "n_diffusion_steps": 3},
    "sssd": {"n_samples": 1, "n_diffusion_steps": 3},
}
TINY = {  # small enough to learn a sine mixture in seconds
    "t1": {"n_channels": 16, "depths": (1,), "large_kernels": (11,)},
    "timemixerpp": {"n_layers": 1, "n_kernels": 2, "top_k": 2, "downsampling_layers": 1, "dropout": 0.0},
    "moderntcn": {"dims": (16,), "large_kernels": (25,)},
    "itransformer": {"dropout": 0.0},
    "timesnet": {"n_layers": 1, "n_kernels": 3, "dropout": 0.0},
    "patchtst": {"patch": 4, "stride": 2, "d_model": 32, "d_ffn": 64, "n_heads": 4, "dropout": 0.0},
    "imputeformer": {"n_layers": 2, "d_input_embed": 16, "d_learnable_embed": 16, "d_proj": 4, "d_ffn": 64},
    "saits": {"n_layers": 1, "d_model": 64, "d_ffn": 64, "d_k": 16, "d_v": 16, "dropout": 0.0},
    "csdi": {
        "n_layers": 2,
        "n_channels": 32,
        "n_heads": 2,
        "d_time": 32,
        "d_diffusion": 32,
        "n_diffusion_steps": 20,
        "n_samples": 3,
    },
    "brits": {"d_hidden": 32},
    "sssd": {"n_blocks": 2, "n_channels": 16, "n_diffusion_steps": 20, "n_samples": 3},
}
STEPS = {
    "t1": 200,
    "dlinear": 200,
    "imputeformer": 200,
    "csdi": 200,
    "sssd": 200,
}  # on that mixture, else 100
RATES = {"itransformer": 3e-3, "patchtst": 3e-3, "moderntcn": 3e-3, "saits": 3e-3, "brits": 1e-2}  # else 5e-3


def made(name, n_vars, window, *, seed=0, **settings):
    """A model of that seed, or a skip that says what is absent."""
    entry = MODELS[name]
    if entry.absent:
        pytest.skip(f"{entry.title} needs {', '.join(entry.absent)}")
    torch.manual_seed(seed)
    return build(name, n_vars=n_vars, window=window, **settings)


def tiny(name, n_vars=4, window=24, **settings):
    return made(name, n_vars, window, **{**TINY.get(name, {}), **settings})


def windows(n_vars, window, *, seed=1):
    """Three windows: holes everywhere, a variable that is all missing, nothing missing."""
    torch.manual_seed(seed)
    values = torch.randn(3, window, n_vars)
    observed = torch.rand(values.shape) < 0.7
    observed[1, :, 0] = False
    observed[2] = True
    return values, observed


def learnable(model):
    return {name: p for name, p in model.named_parameters() if p.requires_grad}


def filled(model, values, observed):
    torch.manual_seed(5)
    with torch.no_grad():
        return model.eval()(values, observed)


@pytest.mark.parametrize("n_vars, window", SHAPES)
@pytest.mark.parametrize("name", NAMES)
def test_every_shape_is_filled_with_numbers(name, n_vars, window):
    size = "small" if MODELS[name].small else "paper"
    model = made(name, n_vars, window, size=size, **FEW_DRAWS.get(name, {}))
    assert (model.name, model.config.n_vars, model.config.window) == (name, n_vars, window)
    assert isinstance(model.config, model.Config)
    values, observed = windows(n_vars, window)
    target = observed & (torch.rand(values.shape) < 0.3)
    assert torch.isfinite(model.loss(Batch(values, observed & ~target, target)))
    fill = filled(model, values, observed)
    assert fill.shape == values.shape and torch.isfinite(fill).all()
    nothing = filled(model, values[:1], torch.zeros_like(observed[:1]))
    constant = filled(model, torch.ones_like(values[:1]), torch.ones_like(observed[:1]))
    assert torch.isfinite(nothing).all() and torch.isfinite(constant).all()


@pytest.mark.parametrize("name", PARAMETERS)
def test_paper_size(name):
    assert sum(p.numel() for p in learnable(made(name, 7, 96)).values()) == PARAMETERS[name]


@pytest.mark.parametrize("name", NAMES)
def test_an_odd_window_is_filled_or_refused_with_the_lengths_that_work(name):
    values, observed = windows(3, 25)
    try:
        model = tiny(name, 3, 25, **FEW_DRAWS.get(name, {}))
    except InputError as error:
        assert "window" in str(error) and "25" in str(error)
    else:
        assert torch.isfinite(filled(model, values, observed)).all()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_observed_stays(name):
    model, (values, observed) = tiny(name, **FEW_DRAWS.get(name, {})).eval(), windows(4, 24)
    fill = model.impute(values, observed)
    assert torch.equal(fill[observed], values[observed])
    assert not torch.equal(fill[~observed], values[~observed])


@pytest.mark.parametrize("name", NAMES)
def test_hidden_values_never_matter(name):
    model, (values, observed) = tiny(name, **FEW_DRAWS.get(name, {})), windows(4, 24)
    other = torch.where(observed, values, 1e6)
    assert torch.equal(filled(model, values, observed), filled(model, other, observed))
    target = observed & (torch.rand(values.shape) < 0.3)
    losses = []
    for truth in (values, other):
        torch.manual_seed(6)
        losses.append(model.train().loss(Batch(truth, observed & ~target, target)).item())
    assert losses[0] == losses[1]


@pytest.mark.parametrize("n_vars", [1, 4])
@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_learns(name, n_vars):
    values, observed = windows(n_vars, 24)
    target = observed & (torch.rand(values.shape) < 0.3)
    without = []
    for seed in range(3):  # a ReLU may be born dead, but not of every seed
        model = tiny(name, n_vars, seed=seed)
        parameters = learnable(model)
        optimiser = torch.optim.Adam(parameters.values(), lr=1e-3)
        for _ in range(2):  # a part may start at 0 and hold up what lies behind it
            optimiser.zero_grad()
            model.loss(Batch(values, observed & ~target, target)).backward()
            optimiser.step()
        without.append({key for key, p in parameters.items() if p.grad is None or not p.grad.any()})
    assert not set.intersection(*without)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_hidden_is_a_loss_too(name):
    model, (values, observed) = tiny(name), windows(4, 24)
    loss = model.loss(Batch(values, observed, torch.zeros_like(observed)))
    loss.backward()
    assert torch.isfinite(loss)
    assert all(p.grad is None or torch.isfinite(p.grad).all() for p in model.parameters())


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_model_same_fill(name):
    (one, other), (values, observed) = (
        (tiny(name, **FEW_DRAWS.get(name, {})) for _ in range(2)),
        windows(4, 24),
    )
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
    assert torch.equal(filled(one, values, observed), filled(other, values, observed))


@pytest.mark.parametrize("name", NAMES)
def test_saved_and_loaded_it_fills_the_same(name, tmp_path):
    settings = FEW_DRAWS.get(name, {})
    model, (values, observed) = tiny(name, **settings), windows(4, 24)
    model.train().loss(Batch(values, observed, observed)).backward()  # running statistics are saved too
    checkpoint.save(tmp_path, model.state_dict(), dataclasses.asdict(model.config))
    tensors, info = checkpoint.load(tmp_path)
    torch.manual_seed(99)
    again = type(model)(type(model).Config(**info))
    again.load_state_dict(tensors)
    assert torch.equal(filled(model, values, observed), filled(again, values, observed))


# ------------------------------------------------------------ learning


def sines(n, *, seed):
    """Windows (n, 24, 4) of four mixtures of the same two sines and a little noise, of variance 1."""
    rng = np.random.default_rng(seed)
    steps = rng.integers(0, 10_000, n)[:, None, None] + np.arange(24)[:, None]
    angles = np.array([0.2, 1.0, 1.9, 2.7])
    values = np.sqrt(2) * np.cos(angles) * np.sin(2 * np.pi * steps / 12)
    values = values + np.sqrt(2) * np.sin(angles) * np.sin(2 * np.pi * steps / 9.5)
    return torch.from_numpy((values + rng.normal(0, 0.05, values.shape)).astype(np.float32))


def blocks(n, *, seed):
    """True in one run of eight steps, of one variable, in every window."""
    rng = np.random.default_rng(seed)
    starts, which = rng.integers(0, 24 - 8 + 1, n), rng.integers(0, 4, n)
    steps = np.arange(24)
    runs = (steps >= starts[:, None]) & (steps < starts[:, None] + 8)
    return torch.from_numpy(runs[:, :, None] & (np.arange(4) == which[:, None])[:, None])


def interpolated(values, observed):
    out = values.clone()
    for row in range(values.shape[0]):
        for var in range(values.shape[2]):
            seen = observed[row, :, var].numpy()
            known = np.flatnonzero(seen)
            out[row, :, var] = torch.from_numpy(
                np.interp(np.arange(24), known, values[row, seen, var].numpy())
            )
    return out


@pytest.mark.parametrize("name", NAMES)
def test_it_learns_a_sine_mixture(name):
    model = tiny(name).train()
    optimiser = torch.optim.Adam(learnable(model).values(), lr=RATES.get(name, 5e-3))
    n_steps = STEPS.get(name, 100)
    decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, n_steps)
    for step in range(n_steps):
        hidden = blocks(16, seed=step) | blocks(16, seed=step + 10_000)
        loss = model.loss(Batch(sines(16, seed=step), ~hidden, hidden))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        decay.step()
    values, hidden = sines(60, seed=10**6), blocks(60, seed=10**6)
    fill = filled(model, values, ~hidden)
    mse = float((fill - values)[hidden].square().mean())
    mean = float((values[hidden] - values.mean()).square().mean())
    line = float((interpolated(values, ~hidden) - values)[hidden].square().mean())
    assert mse < 0.5 * mean, f"{mse:.3f}, the column mean has {mean:.3f}"
    assert mse < 0.5 * line, f"{mse:.3f}, linear interpolation has {line:.3f}"
