"""The options of a job as JSON: those of `t1 impute`, by their names in Python."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from t1.data.reading import Reading
from t1.errors import InputError
from t1.methods.catalog import METHODS
from t1.options import FAST, FillOptions, FitOptions, seconds_in
from t1.registry import did_you_mean
from t1.serve.problems import of_validation

MOST_DIRECT_SECONDS = 30.0

Name = Annotated[str, Field(max_length=1000)]
Names = Annotated[list[Name], Field(max_length=20_000)]
Bounds = dict[Name, float]


class FillSettings(BaseModel):
    """How to fill: what `t1.impute` takes."""

    model_config = ConfigDict(extra="forbid")

    columns: Names | None = Field(None, description="fill only these")
    exclude: Names = Field([], description="leave these alone")
    keep_sentinels: bool = Field(False, description="-9999 and the like are values")
    kind: dict[Name, Name] = Field({}, description='what a column is: {"wind_dir": "angle"}')
    method: Name | None = Field(None, description="one for all cells; else methods are blended")
    budget: Annotated[str, Field(max_length=20)] = Field("30s", description="fast, 30s, 5m, 1h or quality")
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 102
    intervals: Annotated[float, Field(gt=0, lt=1)] | None = Field(None, description="0.9 for 90 %")
    max_gap: Annotated[int, Field(ge=1)] | None = Field(None, description="longer gaps stay empty")
    minimum: Bounds = Field({}, description="no fill of a column is below")
    maximum: Bounds = Field({}, description="no fill of a column is above")
    integer: Names = Field([], description="columns of whole numbers")
    lock: Names = Field([], description='"START..END": never fill there')

    def check(self, most_seconds: float | None = None) -> None:
        """Refuse at once what would only fail later."""
        if self.method is not None and self.method not in METHODS:
            hint = did_you_mean(self.method, list(METHODS))
            raise InputError(f"there is no method {self.method!r}", cure=hint, option="method")
        try:
            self.fit_options()
        except InputError as error:
            raise InputError(error.message, cure=error.cure, option=error.option or "budget") from None
        self.fill_options()
        if most_seconds is not None and self.budget != FAST and seconds_in(self.budget) > most_seconds:
            raise InputError(
                f"a budget of {self.budget} is more than this server allows ({most_seconds:.0f} s)",
                cure="Give less.",
                option="budget",
            )

    def fit_options(self) -> FitOptions:
        return FitOptions(method=self.method, budget=self.budget, seed=self.seed)

    def fill_options(self) -> FillOptions:
        return FillOptions(
            intervals=self.intervals,
            max_gap=self.max_gap,
            minimum=self.minimum,
            maximum=self.maximum,
            integer=self.integer,
            lock=self.lock,
        )


class DirectOptions(FillSettings):
    """The options of /v1/fill: a table is filled while the caller waits, so nothing is trained by default."""

    time: Name | None = Field(None, description="the column that says when a row is; else it is found")
    id: Name | None = Field(None, description="the column that tells several series apart")
    budget: Annotated[str, Field(max_length=20)] = FAST


class JobOptions(FillSettings):
    """The options of a job: how to read the file, and how to fill it."""

    time: Name | Names | None = Field(None, description="the time column, or a date and a clock")
    id: Name | Names | None = Field(None, description="what tells several series apart")
    missing_values: Names = Field([], description="texts that also mean missing")
    time_format: Name | None = None
    dayfirst: bool | None = None
    layout: Literal["table", "long", "wide"] | None = None
    separator: Annotated[str, Field(max_length=10)] | None = None
    decimal: Annotated[str, Field(max_length=1)] | None = None
    encoding: Annotated[str, Field(max_length=40)] | None = None
    header_row: Annotated[int, Field(ge=0, le=10**9)] | None = None
    skip_rows: Annotated[int, Field(ge=0, le=10**9)] = 0
    comment: Annotated[str, Field(max_length=10)] | None = None
    units_row: bool | None = None
    sheet: Name | None = None
    add_missing_rows: bool = Field(False, description="insert rows for absent time stamps")
    keep_model: bool = Field(False, description="keep the fitted fill, to be applied to new rows")

    def reading(self) -> dict[str, Any]:
        """The options of `read_file`."""
        names = Reading.__dataclass_fields__
        return {name: getattr(self, name) for name in names}


def parse(kind: type[FillSettings], given: Any) -> Any:
    """Options from JSON that was read; a wrong name is told with the nearest right one."""
    if not isinstance(given, dict):
        raise InputError(
            "the options are not a JSON object", cure='Give for example {"budget": "fast"}.', option="options"
        )
    for name in given:
        if name not in kind.model_fields:
            hint = did_you_mean(name, list(kind.model_fields))
            raise InputError(f"there is no option {name!r}", cure=hint, option=str(name))
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        raise of_validation(error) from None
