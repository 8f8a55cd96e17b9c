"""What makes a fill trustworthy: a hold-out shaped like the table's gaps, a choice, intervals, rules."""

from t1.fill.candidates import Candidate, Filler, classic_candidate, classic_candidates
from t1.fill.engine import fill_table
from t1.fill.filled import Filled
from t1.fill.holdout import HoldOut, plan_holdout
from t1.fill.rules import Rules
from t1.fill.scorecard import Score, Scorecard

__all__ = [
    "Candidate",
    "Filled",
    "Filler",
    "HoldOut",
    "Rules",
    "Score",
    "Scorecard",
    "classic_candidate",
    "classic_candidates",
    "fill_table",
    "plan_holdout",
]
