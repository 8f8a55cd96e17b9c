"""Jobs in other processes: every one ends, whatever becomes of the others."""

import os
import signal

import pytest

from t1.errors import InputError, T1Error
from t1.jobs import Here, OnRay, executor_of


def work(shared, job):
    if job == "input":
        raise InputError("no good", cure="Better.", option="columns")
    if job == "bug":
        raise ZeroDivisionError("by nothing")
    if job == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    return shared, job, os.getpid()


def threads(shared, job):
    import torch
    from threadpoolctl import threadpool_info

    told = int(os.environ.get("OMP_NUM_THREADS", "0"))  # to onnxruntime
    return {torch.get_num_threads(), told, *(pool["num_threads"] for pool in threadpool_info())}


def test_a_failure_or_a_killed_process_keeps_no_other_job_from_running():
    jobs = [1, "input", 2, "killed", 3, "bug", 4]
    ended = dict(Here(2).run(work, "s", jobs))
    assert ended.keys() == set(jobs)
    assert [ended[n][:2] for n in (1, 2, 3, 4)] == [("s", n) for n in (1, 2, 3, 4)]
    assert ended["input"].option == "columns" and ended["input"].cure == "Better."
    assert "ZeroDivisionError: by nothing" in str(ended["bug"])
    assert isinstance(ended["killed"], T1Error) and "signal 9" in str(ended["killed"])
    processes = {ended[n][2] for n in (1, 2, 3, 4)}
    assert os.getpid() not in processes and len(processes) <= 3  # one for another that was killed


def test_one_at_a_time_fails_in_the_same_way():
    ended = dict(Here(1).run(work, "s", [1, "input", "bug"]))
    assert ended[1] == ("s", 1, os.getpid())
    assert ended["input"].option == "columns" and "ZeroDivisionError" in str(ended["bug"])


@pytest.mark.parametrize(("processes", "ahead"), [(1, [1, 2, 3, 4, 5, 6]), (2, [3, 4, 5, 6, 6, 6])])
def test_jobs_are_taken_as_they_are_needed(processes, ahead):
    taken = []

    def jobs():
        for k in range(6):
            taken.append(k)
            yield k

    assert [len(taken) for _ in Here(processes).run(threads, None, jobs())] == ahead


def test_nothing_is_started_after_a_stop():
    ended = []
    for job, _ in Here(1).run(work, None, range(9), lambda: len(ended) >= 2):
        ended.append(job)
    assert ended == [0, 1]


def test_every_job_has_one_thread():
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    assert [result for _, result in Here(1).run(threads, None, [0])] == [{1}]
    assert torch.get_num_threads() == 2
    torch.set_num_threads(before)
    assert [result for _, result in Here(2).run(threads, None, [0])] == [{1}]


@pytest.mark.parametrize(
    ("on", "processes", "what"),
    [
        (None, 0, "no work"),
        ("ray", 2, "as many jobs"),
        ("dask", None, "no place"),
        ("ray:/x", None, "no place"),
    ],
)
def test_places_that_are_none(on, processes, what):
    with pytest.raises(InputError, match=what):
        executor_of(on, processes)


def test_a_cluster_that_does_not_answer():
    with pytest.raises(InputError, match=r"no Ray cluster answers at ray://127.0.0.1:9") as raised:
        list(OnRay("ray://127.0.0.1:9").run(work, None, [1]))
    assert raised.value.option == "on" and "ray start" in raised.value.cure
    with pytest.raises(InputError, match="is no address"):
        list(OnRay("ray://head:port").run(work, None, [1]))


def test_without_ray_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(InputError, match="Ray is not installed") as raised:
        list(OnRay().run(work, None, [1]))
    assert "t1-impute[ray]" in raised.value.cure
