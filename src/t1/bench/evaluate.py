"""Score a model on the test windows of one scenario, chunk by chunk: they never sit in memory at once."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from t1.arrays import BoolArray
from t1.bench.scenarios import Scenario, chunks
from t1.data.catalog import Dataset
from t1.device import own_randomness, to_device
from t1.metrics import ErrorSum
from t1.models.base import Model

Fill = Callable[[npt.NDArray[np.float32], BoolArray], npt.NDArray[np.float32]]  # values, observed


def evaluate(
    fill: Fill,
    dataset: Dataset,
    scenario: Scenario,
    seed: int,
    *,
    every: int = 1,
    should_stop: Callable[[], bool] = lambda: False,
) -> ErrorSum | None:
    """Errors over the target cells of one in `every` test windows; None if the user wants to stop."""
    errors = ErrorSum(dataset.test.n_vars)
    past = 0
    for chunk in chunks(dataset, scenario, seed):
        if should_stop():
            return None
        chosen = slice(-past % every, None, every)
        past += len(chunk.values)
        values, visible, target = chunk.values[chosen], chunk.visible[chosen], chunk.target[chosen]
        if not len(values):
            continue
        shown = np.where(visible, values, np.float32(0))  # a model that reads hidden cells finds zeros there
        errors.add(values, fill(shown, visible), target)
    return errors


class Measured(NamedTuple):
    """What a row says: named numbers, and over how many cells they were taken."""

    metrics: dict[str, float]
    cells: int


def measured(errors: ErrorSum, scenario: Scenario, dataset: Dataset) -> Measured:
    """The errors of a scenario; of each variable by itself where the scenario is about that."""
    metrics = {"mse": errors.mse, "mae": errors.mae}
    if scenario.kind.startswith("variables"):
        for name, mse, mae, count in zip(
            dataset.columns, errors.mse_by_var, errors.mae_by_var, errors.count_by_var, strict=True
        ):
            if count:
                metrics |= {f"{name} mse": float(mse), f"{name} mae": float(mae)}
        unseen = 1 - dataset.test.batch(slice(None))[1].mean(axis=(0, 1))
        metrics |= {
            f"{name} missing": float(share) for name, share in zip(dataset.columns, unseen, strict=True)
        }
    return Measured(metrics, errors.count)


def network_fill(model: Model, device: torch.device, seed: int, batch_size: int = 64) -> Fill:
    """The model's reconstruction of windows, at most `batch_size` at a time."""
    model.eval()

    @torch.no_grad()
    def fill(values: npt.NDArray[np.float32], observed: BoolArray) -> npt.NDArray[np.float32]:
        with own_randomness(device) as seed_torch:
            seed_torch(seed)  # some models draw samples
            parts = [
                model(*(to_device(x[i : i + batch_size], device) for x in (values, observed)))
                for i in range(0, len(values), batch_size)
            ]
            whole: npt.NDArray[np.float32] = torch.cat(parts).cpu().numpy()
        return whole

    return fill
