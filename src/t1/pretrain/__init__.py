"""Train the one T1 that fills any table: real and synthetic tables, windows of any width, all kinds of gaps.

corpus.py    a folder of real tables, those marked for training
masks.py     which cells of a window are hidden
window.py    one training window: columns, sampling rate, neighbouring periods, surroundings
sampler.py   the Source: batch(step), half real and half synthetic
run.py       the settings of a run, its folder, the weights to ship
"""

from t1.pretrain.run import PretrainSettings, export, pretrain

__all__ = ["PretrainSettings", "export", "pretrain"]
