"""A result row with everything filled in, for tests."""

from typing import Any

from t1.bench.store import Row


def row(**changes: Any) -> Row:
    plain: dict[str, Any] = {
        "id": "0123456789ab",
        "dataset": "ETTh1",
        "model": "t1",
        "settings": {},
        "mask": {"kind": "point", "rate": 0.4},
        "batch_size": 16,
        "learning_rate": 1e-3,
        "seed": 102,
        "split": "paper",
        "scenario": "point 0.1",
        "metrics": {"mse": 0.025, "mae": 0.105},
        "cells": 1000,
        "epochs": 300,
        "best_epoch": 290,
        "steps": 160_500,
        "best_valid": 0.05,
        "stopped": "epochs",
        "budget_seconds": None,
        "schedule": "constant",
        "train_seconds": 36_000.0,
        "eval_seconds": 10.0,
        "parameters": 536_777,
        "peak_memory_mb": 800.0,
        "threads": 2,
        "versions": {"t1": "0.1.0", "torch": "2.13.0", "numpy": "2.4.0", "python": "3.11.7"},
        "finished": "2026-11-16T00:00:00+00:00",
    }
    errors = {name: changes.pop(name) for name in ("mse", "mae") if name in changes}
    plain |= changes
    return Row(**plain | {"metrics": plain["metrics"] | errors})
