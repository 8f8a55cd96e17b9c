"""Several processes that train one model, each on its share of every batch; `torchrun` starts them."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor


@dataclass(frozen=True)
class Workers:
    """How many processes there are, and which of them this is; one alone needs nobody's answer."""

    rank: int = 0
    n: int = 1

    @property
    def first(self) -> bool:
        """This one writes the files and tells the progress."""
        return self.rank == 0

    def agree(self, value: float) -> float:
        """The first one's value: clocks and interrupts differ, and all have to take the same steps."""
        if self.n == 1:
            return value
        told = torch.tensor([value], dtype=torch.float64)
        dist.broadcast(told, src=0)
        return float(told)

    def total(self, value: float) -> float:
        """The sum over all of them."""
        if self.n == 1:
            return value
        told = torch.tensor([value], dtype=torch.float64)
        dist.all_reduce(told)
        return float(told)

    def add_gradients(self, parameters: Iterable[Tensor]) -> None:
        """Replace each gradient by the sum over all of them, in one message."""
        if self.n == 1:
            return
        given = list(parameters)
        for p in given:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
        flat = torch.cat([p.grad.flatten() for p in given if p.grad is not None])
        dist.all_reduce(flat)
        end = 0
        for p in given:
            end += p.numel()
            p.grad = flat[end - p.numel() : end].view_as(p)


@contextmanager
def join_workers() -> Iterator[Workers]:
    """The processes that torchrun started, or this one alone."""
    n = int(os.environ.get("WORLD_SIZE", "1"))
    if n == 1:
        yield Workers()
        return
    if torch.cuda.is_available():  # a GPU each: gradients go over nccl, what the processes agree on over gloo
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("cpu:gloo,cuda:nccl")
    else:
        dist.init_process_group("gloo")
    try:
        yield Workers(rank=dist.get_rank(), n=n)
    finally:
        dist.destroy_process_group()
