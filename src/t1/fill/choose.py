"""Which method fills which column and gap class: the simplest that nothing clearly beats on CHOOSE cells."""

import numpy as np
import numpy.typing as npt

from t1.arrays import Codes, FloatArray, IntArray
from t1.fill.gaps import N_CLASSES

MIN_EVENTS = 4  # fewer say nothing on their own
CONFIDENCE = (
    2.5  # standard errors by which the more complex one must be ahead (more, where events are few) ...
)
EASED = 1.0  # ... or so many, where it is ahead by CONFIDENCE in the whole column, gap class or table ...
MARGIN = 0.02  # ... and the share of the simpler one's error that it must save


def choose(
    errors: FloatArray, column: IntArray, code: Codes, event: IntArray, scale: FloatArray
) -> npt.NDArray[np.int8]:
    """The candidate for each column and class (vars, classes), from absolute `errors` (candidates, cells).

    Candidates go from simple to complex. A group with too few events asks the class over all columns, in
    units of `scale` (vars,), then the column over all classes; the simplest fills where none can tell.
    """
    n_vars = len(scale)
    errors = np.where(np.isfinite(errors), errors, np.inf)
    group = column * N_CLASSES + code
    own = _Evidence(errors, group, event, n_vars * N_CLASSES)
    by_column = _Evidence(errors, column, event, n_vars)
    by_class = _Evidence(errors / scale[column], code.astype(np.intp), event, N_CLASSES)
    overall = _Evidence(errors / scale[column], np.zeros_like(group), event, 1)
    chosen = np.zeros(n_vars * N_CLASSES, dtype=np.int8)
    columns, codes = np.divmod(np.arange(n_vars * N_CLASSES), N_CLASSES)
    for challenger in range(1, len(errors)):
        wins = np.zeros(len(chosen), dtype=bool)
        for holder in np.unique(chosen):
            alone, gain = own.beats(challenger, holder)
            column_says, _ = by_column.beats(challenger, holder)
            class_says, _ = by_class.beats(challenger, holder)
            table_says, _ = overall.beats(challenger, holder)
            eased, _ = own.beats(challenger, holder, EASED)
            alone |= eased & (column_says[columns] | class_says[codes] | table_says[0])
            borrowed = np.where(by_class.enough[codes], class_says[codes], column_says[columns])
            verdict = np.where(own.enough, alone, borrowed & (gain >= 0))
            wins |= (chosen == holder) & verdict
        chosen[wins] = challenger
    return chosen.reshape(n_vars, N_CLASSES)


class _Evidence:
    """Mean errors of each event, (candidates, events), by group: cells of one event are not independent."""

    def __init__(self, errors: FloatArray, group: IntArray, event: IntArray, n_groups: int) -> None:
        pairs, which = np.unique(np.stack([group, event]), axis=1, return_inverse=True)
        which = which.reshape(-1)
        cells = np.maximum(np.bincount(which), 1)
        sums = [np.bincount(which, weights=e, minlength=pairs.shape[1]) for e in errors]
        self.means = np.stack([s / cells for s in sums]) if pairs.size else np.zeros((len(errors), 0))
        self.group, self.n_groups = pairs[0], n_groups
        self.n_events = np.bincount(self.group, minlength=n_groups)
        self.enough = self.n_events >= MIN_EVENTS

    def beats(
        self, challenger: int, holder: int, confidence: float = CONFIDENCE
    ) -> tuple[npt.NDArray[np.bool_], FloatArray]:
        """Where the challenger is ahead by more than noise (groups,), and its mean gain there."""
        with np.errstate(invalid="ignore", over="ignore"):
            gain = self.means[holder] - self.means[challenger]
            gain = np.where(np.isnan(gain), 0.0, gain)
            n = np.maximum(self.n_events, 1)
            mean = self._sum(gain) / n
            spread = np.sqrt(self._sum((gain - mean[self.group]) ** 2) / np.maximum(n - 1, 1) / n)
            ahead = mean - _standard_errors(confidence, n) * spread > 0
            ahead &= mean > MARGIN * self._sum(self.means[holder]) / n
        return self.enough & ahead, mean

    def _sum(self, x: FloatArray) -> FloatArray:
        total: FloatArray = np.bincount(self.group, weights=x, minlength=self.n_groups).astype(np.float64)
        return total


def _standard_errors(confidence: float, n_events: IntArray) -> FloatArray:
    """As sure as `confidence` standard errors are with many events, with so few: Student's t."""
    from scipy.stats import norm, t

    errors: FloatArray = t.ppf(norm.cdf(confidence), np.maximum(n_events - 1, 1))
    return errors
