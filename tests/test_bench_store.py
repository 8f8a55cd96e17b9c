"""The store: rows are never lost or doubled, whoever writes, and whatever is pulled out of the wall."""

import json
import subprocess
import sys
import threading
from dataclasses import asdict, replace

import pytest
from filelock import FileLock

from bench_rows import row
from t1.bench.store import Store
from t1.bench.study import Run
from t1.errors import InputError, T1Error

RUN = Run(dataset="ETTh1", mask={"kind": "point", "rate": 0.4}, batch_size=16, learning_rate=1e-3)


def test_rows_come_back_as_they_were_written(tmp_path):
    store = Store(tmp_path / "new" / "folder")
    assert store.rows() == []
    rows = [row(scenario="point 0.1"), row(scenario="block", best_valid=None)]
    store.append(rows)
    assert store.rows() == rows


def test_the_same_row_is_written_once(tmp_path):
    store = Store(tmp_path)
    store.append([row()])
    store.append([row(), row(scenario="block")])
    assert [r.scenario for r in store.rows()] == ["point 0.1", "block"]


def test_the_latest_row_is_the_one_trained_longest(tmp_path):
    store = Store(tmp_path)
    store.append([row(steps=20, mse=0.2)])
    store.append([row(steps=10, mse=0.3)])
    assert [r.mse for r in store.latest()] == [0.2]
    assert len(store.rows()) == 2


@pytest.mark.parametrize("cut", [1, 30, 200])
def test_a_broken_last_line_is_left_out_and_repaired(tmp_path, cut):
    store = Store(tmp_path)
    store.append([row(), row(scenario="block")])
    whole = store.path.read_bytes()
    store.path.write_bytes(whole[:-cut])
    assert store.rows() == [row()]
    assert store.path.read_bytes() == whole[:-cut], "reading changes nothing"
    store.append([row(scenario="block")])
    assert store.path.read_bytes() == whole


def test_a_broken_line_in_the_middle_is_no_power_cut(tmp_path):
    store = Store(tmp_path)
    store.append([row(), row(scenario="block")])
    first, second = store.path.read_text().splitlines(keepends=True)
    store.path.write_text(first[: len(first) // 2] + "\n" + second)
    with pytest.raises(InputError, match="line 1 of"):
        store.rows()
    with pytest.raises(InputError, match="line 1 of"):
        store.append([row()])


def test_a_row_of_another_version_is_refused_not_cut_off(tmp_path):
    store = Store(tmp_path)
    text = json.dumps({**asdict(row()), "colour": "red"}) + "\n"
    store.path.write_text(text)
    with pytest.raises(InputError, match="of this version"):
        store.append([row()])
    assert store.path.read_text() == text


WRITER = """
import sys
sys.path.insert(0, {tests!r})
from bench_rows import row
from t1.bench.store import Store
store = Store({folder!r})
for i in range(60):
    store.append([row(id="shared", steps=i), row(id=sys.argv[1], steps=i)])
"""


def test_two_processes_lose_and_double_nothing(tmp_path):
    code = WRITER.format(tests=str(__file__.rpartition("/")[0]), folder=str(tmp_path))
    writers = [subprocess.Popen([sys.executable, "-c", code, name]) for name in ("one", "two")]
    assert [w.wait() for w in writers] == [0, 0]
    keys = [r.key for r in Store(tmp_path).rows()]
    assert len(keys) == len(set(keys)) == 180


def test_a_claim_keeps_others_off_and_ends_with_its_holder(tmp_path):
    one, other = Store(tmp_path), Store(tmp_path)
    with one.claim(RUN) as ours:
        assert ours
        with other.claim(RUN) as also_ours:
            assert not also_ours
        assert other.claimed(RUN.id)
        with other.claim(replace(RUN, seed=202)) as free:
            assert free
    assert not other.claimed(RUN.id)
    assert not other.claimed("never-heard-of")


def test_looking_at_a_run_does_not_keep_it_from_starting(tmp_path):
    """`t1 bench status` tries the lock; a run that starts in that moment must not be skipped as busy."""
    store = Store(tmp_path)
    with store.claim(RUN):
        pass
    looking = FileLock(store.checkpoint(RUN) / "lock", thread_local=False)
    looking.acquire()
    threading.Timer(0.2, looking.release).start()
    with Store(tmp_path).claim(RUN) as ours:
        assert ours


def test_a_change_of_data_or_protocol_makes_older_rows_count_no_more(tmp_path):
    store = Store(tmp_path)
    old = row(mse=0.1)  # from before these were recorded: nothing is known against it
    store.append([old])
    assert store.latest() == [old]
    store.append([row(mse=0.2, steps=10, data="aa", training=1, scoring=1)])
    assert store.latest() == [old], "trained longer"
    for made in ({"data": "bb"}, {"training": 2}, {"scoring": 2}):
        new = row(mse=0.3, steps=5, **{"data": "aa", "training": 1, "scoring": 1, **made})
        both = Store(tmp_path / str(made))
        both.append([row(mse=0.2, data="aa", training=1, scoring=1), new])
        assert both.latest() == [new]


def test_ids_follow_the_fields():
    assert RUN.id == replace(RUN).id
    changes = [
        {"dataset": "ETTh2"},
        {"model": "linear"},
        {"settings": {"n_channels": 64}},
        {"mask": {"kind": "point", "rate": 0.2}},
        {"seed": 202},
        {"split": "disjoint"},
        {"batch_size": 32},
        {"learning_rate": 1e-4},
    ]
    ids = {replace(RUN, **change).id for change in changes}
    assert len(ids | {RUN.id}) == len(changes) + 1


def test_an_error_that_is_no_number_is_no_result(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(T1Error, match="mse = nan over 0 cells is no result"):
        store.append([row(mse=float("nan"), cells=0)])
    assert store.rows() == []


def test_two_budgets_that_end_at_the_same_step_are_two_results(tmp_path):
    store = Store(tmp_path)
    store.append([row(budget_seconds=600.0)])
    store.append([row(budget_seconds=300.0)])
    assert [r.budget_seconds for r in store.rows()] == [600.0, 300.0]
