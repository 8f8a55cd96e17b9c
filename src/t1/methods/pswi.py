"""PSW-I (Wang et al., ICLR 2025): fill one series so that its patches look alike in the frequency domain.

There is no network: the missing values themselves are the parameters. Two random batches of patches are
compared by the distance of their spectra, an unbalanced optimal transport matches each patch with those it
resembles, and the missing values move so that matched patches come closer. It sees one table, the one it
fills, and selects its best step on visible values that it hides from itself.
"""

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.ndimage import correlate1d
from torch import Tensor

from t1.arrays import BoolArray, FloatArray
from t1.errors import InputError
from t1.methods.seasons import check_table, moments

CHUNK = 1 << 19  # distances that exist at one time
JITTER = 1e-4  # spread of the noise on the first fill
TINY = 1e-12  # a distance so small is none
STREAM = 0x505357  # a seed of 0 must not draw here what it drew for the caller's mask


@dataclass(frozen=True, kw_only=True)
class PSWIConfig:
    """The defaults are the authors' for data of which nothing is known."""

    learning_rate: float = 0.002
    batch: int = 200  # patches on each side; at most half of the rows, then a power of two
    patch: int = 24  # rows
    rolling: int = 7  # rows of the mean that fills first
    steps: int = 100
    n_pairs: int = 2  # of batches in a step
    hold_out: float = 0.1  # share of the visible values that select the step
    patience: int = 10  # steps without a better error on them

    def __post_init__(self) -> None:
        least = {"batch": 1, "patch": 2, "rolling": 3, "steps": 0, "n_pairs": 1, "patience": 1}
        for name, lowest in least.items():
            if getattr(self, name) < lowest:
                raise InputError(f"{name} must be at least {lowest}, got {getattr(self, name)}")
        if not self.learning_rate > 0:
            raise InputError(f"learning_rate must be positive, got {self.learning_rate}")
        if not 0 <= self.hold_out < 1:
            raise InputError(f"hold_out must be at least 0 and less than 1, got {self.hold_out}")


_COMMON: dict[str, Any] = {"learning_rate": 0.01, "batch": 256, "patch": 24, "rolling": 7, "steps": 200}
_CHANGES: dict[str, dict[str, Any]] = {  # the authors' scripts
    "etth1": {},
    "etth2": {},
    "ettm1": {"patch": 336, "rolling": 9},
    "ettm2": {"rolling": 3},
    "weather": {},
    "pems03": {"batch": 64},
    "electricity": {"learning_rate": 0.05, "patch": 48, "rolling": 24},
    "traffic": {"learning_rate": 0.1, "rolling": 24, "steps": 300},
    "exchange": {"learning_rate": 0.001, "batch": 128, "rolling": 9},
    "illness": {"learning_rate": 0.001, "batch": 16, "rolling": 5},
}
SETTINGS = {name: PSWIConfig(**_COMMON | changes) for name, changes in _CHANGES.items()}


def settings_for(dataset: str) -> dict[str, Any]:
    """The authors' settings for a dataset, as arguments of `pswi`; their defaults for any other."""
    name = {"ili": "illness"}.get(dataset.lower(), dataset.lower())
    return dataclasses.asdict(SETTINGS.get(name, PSWIConfig()))


@dataclass(frozen=True)
class Step:
    """The fill after so many steps: its errors on the held-out values, and the loss of its next step."""

    step: int
    loss: float  # NaN for the last, that has no next
    mae: float  # in standard deviations; NaN if nothing is held out
    mse: float


