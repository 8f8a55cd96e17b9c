"""The one list of methods: what fills a gap, who made it, what it needs, and where it is.

`t1 impute`, `t1 bench` and `t1 models` read it. A method is imported only when it is asked for. A new one is
a file and an entry here; the contract tests find it by themselves. A method is either a network
(`t1.models`), which the training loop trains, or a class with `fit(panel, learning)` and `fill(panel)`
(`t1.methods`).
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from t1.errors import InputError
from t1.registry import Registry

if TYPE_CHECKING:
    from t1.methods.base import Fit
    from t1.models.base import Model


@dataclass(frozen=True, kw_only=True)
class Method:
    """One way to fill gaps."""

    title: str
    family: str
    place: str  # module:class
    paper: str = ""
    year: int | None = None
    default: bool = False  # tried when the user names no method, in the order of the list
    needs: tuple[str, ...] = ()  # modules that `pip install 't1-impute[bench]'` brings
    small: Mapping[str, Any] = field(default_factory=dict)  # the declared, reduced configuration, if any
    training: Mapping[str, Any] = field(default_factory=dict)  # where its protocol is not T1's

    @property
    def absent(self) -> tuple[str, ...]:
        """What it needs and does not find."""
        return tuple(module for module in self.needs if find_spec(module) is None)


METHODS: Registry[Method] = Registry("method")


def _add(name: str, **facts: Any) -> None:
    METHODS.add(name)(Method(**facts))


_add(
    "linear",
    title="Linear interpolation",
    family="a column by itself",
    place="t1.methods.columns:Linear",
    default=True,
)
_add(
    "nearest",
    title="Nearest value",
    family="a column by itself",
    place="t1.methods.columns:Nearest",
    default=True,
)
_add(
    "seasonal",
    title="Seasonal profile",
    family="a column by itself",
    place="t1.methods.columns:Seasonal",
    default=True,
)
_add(
    "regression",
    title="Ridge regression",
    family="the other columns",
    place="t1.methods.regression:RegressionFill",
    default=True,
)
_add(
    "together",
    title="One regression for all series",
    family="the other columns",
    place="t1.methods.together:TogetherFill",
    default=True,
)
_add(
    "beside",
    title="Series side by side",
    family="the other series",
    place="t1.methods.beside:BesideFill",
    default=True,
)
_add(
    "related",
    title="Copies and sums",
    family="the other columns",
    place="t1.methods.related:RelatedFill",
    default=True,
)
_add(
    "trees",
    title="Boosted trees",
    family="the other columns, curved",
    place="t1.methods.trees:TreesFill",
    default=True,
)
_add("mean", title="Mean", family="a column by itself", place="t1.methods.columns:Mean")
_add("locf", title="Last observation", family="a column by itself", place="t1.methods.columns:Locf")
_add(
    "knn",
    title="kNN",
    family="near rows",
    place="t1.methods.whole:Knn",
    paper="Troyanskaya et al., Missing value estimation methods, Bioinformatics",
    year=2001,
)
_add(
    "iterative",
    title="IterativeImputer",
    family="chained regression",
    place="t1.methods.whole:Iterative",
    paper="van Buuren and Groothuis-Oudshoorn, mice, JSS",
    year=2011,
)
_add(
    "pswi",
    title="PSW-I",
    family="optimal transport of spectra",
    place="t1.methods.whole:Pswi",
    paper="Wang et al., Optimal Transport for Time Series Imputation, ICLR",
    year=2025,
    needs=("ot",),
)

_add(
    "t1",
    title="T1",
    paper="T1: One-to-One Channel-Head Binding for Multivariate Time-Series Imputation, ICLR",
    year=2026,
    family="convolution + attention over variables",
    place="t1.models.t1:T1",
    default=True,
)
_add(
    "t1-week",
    title="T1 over weeks",
    paper="T1, pretrained, told of the same hour a week away: docs/fill.md",
    year=2026,
    family="regression + pretrained T1",
    place="t1.methods.week:WeekFill",
    default=True,
)
_add(
    "t1-rest",
    title="T1 on the rest",
    paper="T1, pretrained, on what a regression leaves: docs/fill.md",
    year=2026,
    family="regression + pretrained T1",
    place="t1.methods.rest:RestFill",
    default=True,
)
_add(
    "timemixerpp",
    title="TimeMixer++",
    paper="Wang et al., TimeMixer++: A General Time Series Pattern Machine, ICLR",
    year=2025,
    family="multi-scale mixing",
    place="t1.models.timemixerpp:TimeMixerPP",
    needs=("pypots",),
    small={"channel_independence": False, "n_kernels": 3},
)
_add(
    "moderntcn",
    title="ModernTCN",
    paper="Luo and Wang, ModernTCN: A Modern Pure Convolution Structure, ICLR",
    year=2024,
    family="convolution",
    place="t1.models.moderntcn:ModernTCN",
    needs=("pypots",),
)
_add(
    "itransformer",
    title="iTransformer",
    paper="Liu et al., iTransformer: Inverted Transformers Are Effective for Time Series Forecasting, ICLR",
    year=2024,
    family="attention over variables",
    place="t1.models.itransformer:ITransformer",
)
_add(
    "timesnet",
    title="TimesNet",
    paper="Wu et al., TimesNet: Temporal 2D-Variation Modeling, ICLR",
    year=2023,
    family="convolution over periods",
    place="t1.models.timesnet:TimesNet",
    needs=("pypots",),
)
_add(
    "patchtst",
    title="PatchTST",
    paper="Nie et al., A Time Series is Worth 64 Words, ICLR",
    year=2023,
    family="attention over patches",
    place="t1.models.patchtst:PatchTST",
)
_add(
    "dlinear",
    title="DLinear",
    paper="Zeng et al., Are Transformers Effective for Time Series Forecasting?, AAAI",
    year=2023,
    family="linear",
    place="t1.models.dlinear:DLinear",
)
_add(
    "imputeformer",
    title="ImputeFormer",
    paper="Nie et al., ImputeFormer: Low Rankness-Induced Transformers, KDD",
    year=2024,
    family="attention over time and variables",
    place="t1.models.imputeformer:ImputeFormer",
    needs=("pypots",),
    small={"n_layers": 2, "d_input_embed": 16, "d_learnable_embed": 16},
)
_add(
    "saits",
    title="SAITS",
    paper="Du et al., SAITS: Self-Attention-based Imputation for Time Series, ESWA",
    year=2023,
    family="attention over time",
    place="t1.models.saits:SAITS",
    needs=("pypots",),
    training={"mask": {"kind": "point", "rate": 0.2}},
)
_add(
    "csdi",
    title="CSDI",
    paper="Tashiro et al., CSDI: Conditional Score-based Diffusion Models, NeurIPS",
    year=2021,
    family="diffusion",
    place="t1.models.csdi:CSDI",
    needs=("pypots",),
    small={"n_layers": 2, "n_channels": 32, "n_heads": 4},
)
_add(
    "brits",
    title="BRITS",
    paper="Cao et al., BRITS: Bidirectional Recurrent Imputation for Time Series, NeurIPS",
    year=2018,
    family="recurrent",
    place="t1.models.brits:BRITS",
    needs=("pypots",),
    small={"d_hidden": 128},
)
_add(
    "sssd",
    title="SSSD",
    paper="Lopez Alcaraz and Strodthoff, Diffusion-based Imputation with Structured State Space Models, TMLR",
    year=2022,
    family="diffusion",
    place="t1.models.sssd:SSSD",
    small={"n_blocks": 6, "n_channels": 64, "n_diffusion_steps": 20, "n_samples": 3},
)


_add(
    "t1-zero",
    title="T1, zero-shot",
    paper="T1 pretrained on other tables: docs/pretrained.md",
    year=2026,
    family="pretrained, nothing is trained",
    place="t1.methods.t1:T1Fill",
)

# what the training loop can train
MODELS: Registry[Method] = Registry("network")
for _name, _method in METHODS.items():
    if _method.place.startswith("t1.models."):
        MODELS.add(_name)(_method)


def fit_of(name: str) -> "Fit":
    """How the method of that name learns: T1 from its pretrained weights, other networks from scratch."""
    method = METHODS[name]
    if method.absent:
        raise InputError(
            f"{method.title} needs {', '.join(method.absent)}, which is not installed",
            cure="Install it with: pip install 't1-impute[bench]'",
            option="method",
        )
    if name in MODELS and name != "t1":
        from t1.methods.network import network_fit

        return network_fit(name)
    place = "t1.methods.t1:T1Fill" if name == "t1" else method.place
    module, _, attribute = place.partition(":")
    fit: Fit = getattr(import_module(module), attribute).fit
    return fit


def model_class(name: str) -> "type[Model]":
    """The class of that name; an unknown one raises an InputError with the nearest right one."""
    entry = MODELS[name]
    if entry.absent:
        raise InputError(
            f"{entry.title} needs {', '.join(entry.absent)}, which is not installed.\n"
            "Install it with: pip install 't1-impute[bench]'"
        )
    module, _, attribute = entry.place.partition(":")
    found: type[Model] = getattr(import_module(module), attribute)
    return found


def build(name: str, *, n_vars: int, window: int, **settings: Any) -> "Model":
    """A fresh model for windows of that shape; `settings` are fields of its config, or size="small"."""
    made = model_class(name)
    size = settings.pop("size", "paper")
    if size not in ("paper", "small"):
        raise InputError(f"unknown size {size!r}.\nUse paper or small.")
    if size == "small":
        if not MODELS[name].small:
            raise InputError(f"{name} has no small configuration.", cure="Leave the size out.", option="size")
        settings = {**MODELS[name].small, **settings}
    check_settings(name, settings)
    return made(made.Config(n_vars=n_vars, window=window, **settings))


def check_settings(name: str, settings: Mapping[str, Any]) -> None:
    """Raise an InputError for a setting that the system does not have, or that is of another kind."""
    if MODELS[name].absent:
        return  # what it has cannot be known here
    known = {f.name: f for f in dataclasses.fields(model_class(name).Config)}
    for setting, value in settings.items():
        if setting not in known or setting in ("n_vars", "window"):
            raise InputError(
                f"{name} has no setting {setting!r}.\n"
                f"It has: {', '.join(sorted(known.keys() - {'n_vars', 'window'}))}."
            )
        usual = known[setting].default
        if usual is not None and usual is not dataclasses.MISSING and not _of_the_kind(value, usual):
            raise InputError(
                f"{name}: {setting} = {value!r} cannot be used.\nGive such a value as its default, {usual!r}."
            )


def _of_the_kind(value: Any, usual: Any) -> bool:
    """Whether a value can stand where `usual` stands; lists come from TOML and JSON for tuples."""
    if isinstance(usual, bool) or isinstance(value, bool):
        return isinstance(value, bool) and isinstance(usual, bool)
    if isinstance(usual, float):
        return isinstance(value, int | float)
    if isinstance(usual, tuple):
        return isinstance(value, list | tuple)
    return isinstance(value, type(usual))
