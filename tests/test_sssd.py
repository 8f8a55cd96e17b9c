"""SSSD: the S4 kernels against the recurrence they stand for, the diffusion, and the model's contract."""

import pytest
import torch

from t1 import checkpoint
from t1.errors import InputError
from t1.methods.catalog import MODELS, build
from t1.models.base import Batch
from t1.models.s4 import S4Layer, discretise, impulse_responses, long_convolution, norm_channels, time_steps
from t1.models.sssd import SSSD, NormedConv, SSSDConfig

TINY = {"n_blocks": 2, "n_channels": 8, "n_state": 8, "n_diffusion_steps": 6, "d_step_hidden": 16}


def tiny(n_vars=3, window=24, seed=0, **settings) -> SSSD:
    """A small network whose output is not zero any more."""
    torch.manual_seed(seed)
    model = SSSD(SSSDConfig(n_vars=n_vars, window=window, **TINY | settings))
    torch.nn.init.normal_(model.outputs.weight, std=0.3)
    return model


def windows(batch=4, window=24, n_vars=3, seed=1):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(batch, window, n_vars, generator=generator)
    return x, torch.rand(x.shape, generator=generator) < 0.6


def seeded(function, seed=5):
    torch.manual_seed(seed)
    return function()


# ---------------------------------------------------------------- S4


@pytest.fixture(scope="module")
def layer():
    torch.manual_seed(0)
    return S4Layer(6, 64)


def recurrence(mixture, u):
    """y_t = C x_t with x_t = dA x_(t-1) + dB u_t, step by step in 64 bits; u (chans, batch, time)."""
    d_a, d_b = discretise(mixture.shape[1], time_steps(len(mixture)))
    state = torch.zeros(*u.shape[:2], mixture.shape[1], dtype=torch.float64)
    outputs = []
    for t in range(u.shape[2]):
        state = torch.einsum("hnm,hbm->hbn", d_a, state) + d_b[:, None] * u[:, :, t, None]
        outputs.append(torch.einsum("hn,hbn->hb", mixture, state))
    return torch.stack(outputs, -1)


def test_the_discretisation_is_the_bilinear_rule():
    d_a, d_b = discretise(5, torch.tensor([0.1], dtype=torch.float64))
    n = torch.arange(5, dtype=torch.float64)
    b = (2 * n + 1).sqrt()
    a = -torch.tril(b[:, None] * b, -1) - torch.diag(n + 1)
    before, after = torch.eye(5) - 0.05 * a, torch.eye(5) + 0.05 * a
    assert torch.allclose(d_a[0], torch.linalg.inv(before) @ after)
    assert torch.allclose(d_b[0], torch.linalg.inv(before) @ (0.1 * b))


@pytest.mark.parametrize("length", [24, 96])
def test_past_and_future_parts_equal_the_recurrence(layer, length):
    torch.manual_seed(3)
    u = torch.randn(6, 4, length, dtype=torch.float64)
    mixture, direct = layer.mixture.detach().double(), layer.direct.detach().double()
    past = recurrence(mixture[0], u)
    # from the future: the reversed series, one step later, for the present is the past's
    future = recurrence(mixture[1], u.flip(-1)).flip(-1)[..., 1:]
    expected = past + direct[:, None, None] * u + torch.nn.functional.pad(future, (0, 1))
    kernels = layer.kernels(impulse_responses(6, 64, length))
    result = long_convolution(u.float(), kernels)
    assert (result - expected).abs().max() < 1e-5 * expected.abs().max()

    impulse = torch.zeros(6, 1, length)
    impulse[..., 7] = 1.0
    answer = long_convolution(impulse, kernels)[:, 0]
    assert torch.allclose(answer[:, 7:], kernels[:, : length - 7], atol=1e-5)
    assert torch.allclose(answer[:, :7], kernels[:, -7:], atol=1e-5)


@pytest.mark.parametrize("length", [24, 96])
def test_a_kernel_is_the_answer_to_an_impulse(layer, length):
    impulse = torch.zeros(6, 1, length, dtype=torch.float64)
    impulse[..., 0] = 1.0
    kernels = layer.kernels(impulse_responses(6, 64, length)).detach()
    kernels[:, 0] -= layer.direct.detach()
    past, future = (recurrence(part, impulse)[:, 0] for part in layer.mixture.detach().double())
    assert (kernels[:, :length] - past).abs().max() < 1e-5
    assert (kernels[:, length:].flip(-1) - future).abs().max() < 1e-5


