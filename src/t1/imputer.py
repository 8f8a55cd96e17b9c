"""The scikit-learn estimator: `T1Imputer().fit(X).transform(X)`.

X is (time, vars), an array or a pandas, polars or pyarrow table, or an array (samples, time, vars).
NaN means missing. Observed values come back bit for bit, in the same container.
"""

import json
import warnings
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from t1.data.series import Series
from t1.data.table import check_columns
from t1.errors import InputError
from t1.fill.keep import load_kept, save_kept
from t1.methods.base import FittedMethod, Learning
from t1.methods.network import NetworkFill, Training
from t1.methods.seasons import find_periods
from t1.methods.t1 import T1Fill
from t1.methods.tune import TunedFill
from t1.panel import Panel
from t1.progress import OnProgress, progress_line
from t1.schedule import TrainConfig
from t1.train import FitResult, Record

KIND = "T1Imputer"


class T1Imputer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Fill the gaps of multivariate time series with T1.

    With pretrained weights `fit` tunes them on X for `max_seconds` at most (0: not at all), and stops earlier
    when that no longer helps. Without them (`weights="none"`), or for another network, it trains from
    scratch.

    weights: None for the shipped ones, a folder that `t1 pretrain` wrote, or "none".
    network: which system learns, t1 or another name of `t1 models`.
    window, n_channels: steps seen at a time and width of T1, when trained from scratch.
    pattern, rate: which observed cells are hidden in training from scratch, see `t1.missing`.
    max_seconds, max_epochs, max_steps, patience: what ends the training, whichever comes first.
    valid_share: the last share of each series, kept out of training to choose the best weights.
    folder, resume: where training keeps its state, and whether to go on from there after a crash.

    >>> import numpy as np
    >>> X = np.sin(np.arange(200) / 4)[:, None] + np.zeros((200, 2))
    >>> X[50:60, 0] = np.nan
    >>> filled = T1Imputer(max_seconds=0, progress=False).fit_transform(X)
    >>> bool(np.isnan(filled).any())
    False
    """

    def __init__(
        self,
        *,
        weights: str | Path | None = None,
        network: str = "t1",
        window: int = 96,
        n_channels: int = 64,
        pattern: str = "mixed",
        rate: float | tuple[float, float] = (0.02, 0.5),
        batch_size: int = 16,
        learning_rate: float = 2e-3,
        schedule: str = "cosine",
        max_seconds: float | None = 30.0,
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
        self.weights = weights
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
        panel = _panel(series)
        self._remember_columns(series)
        with progress_line("training") if self.progress else nullcontext() as on_progress:
            if self.network == "t1" and self.weights != "none":
                self.method_, self.result_ = self._tune(panel, on_progress)
            else:
                self.method_, self.result_ = self._train(panel, on_progress)
        self.known_ = panel.known
        self._say_empty(series)
        return self

    def _tune(self, panel: Panel, on_progress: OnProgress | None) -> tuple[FittedMethod, FitResult | None]:
        """The pretrained network, tuned on the panel if there is time."""
        learning = Learning(
            seed=self.seed,
            weights=self.weights,
            periods=find_periods(panel),
            on_progress=on_progress,
        )
        method = T1Fill.fit(panel, learning)
        if self.max_seconds == 0:
            return method, None
        seconds = np.inf if self.max_seconds is None else self.max_seconds
        tuned = TunedFill.train(method, panel, learning, seconds, max_steps=self.max_steps)
        return tuned.fill, tuned.result

    def _train(self, panel: Panel, on_progress: OnProgress | None) -> tuple[FittedMethod, FitResult]:
        training = Training(
            window=self.window,
            n_channels=self.n_channels,
            pattern=self.pattern,
            rate=self.rate,
            valid_share=self.valid_share,
            config=TrainConfig(
                seed=self.seed,
                batch_size=self.batch_size,
                learning_rate=self.learning_rate,
                schedule=self.schedule,  # type: ignore[arg-type]  # TrainConfig says which there are
                max_epochs=self.max_epochs,
                max_steps=self.max_steps,
                max_seconds=self.max_seconds,
                patience=self.patience,
            ),
            device=self.device,
            folder=self.folder,
            resume=self.resume,
        )
        return NetworkFill.train(self.network, panel, training, on_progress=on_progress)

    @property
    def model_(self) -> Any:
        """The trained network."""
        check_is_fitted(self, "method_")
        return self.method_.network  # type: ignore[attr-defined]

    # ------------------------------------------------------------ filling

    def transform(self, X: Any) -> Any:
        """X with its gaps filled: the same container, observed values untouched."""
        check_is_fitted(self, "method_")
        series = Series.read(X)
        self._check_columns(series)
        self._say_empty(series)
        panel = _panel(series)
        fill = np.where(panel.observed, panel.values, self.method_.fill(panel).values)
        return series.restore([fill[span] for span in panel.spans])

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

    def _say_empty(self, series: Series) -> None:
        names = series.columns or tuple(f"x{j}" for j in range(series.n_columns))
        empty = [name for name, k in zip(names, self.known_, strict=True) if not k]
        if empty:
            warnings.warn(
                f"no observed value in column {', '.join(empty)}: nothing can be learned, kept empty",
                UserWarning,
                stacklevel=3,
            )

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """The names of the columns, unchanged."""
        check_is_fitted(self, "method_")
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
        check_is_fitted(self, "method_")
        params = {k: str(v) if isinstance(v, Path) else v for k, v in self.get_params().items()}
        save_kept(
            Path(folder),
            KIND,
            {
                "params": params,
                "method": self.method_,
                "known": self.known_,
                "columns": list(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None,
                "result": None if self.result_ is None else json.loads(json.dumps(asdict(self.result_))),
            },
        )

    @classmethod
    def load(cls, folder: str | Path) -> "T1Imputer":
        """Read what `save` wrote; nothing has to be retyped."""
        kept = load_kept(Path(folder), KIND, "Give a folder that T1Imputer.save wrote.")
        imputer = cls(**kept["params"])
        imputer.method_, imputer.known_ = kept["method"], kept["known"]
        imputer.n_features_in_ = len(imputer.known_)
        if kept["columns"] is not None:
            imputer.feature_names_in_ = np.array(kept["columns"], dtype=object)
        result = kept["result"]
        if result is not None:
            history = tuple(Record(**record) for record in result.pop("history"))
            result = FitResult(**result, history=history)
        imputer.result_ = result
        return imputer


def _panel(series: Series) -> Panel:
    lengths = [len(values) for values in series.values]
    begin = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.intp)
    return Panel.of(np.concatenate(series.values), series.columns, starts=begin)
