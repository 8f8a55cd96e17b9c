"""Where tensors live, and torch's random numbers there."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor

from t1.errors import InputError


def resolve_device(name: str | torch.device = "auto") -> torch.device:
    """The device of that name; "auto" takes CUDA if there is one, else MPS, else the CPU."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        raise InputError(f"unknown device {str(name)!r}.\nUse auto, cpu, cuda, cuda:0 or mps.") from None
    if device.type not in ("cpu", "cuda", "mps"):
        raise InputError(f"device {str(name)!r} cannot train.\nUse auto, cpu, cuda, cuda:0 or mps.")
    n_cuda = torch.cuda.device_count() if torch.cuda.is_available() else 0
    absent_cuda = device.type == "cuda" and (device.index or 0) >= n_cuda
    if absent_cuda or (device.type == "mps" and not torch.backends.mps.is_available()):
        raise InputError(
            f"device {str(name)!r} was asked for, but torch does not find it on this machine.\n"
            "Use auto (takes what is there) or cpu, or install a torch build for your device."
        )
    return device


def to_device(array: npt.NDArray[Any], device: torch.device) -> Tensor:
    """A copy of the array on the device.

    On the CPU too: torch aligns its memory and numpy does not, and a matrix product may round
    differently for another alignment, so runs would not repeat themselves to the bit.
    """
    cuda = device.type == "cuda"
    return torch.tensor(array, pin_memory=cuda).to(device, non_blocking=cuda)


@contextmanager
def own_randomness(device: torch.device) -> Iterator[Callable[[int], None]]:
    """A function that seeds torch for this device; leaving the block puts the former state back."""
    generators = [torch.default_generator]
    if device.type == "cuda":
        torch.cuda.init()  # type: ignore[no-untyped-call]
        index = torch.cuda.current_device() if device.index is None else device.index
        generators.append(torch.cuda.default_generators[index])
    if device.type == "mps":
        generators.append(torch.mps._get_default_mps_generator())
    states = [generator.get_state() for generator in generators]

    def seed_all(seed: int) -> None:
        for generator in generators:
            generator.manual_seed(seed)

    try:
        yield seed_all
    finally:
        for generator, state in zip(generators, states, strict=True):
            generator.set_state(state)