def test_step_sizes_span_the_range_in_both_halves():
    steps = time_steps(128)
    assert steps.min() > 1e-3 and steps.max() < 1e-1
    for half in steps.chunk(2):
        assert half.min() < 1.2e-3 and half.max() > 0.83e-1
    share = steps.log10().add(3).div(2).sort().values
    assert (share - torch.linspace(0, 1, 128, dtype=torch.float64)).abs().max() < 0.03  # log-uniform


def test_the_norm_is_a_layer_norm_over_channels(layer):
    torch.nn.init.normal_(layer.norm.weight)
    x = torch.randn(6, 4, 10)
    assert torch.allclose(
        norm_channels(x, layer.norm), layer.norm(x.permute(1, 2, 0)).permute(2, 0, 1), atol=1e-6
    )


@pytest.mark.parametrize("taps", [1, 3])
def test_a_normed_conv_is_a_convolution_and_starts_at_its_direction(taps):
    conv = NormedConv(4, 5, taps)
    weight = conv.direction.view(5, taps, 4).transpose(1, 2)
    x = torch.randn(4, 2, 9)
    expected = torch.nn.functional.conv1d(x.transpose(0, 1), weight, conv.bias, padding=taps // 2)
    assert torch.allclose(conv(x), expected.transpose(0, 1), atol=1e-5)


# ---------------------------------------------------------------- diffusion


def test_the_constants_are_the_papers():
    model = SSSD(SSSDConfig(n_vars=1, window=4, n_blocks=1, n_channels=2, n_state=2))
    beta = [1e-4 + (0.02 - 1e-4) * t / 199 for t in range(200)]
    left, before = 1.0, 1.0
    for t, b in enumerate(beta):
        before, left = left, left * (1 - b)
        assert model.signal[t] == pytest.approx(left**0.5, rel=1e-5)
        assert model.noise[t] == pytest.approx((1 - left) ** 0.5, rel=1e-5)
        assert model.shrink[t] == pytest.approx((1 - b) ** 0.5, rel=1e-5)
        assert model.remove[t] == pytest.approx(b / (1 - left) ** 0.5, rel=1e-5)
        assert model.sigma[t] ** 2 == pytest.approx(b * (1 - before) / (1 - left), rel=1e-5)
    assert model.sigma[0] == 0
    assert left == pytest.approx(0.132, abs=0.002)


@pytest.mark.parametrize("steps", [20, 50])
def test_fewer_steps_end_at_about_the_same_noise(steps):
    left = torch.cumprod(1 - SSSDConfig(n_vars=1, n_diffusion_steps=steps).betas(), 0)
    assert left[-1] == pytest.approx(0.132, abs=0.025)


def test_one_step_keeps_visible_values_and_undoes_known_noise(monkeypatch):
    model = tiny()
    x, observed = (t.permute(2, 0, 1) for t in windows())
    visible = torch.where(observed, x, 0.0)
    noise = torch.randn_like(x)
    monkeypatch.setattr(model, "predict", lambda *_: noise)
    mixed = model.signal[0] * x + model.noise[0] * noise  # after the first step there is nothing else in it
    result = model.denoise(mixed, visible, observed, 0)
    assert torch.equal(result[observed], x[observed])
    assert torch.allclose(result, x, atol=1e-5)
    later = seeded(lambda: model.denoise(mixed, visible, observed, 4))
    assert torch.equal(later[observed], x[observed])
    assert not torch.equal(later[~observed], mixed[~observed])


def test_the_network_sees_the_mixture_of_the_authors_code(monkeypatch):
    model, (x, observed) = tiny(), windows()
    target = ~observed
    target[0] = False  # gaps of its own
    seen = {}

    def predict(mixed, values, observed, step):
        seen.update(mixed=mixed, step=step)
        return torch.zeros_like(mixed)

    monkeypatch.setattr(model, "predict", predict)
    loss = seeded(lambda: model.loss(Batch(x, observed, target)))
    values, shown = x.permute(2, 0, 1), observed.permute(2, 0, 1)
    signal, noise = model.signal[seen["step"]][:, None], model.noise[seen["step"]][:, None]
    assert torch.allclose(seen["mixed"][shown], ((signal + noise) * values)[shown])
    drawn = (seen["mixed"] - signal * values) / noise
    assert loss == pytest.approx(drawn[target.permute(2, 0, 1)].square().mean().item(), rel=1e-4)


# ---------------------------------------------------------------- the contract


@pytest.mark.parametrize("n_vars", [1, 7, 40])
@pytest.mark.parametrize("window", [24, 96])
def test_any_shape(n_vars, window):
    model = tiny(n_vars, window, n_samples=1)
    x, observed = windows(2, window, n_vars)
    assert model(x, observed).shape == x.shape
    assert torch.isfinite(model.loss(Batch(x, observed, ~observed)))


def test_hidden_values_never_matter_and_extremes_are_finite():
    model, (x, observed) = tiny(), windows()
    observed[0] = True
    observed[1, :, 0] = False
    observed[2] = False
    other = torch.where(observed, x, 1e6)
    results = [seeded(lambda values=values: model(values, observed)) for values in (x, other)]
    assert torch.equal(*results)
    assert torch.isfinite(results[0]).all()
    assert torch.equal(results[0][observed], x[observed])
    target = ~observed & (torch.rand(x.shape) < 0.5)
    spoilt = torch.where(observed | target, x, 1e6)
    losses = [
        seeded(lambda values=values: model.loss(Batch(values, observed, target))) for values in (x, spoilt)
    ]
    assert torch.equal(*losses)


def test_the_fill_is_the_median_of_the_draws_and_repeats_by_seed():
    x, observed = windows()
    args = torch.where(observed, x, 0.0).permute(2, 0, 1), observed.permute(2, 0, 1)
    for n in (1, 4, 5):
        model = tiny(n_samples=n)
        result = seeded(lambda model=model: model(x, observed))
        with torch.no_grad():
            draws = seeded(lambda model=model, n=n: torch.stack([model.draw(*args) for _ in range(n)]))
        assert torch.allclose(result, draws.quantile(0.5, dim=0).permute(1, 2, 0), atol=1e-6)
        assert torch.equal(result, seeded(lambda model=model: model(x, observed)))


def test_no_target_gives_a_loss_that_can_be_differentiated():
    model, (x, observed) = tiny(), windows()
    loss = model.loss(Batch(x, observed, torch.zeros_like(observed)))
    loss.backward()
    assert loss == 0


def test_every_parameter_learns():
    torch.manual_seed(0)
    model = SSSD(SSSDConfig(n_vars=3, window=24, **TINY))
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    x, observed = windows()
    for _ in range(3):
        optimiser.zero_grad()
        model.loss(Batch(x, observed, ~observed)).backward()
        assert all(p.grad is not None for p in model.parameters())
        optimiser.step()
    assert [name for name, p in model.named_parameters() if not p.grad.any()] == []


def test_a_checkpoint_brings_back_the_same_model_and_no_curves(tmp_path):
    model, (x, observed) = tiny(), windows()
    checkpoint.save(tmp_path / "m", model.state_dict(), {})
    tensors, _ = checkpoint.load(tmp_path / "m")
    assert tensors.keys() == dict(model.named_parameters()).keys()
    again = tiny(seed=9)
    again.load_state_dict(tensors)
    assert torch.equal(*(seeded(lambda m=m: m(x, observed)) for m in (model, again)))


def test_the_small_size_and_the_settings_are_checked():
    model = build("sssd", n_vars=7, window=96, size="small")
    assert dict(MODELS["sssd"].small).items() <= vars(model.config).items()
    for wrong in ({"n_blocks": 0}, {"n_samples": 0}, {"d_step": 5}, {"first_beta": 0.5}, {"last_beta": 1.0}):
        with pytest.raises(InputError):
            SSSDConfig(n_vars=1, **wrong)


def test_a_reduced_network_learns_a_mixture_of_sines():
    torch.manual_seed(0)
    config = SSSDConfig(
        n_vars=2, window=24, n_blocks=2, n_channels=24, n_state=16, n_diffusion_steps=20, d_step_hidden=32
    )
    model = SSSD(config)
    t = torch.arange(24.0)[:, None]

    def sines(n):
        phase = torch.rand(n, 1, 2) * 6.283
        return torch.sin(6.283 * t / 12 + phase) + 0.5 * torch.sin(6.283 * t / 8 + phase.flip(-1))

    optimiser = torch.optim.Adam(model.parameters(), 4e-3)
    for _ in range(250):
        x = sines(16)
        observed = torch.rand(x.shape) < 0.6
        model.loss(Batch(x, observed, ~observed)).backward()
        optimiser.step()
        optimiser.zero_grad()
    x = sines(32)
    hidden = torch.rand(x.shape) < 0.4
    error = (model(x, ~hidden) - x)[hidden].square().mean()
    assert error < 0.5 * x[hidden].square().mean()  # the mean of each variable is 0
