"""The registry: a dict that says "did you mean ...?"."""

import pytest

from t1.errors import InputError
from t1.registry import Registry


@pytest.fixture
def fruit() -> Registry[int]:
    registry: Registry[int] = Registry("fruit")
    registry.add("apple")(1)
    registry.add("pear")(2)
    return registry


def test_it_reads_like_a_dict(fruit):
    assert dict(fruit) == {"apple": 1, "pear": 2}
    assert list(fruit) == ["apple", "pear"]
    assert len(fruit) == 2
    assert "apple" in fruit
    assert "plum" not in fruit


def test_adding_gives_the_thing_back():
    registry = Registry("function")

    @registry.add("one")
    def one() -> int:
        return 1

    assert one() == 1
    assert registry["one"] is one


def test_a_near_miss_is_offered_the_right_name(fruit):
    with pytest.raises(InputError, match=r"unknown fruit 'aple'\.\nDid you mean 'apple'\?"):
        fruit["aple"]
    with pytest.raises(InputError, match="Did you mean 'apple'"):
        fruit["APPLE"]


def test_a_far_miss_is_told_all_names(fruit):
    with pytest.raises(InputError, match=r"unknown fruit 'zzz'\.\nKnown: apple, pear\."):
        fruit["zzz"]


def test_a_name_is_taken_once(fruit):
    with pytest.raises(RuntimeError, match="fruit 'pear' is registered twice"):
        fruit.add("pear")(3)
    assert fruit["pear"] == 2