def pswi(
    values: npt.ArrayLike,
    *,
    learning_rate: float,
    batch: int,
    patch: int,
    rolling: int,
    steps: int,
    n_pairs: int = 2,
    hold_out: float = 0.1,
    patience: int = 10,
    rng: np.random.Generator | int = 0,
    on_step: Callable[[Step], None] | None = None,
    seconds: float | None = None,
) -> FloatArray:
    """Fill the NaN of `values` (time, vars); the settings are PSWIConfig's, `seconds` ends it early.

    Observed cells are untouched; a column with no observed value stays NaN.
    """
    config = PSWIConfig(
        learning_rate=learning_rate,
        batch=batch,
        patch=patch,
        rolling=rolling,
        steps=steps,
        n_pairs=n_pairs,
        hold_out=hold_out,
        patience=patience,
    )
    table = check_table(values)
    observed = ~np.isnan(table)
    live = observed.any(axis=0)
    filled = table.copy()
    if observed[:, live].all():
        return filled
    if len(table) <= patch:
        raise InputError(
            f"PSW-I compares patches of {patch} rows, the table has {len(table)}.\nUse a smaller patch."
        )
    seen = observed[:, live]
    centre, spread = moments(table[:, live], seen)
    spread = np.where(spread > 0, spread, 1.0)
    z = (table[:, live] - centre) / spread
    ends = np.inf if seconds is None else perf_counter() + seconds
    draws = rng if isinstance(rng, np.random.Generator) else np.random.default_rng([rng, STREAM])
    fill = _search(z, config, draws, on_step or (lambda step: None), ends)
    filled[:, live] = np.where(seen, table[:, live], fill * spread + centre)
    return filled


def _search(
    z: FloatArray, config: PSWIConfig, rng: np.random.Generator, on_step: Callable[[Step], None], ends: float
) -> FloatArray:
    """The fill of the best step for a standardised table (time, vars) with NaN; `ends` is a clock's time."""
    solve = _solver()
    held = _held_out(~np.isnan(z), config.hold_out, rng)
    missing = np.isnan(z) | held
    start = first_fill(np.where(missing, np.nan, z), config.rolling)
    start[missing] += rng.normal(0.0, JITTER, missing.sum())
    x = torch.from_numpy(start.astype(np.float32))
    free = torch.from_numpy(missing)
    theta = x[free].requires_grad_()
    optimiser = torch.optim.Adam([theta], lr=config.learning_rate)
    best = _Best()
    for step in range(config.steps + 1):
        with torch.no_grad():
            x[free] = theta
        error = np.abs(x.numpy()[held] - z[held])
        mae, mse = (error.mean(), (error**2).mean()) if error.size else (np.nan, np.nan)
        best.offer(float(mae), float(mse), theta)
        over = step == config.steps or best.stale >= config.patience or perf_counter() >= ends
        loss = np.nan
        if not over:
            loss, gradient = _loss_and_gradient(x, config, rng, solve)
            theta.grad = gradient[free]
            optimiser.step()
        on_step(Step(step, loss, float(mae), float(mse)))
        if over:
            break
    x[free] = best.choose()
    return x.numpy().astype(np.float64)


class _Best:
    """The fills that may yet be the best: the errors are weighed by their maxima, known only at the end.

    One that another beats in both errors cannot win, so few have to be kept.
    """

    def __init__(self) -> None:
        self.front: list[tuple[float, float, Tensor]] = []
        self.largest = np.full(2, 1e-30)
        self.least_mae, self.stale = np.inf, 0

    def offer(self, mae: float, mse: float, theta: Tensor) -> None:
        if np.isnan(mae):  # nothing is held out: the last is as good as any
            self.front = [(mae, mse, theta.detach().clone())]
            return
        self.largest = np.maximum(self.largest, (mae, mse))
        self.stale = 0 if mae < self.least_mae else self.stale + 1
        self.least_mae = min(self.least_mae, mae)
        if not any(a <= mae and b <= mse for a, b, _ in self.front):
            self.front = [kept for kept in self.front if kept[0] < mae or kept[1] < mse]
            self.front.append((mae, mse, theta.detach().clone()))

    def choose(self) -> Tensor:
        score = [mae / self.largest[0] + mse / self.largest[1] for mae, mse, _ in self.front]
        return self.front[int(np.argmin(score))][2]


# The first fill.


def _held_out(visible: BoolArray, share: float, rng: np.random.Generator) -> BoolArray:
    """Visible cells (time, vars) to select the step on; a column keeps at least one."""
    held = visible & (rng.random(visible.shape) < share)
    return held & (visible & ~held).any(axis=0)


def first_fill(values: FloatArray, rolling: int) -> FloatArray:
    """Fill by a centred rolling mean with exponential weights, again and again until no NaN is left.

    Each column must have a value.
    """
    filled = np.array(values)
    weights = np.exp(-np.abs(np.arange(rolling) - (rolling - 1) / 2))
    while len(columns := np.flatnonzero(np.isnan(filled).any(axis=0))):
        part = filled[:, columns]
        seen = ~np.isnan(part)
        total = correlate1d(np.where(seen, part, 0.0), weights, axis=0, mode="constant")
        weight = correlate1d(seen.astype(np.float64), weights, axis=0, mode="constant")
        reached = ~seen & (weight > 0)
        part[reached] = total[reached] / weight[reached]
        filled[:, columns] = part
    return filled


