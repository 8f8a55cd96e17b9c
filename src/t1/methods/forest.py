"""Boosted trees as plain arrays: scikit-learn grows them, and a few lines of numpy ask them.

scikit-learn keeps trees in objects that only pickle can save. Arrays can be kept in a folder like everything else, and
what was kept fills to the same bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from t1.arrays import BoolArray, Float32Array, FloatArray

Nodes: TypeAlias = npt.NDArray[np.int32]  # half of what other integers take in a folder

CELLS_PER_LEAF = 20  # at least
AT_ONCE = 1 << 12  # cells that go through all trees at a time, which bounds the memory


class Growth(NamedTuple):
    """How large a forest becomes, and so how long it takes to grow."""

    trees: int
    rate: float  # how much of what is left each tree takes
    leaves: int  # of a tree


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees whose answers add up. All nodes stand one after the other; a leaf leads to itself."""

    roots: Nodes  # (trees,), the node where each begins
    feature: Nodes  # (nodes,), which feature is asked there
    threshold: FloatArray  # up to which it leads to the left
    left: Nodes  # the nodes it leads to
    right: Nodes
    unknown_left: BoolArray  # whether a missing feature leads to the left
    value: FloatArray  # what a leaf adds
    depth: int  # steps from any root to a leaf at most
    start: float  # what the answers are added to

    @classmethod
    def grow(cls, features: Float32Array, target: FloatArray, growth: Growth, seed: int) -> Self:
        """Learn `target` (cells,) from `features` (cells, features), NaN where unknown: the least absolute error."""
        from sklearn.ensemble import HistGradientBoostingRegressor  # takes a while to import

        unknown = np.isnan(features).all(axis=0)  # which scikit-learn refuses; of a constant no tree asks
        grown = HistGradientBoostingRegressor(
            loss="absolute_error",
            max_iter=growth.trees,
            learning_rate=growth.rate,
            max_leaf_nodes=growth.leaves,
            min_samples_leaf=CELLS_PER_LEAF,
            l2_regularization=1.0,
            early_stopping=False,
            random_state=seed,
        ).fit(np.where(unknown, np.float32(0), features), target)
        # tests compare this with scikit-learn's own answers: it offers no public way to the nodes
        trees = [of_step[0].nodes for of_step in grown._predictors]
        sizes = np.array([len(nodes) for nodes in trees], dtype=np.int32)
        roots = np.cumsum(sizes, dtype=np.int32) - sizes
        nodes, first = np.concatenate(trees), np.repeat(roots, sizes)
        leaf, own = nodes["is_leaf"].astype(bool), np.arange(sizes.sum(), dtype=np.int32)
        return cls(
            roots=roots,
            feature=np.where(leaf, 0, nodes["feature_idx"]).astype(np.int32),
            threshold=nodes["num_threshold"].astype(np.float64),
            left=np.where(leaf, own, nodes["left"].astype(np.int32) + first),
            right=np.where(leaf, own, nodes["right"].astype(np.int32) + first),
            unknown_left=nodes["missing_go_to_left"].astype(bool),
            value=np.where(leaf, nodes["value"], 0.0),
            depth=int(nodes["depth"].max(initial=0)),
            start=float(np.ravel(grown._baseline_prediction)[0]),
        )

    def ask(self, features: Float32Array) -> FloatArray:
        """The answer for each cell (cells,)."""
        out = np.empty(len(features))
        for begin in range(0, len(out), AT_ONCE):
            part = features[begin : begin + AT_ONCE]
            cell = np.arange(len(part))[:, None]
            at = np.tile(self.roots, (len(part), 1))
            for _ in range(self.depth):
                x = part[cell, self.feature[at]]
                to_left = np.where(np.isnan(x), self.unknown_left[at], x <= self.threshold[at])
                at = np.where(to_left, self.left[at], self.right[at])
            out[begin : begin + AT_ONCE] = self.start + self.value[at].sum(axis=1)
        return out
