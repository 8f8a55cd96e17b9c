"""TEMPORARY until the pretraining branch brings it."""

import torch

from t1.models.t1 import T1, T1Config


def load_pretrained(path=None):
    d = torch.load(path or "/work/train/cache/F.pt", weights_only=False)
    m = T1(T1Config(**d["cfg"]))
    m.load_state_dict(d["model"])
    return m
