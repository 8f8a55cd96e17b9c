"""The one object users meet: `T1Imputer().fit(X).transform(X)`, a scikit-learn estimator for time series.

X is (time, vars), an array or a pandas, polars or pyarrow table, or an array (samples, time, vars).
NaN means missing. Observed values come back bit for bit, in the same container.
"""

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from t1 import checkpoint
from t1.arrays import BoolArray, FloatArray
from t1.data.scale import Scaler
from t1.data.series import Series, fit_scaler, lengthen, scaled_rows
from t1.data.table import check_columns
from t1.data.window import WindowSet
from t1.device import own_randomness, resolve_device
from t1.errors import InputError
from t1.methods.catalog import model_class
from t1.missing import hide
from t1.network import fill_gaps, new_network
from t1.progress import OnProgress, progress_line
from t1.train import FitResult, Hide, Record, TrainConfig, fit

SHORTEST = 8  # the network's shortest window; shorter series are filled up with missing rows


class T1Imputer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Fill the gaps of multivariate time series with T1.

    window: steps the network sees at a time; shrinks for shorter series.
    network: which system learns, t1 or another name of `t1 models`.
    n_channels: width of T1; the paper has 128, which needs more time to learn.
    pattern, rate: which observed cells are hidden in training, see `t1.missing`.
    max_seconds, max_epochs, max_steps, patience: what ends the training, whichever comes first.
    valid_share: the last share of the series, kept out of training to choose the best weights.
    folder, resume: where training keeps its state, and whether to go on from there after a crash.
    """

    def __init__(
        self,
        *,
        network: str = "t1",
        window: int = 96,
        n_channels: int = 64,
        pattern: str = "mixed",
        rate: float | tuple[float, float] = (0.02, 0.5),
        batch_size: int = 16,
        learning_rate: float = 2e-3,
        schedule: str = "cosine",
        max_seconds: float | None = 120.0,
        max_epochs: int | None = 300,
        max_steps: int | None = None,
        patience: int | None = 30,
        valid_share: float = 0.1,
        seed: int = 102,
        device: str = "auto",
        folder: str | Path | None = None,
        resume: bool = False,
        progress: bool = True,
    ) -> None:
        self.network = network
        self.window = window
        self.n_channels = n_channels
        self.pattern = pattern
        self.rate = rate
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.max_seconds = max_seconds
        self.max_epochs = max_epochs
        self.max_steps = max_steps
        self.patience = patience
        self.valid_share = valid_share
        self.seed = seed
        self.device = device
        self.folder = folder
        self.resume = resume
        self.progress = progress

    # ------------------------------------------------------------ learning

    def fit(self, X: Any, y: None = None) -> Self:
        """Learn from the observed values of X; what is missing is never a target."""
        series = Series.read(X)
        self._remember_columns(series)
        with progress_line("training") if self.progress else nullcontext() as on_progress:
            self.fit_series(series.values, on_progress=on_progress)
        self._say_empty(series, self.known_)
        return self

    def fit_series(
        self,
        series: list[FloatArray],
        *,
        on_progress: OnProgress | None = None,
        should_stop: Callable[[], bool] | None = None,
        columns: tuple[str, ...] | None = None,
    ) -> Self:
        """Learn from one or more series (time, vars) of any lengths, NaN where missing."""
        config = self._train_config()
        if not isinstance(self.window, int) or self.window < SHORTEST:
            raise InputError(f"window is {self.window!r}.\nGive a whole number of at least {SHORTEST}.")
        known = np.any([(~np.isnan(v)).any(axis=0) for v in series], axis=0)
        window = max(SHORTEST, min(self.window, max(len(v) for v in series)))
        values = [lengthen(v if known.all() else v[:, known], window) for v in series]
        scaler = fit_scaler(values)
        rows, seen = scaled_rows(scaler, values)
        train, valid = self._split(rows, seen, [len(v) for v in values], window)
        del values
        device = resolve_device(self.device)
        with own_randomness(device) as seed_torch:
            seed_torch(self.seed)
            model = new_network(self.network, int(known.sum()), window, self.n_channels)
        self.result_: FitResult = fit(
            model.to(device),
            train,
            valid,
            config,
            hide=self._hide(seen),
            device=device,
            folder=self.folder,
            resume=self.resume,
            on_progress=on_progress,
            should_stop=should_stop,
        )
        self.model_, self.scaler_, self.known_ = model, scaler, known
        self.n_features_in_ = len(known)
        if columns is not None:
            self.feature_names_in_ = np.array(columns, dtype=object)
        return self

    def _hide(self, donor: npt.NDArray[np.bool_]) -> Hide:
        """Draws the cells to hide in a batch, with the gaps of `donor` (row, vars) to copy."""
        settings = {"rate": self._rate()} if self.pattern in ("mixed", "point") else {}

        def hidden(values: Any, observed: Any, rng: np.random.Generator) -> Any:
            mask = hide(self.pattern, observed, rng=rng, values=values, donor_observed=donor, **settings)
            if not mask.any() and observed.any():  # a tiny table: hide one cell, or there is nothing to learn
                mask.flat[rng.choice(np.flatnonzero(observed))] = True
            return mask

        return hidden

    def _train_config(self) -> TrainConfig:
        return TrainConfig(
            seed=self.seed,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            schedule=self.schedule,  # type: ignore[arg-type]  # TrainConfig says which there are
            max_epochs=self.max_epochs,
            max_steps=self.max_steps,
            max_seconds=self.max_seconds,
            patience=self.patience,
        )

    def _rate(self) -> float | tuple[float, float]:
        return self.rate if isinstance(self.rate, int | float) else (self.rate[0], self.rate[1])

    def _split(
        self, rows: npt.NDArray[np.float32], seen: BoolArray, lengths: list[int], window: int
    ) -> tuple[WindowSet, WindowSet]:
        """The last `valid_share` of a single series, or of the samples; all, where that is too little.

        The series are stacked in `rows` (row, vars), which both parts share.
        """
        if not 0 <= self.valid_share < 1:
            raise InputError(f"valid_share must be in [0, 1), got {self.valid_share}.\nThe default is 0.1.")
        ends = np.cumsum(lengths)
        spans = [(int(end) - n, int(end)) for n, end in zip(lengths, ends, strict=True)]
        if len(spans) > 1:
            n_valid = max(1, round(len(spans) * self.valid_share))
            parts = spans[:-n_valid], spans[-n_valid:]
        else:
            border = lengths[0] - round(lengths[0] * self.valid_share)
            parts = [(0, border)], [(border, lengths[0])]
        if any(not any(b - a >= window and seen[a:b].any() for a, b in part) for part in parts):
            parts = spans, spans
        train, valid = (
            np.concatenate([np.arange(a, b - window + 1, stride) for a, b in part])
            for part, stride in zip(parts, (1, max(1, window // 4)), strict=True)
        )
        return WindowSet(rows, seen, train, window), WindowSet(rows, seen, valid, window)

    # ------------------------------------------------------------ filling

    def transform(self, X: Any) -> Any:
        """X with its gaps filled: the same container, observed values untouched."""
        check_is_fitted(self, "model_")
        series = Series.read(X)
        self._check_columns(series)
        self._say_empty(series, self.known_)
        return series.restore(self.fill_series(series.values))

    def fill_series(self, series: list[FloatArray]) -> list[FloatArray]:
        """The series (time, vars) with their gaps filled; columns that the fit knew nothing of stay empty."""
        device = resolve_device(self.device)
        model = self.model_.to(device).eval()
        filled = []
        with own_randomness(device) as seed_torch:
            seed_torch(self.seed)  # some networks draw their fill
            for values in series:
                out = values.copy()
                if self.known_.all():
                    fill_gaps(model, self.scaler_, device, out)
                else:
                    part = values[:, self.known_]
                    fill_gaps(model, self.scaler_, device, part)
                    out[:, self.known_] = part
                filled.append(out)
        return filled

    # ------------------------------------------------------------ columns

    def _remember_columns(self, series: Series) -> None:
        self.n_features_in_ = series.n_columns
        if series.columns is not None:
            self.feature_names_in_ = np.array(series.columns, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _check_columns(self, series: Series) -> None:
        if series.n_columns != self.n_features_in_:
            raise InputError(
                f"X has {series.n_columns} features, but T1Imputer is expecting {self.n_features_in_} "
                "features as input.\nGive the columns of the fit, in the order of the fit."
            )
        if series.columns is not None and hasattr(self, "feature_names_in_"):
            check_columns(tuple(self.feature_names_in_), series.columns)

    def _say_empty(self, series: Series, known: npt.NDArray[np.bool_]) -> None:
        names = series.columns or tuple(f"x{j}" for j in range(series.n_columns))
        empty = [name for name, k in zip(names, known, strict=True) if not k]
        if empty:
            warnings.warn(
                f"no observed value in column {', '.join(empty)}: nothing can be learned, kept empty",
                UserWarning,
                stacklevel=3,
            )

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """The names of the columns, unchanged."""
        check_is_fitted(self, "model_")
        if hasattr(self, "feature_names_in_"):
            return self.feature_names_in_
        if input_features is not None:
            return np.asarray(input_features, dtype=object)
        return np.array([f"x{j}" for j in range(self.n_features_in_)], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # ------------------------------------------------------------ keeping

    def save(self, folder: str | Path) -> None:
        """Write the fitted imputer to a folder: weights, settings, scaling and column names."""
        check_is_fitted(self, "model_")
        params = {k: str(v) if isinstance(v, Path) else v for k, v in self.get_params().items()}
        info = {
            "kind": "T1Imputer",
            "params": params,
            "network": {"name": self.model_.name, **asdict(self.model_.config)},
            "scaler": self.scaler_.to_dict(),
            "known": self.known_.tolist(),
            "columns": list(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None,
            "result": asdict(self.result_),
        }
        checkpoint.save(Path(folder), dict(self.model_.state_dict()), info)

    @classmethod
    def load(cls, folder: str | Path) -> "T1Imputer":
        """Read what `save` wrote; nothing has to be retyped."""
        tensors, info = checkpoint.load(Path(folder))
        if info.get("kind") != "T1Imputer":
            raise InputError(f"{folder} holds no fitted T1Imputer.\nGive a folder that T1Imputer.save wrote.")
        params: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in info["params"].items()
        }
        imputer = cls(**params)
        kind = model_class(info["network"].pop("name", "t1"))
        imputer.model_ = kind(kind.Config(**info["network"]))
        imputer.model_.load_state_dict(tensors)
        imputer.scaler_ = Scaler.from_dict(info["scaler"])
        imputer.known_ = np.array(info["known"], dtype=bool)
        imputer.n_features_in_ = len(imputer.known_)
        if info["columns"] is not None:
            imputer.feature_names_in_ = np.array(info["columns"], dtype=object)
        history = tuple(Record(**record) for record in info["result"].pop("history"))
        imputer.result_ = FitResult(**info["result"], history=history)
        return imputer