# The distance between two batches of patches.


def _loss_and_gradient(
    x: Tensor, config: PSWIConfig, rng: np.random.Generator, solve: Callable[[Tensor], Tensor]
) -> tuple[float, Tensor]:
    """The mean transport cost of a few random pairs of batches, and its gradient with respect to x."""
    leaf = x.detach().requires_grad_()
    size, n_starts = batch_size(config, len(x)), len(x) - config.patch
    loss, gradient = 0.0, torch.zeros_like(x)
    for _ in range(config.n_pairs):
        starts = (torch.from_numpy(rng.choice(n_starts, size, replace=False)) for _ in range(2))
        one, two = (spectra(leaf, s, config.patch) for s in starts)
        with torch.no_grad():
            distance = distances(one, two)
            largest = distance.max().clamp(min=TINY)  # patches that are all alike do not differ
            plan = solve(distance / largest)
            loss += float((plan * distance).sum() / largest) / config.n_pairs
            pulls = distance_gradient(one, two, plan / (largest * config.n_pairs))
        gradient += torch.autograd.grad([one, two], leaf, pulls)[0]
    return loss, gradient


def batch_size(config: PSWIConfig, n_rows: int) -> int:
    """How many patches to draw: as set, or the largest power of two that the table allows."""
    most = min(n_rows // 2, n_rows - config.patch)
    return config.batch if config.batch <= most else 1 << (max(most, 1).bit_length() - 1)


def spectra(x: Tensor, starts: Tensor, patch: int) -> Tensor:
    """Real and imaginary parts of the patches' spectra, (2, features = frequency·vars, batch)."""
    patches = x[starts[:, None] + torch.arange(patch)]  # (batch, time, vars)
    parts = torch.view_as_real(torch.fft.rfft(patches, dim=1))
    return parts.flatten(1, 2).permute(2, 1, 0).contiguous()


def feature_chunks(n_features: int, n_pairs: int) -> Iterator[slice]:
    """The features, a few at a time: their distances between all pairs stay within CHUNK numbers."""
    step = max(1, CHUNK // n_pairs)
    return (slice(begin, begin + step) for begin in range(0, n_features, step))


def distances(one: Tensor, two: Tensor) -> Tensor:
    """The sum over features of |one - two|, complex, for each pair: (batch, batch)."""
    total = one.new_zeros(one.shape[2], two.shape[2])
    for part in feature_chunks(one.shape[1], total.numel()):
        real, imaginary = one[:, part, :, None] - two[:, part, None, :]
        total += real.square_().addcmul_(imaginary, imaginary).sqrt_().sum(0)
    return total


def distance_gradient(one: Tensor, two: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of sum(weights · distances(one, two)); where two spectra are equal it is 0.

    By hand, for what autograd keeps grows with the features times the square of the batch.
    """
    to_one, to_two = torch.empty_like(one), torch.empty_like(two)
    for part in feature_chunks(one.shape[1], weights.numel()):
        apart = one[:, part, :, None] - two[:, part, None, :]
        size = apart[0].square().addcmul_(apart[1], apart[1]).sqrt_().clamp_(min=TINY)
        apart *= torch.div(weights, size, out=size)
        to_one[:, part] = apart.sum(3)
        to_two[:, part] = -apart.sum(2)
    return to_one, to_two


def _solver() -> Callable[[Tensor], Tensor]:
    """Unbalanced optimal transport without entropy: a plan (batch, batch) for a cost up to 1."""
    try:
        from ot.unbalanced import mm_unbalanced
    except ImportError:
        raise InputError(
            "PSW-I needs POT, which is not installed.\nInstall it with: pip install 't1-impute[bench]'"
        ) from None

    def solve(cost: Tensor) -> Tensor:
        mass = cost.new_full((len(cost),), 1 / len(cost))
        plan: Tensor = mm_unbalanced(mass, mass, cost, 1.0, reg=0, div="kl", numItermax=1000, stopThr=1e-6)
        return plan

    return solve
