"""Files that are no table are told by what they are; words that historians and exchanges write for no value."""

import numpy as np
import pytest

from t1.data.files import read_file
from t1.errors import InputError

HOURS = [f"2024-05-{1 + i // 24:02d} {i % 24:02d}:00" for i in range(72)]
NEM12 = """100,NEM12,202401010000,MDP1,Retailer1
200,6123456789,E1Q1,E1,E1,N1,METSER123,kWh,30,20240201
300,20240101,0.461,0.810,0.568,1.234,A,,,20240201000000,
900
"""
DLY = "USC00011084202001TMAX" + "".join(f"{n:5d}   " for n in (183, -9999, 211, 94, -11, 250)) + "\n"


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_meter_records(put, mark):
    with pytest.raises(InputError, match="NEM12") as caught:
        read_file(put(mark + NEM12))
    assert "nemreader" in caught.value.cure


@pytest.mark.parametrize("flags", ["   ", "  7", "B 0"])
def test_fixed_places(put, flags):
    with pytest.raises(InputError, match=r"\.dly") as caught:
        read_file(put(DLY.replace("   ", flags, 1) * 12, "USC00011084.dly"))
    assert ".csv" in caught.value.cure


def test_tables_that_begin_alike_are_read(put):
    lines = [f"{100 + i},{i % 7}.5,{i % 5}.25" for i in range(20)]
    assert read_file(put("\n".join(lines) + "\n")).values.shape == (20, 3)
    lines = [f"USC00011084{i:02d} {i % 7}.5 {i % 5}.25" for i in range(20)]
    assert read_file(put("\n".join(lines) + "\n", "in.txt")).values.shape == (20, 2)


@pytest.mark.parametrize("word", ["n/e", "#N/A N/A", "Bad Input", "I/O Timeout", "Pt Created", "Comm Fail"])
def test_words_for_no_value(put, tmp_path, word):
    lines = [
        "time,x,y",
        *(f"{t},{word if i in (5, 6) else f'{i % 24}.5'},{i % 7}" for i, t in enumerate(HOURS)),
    ]
    file = read_file(put("\n".join(lines) + "\n"))
    assert file.columns == ("x", "y") and np.isnan(file.values).sum() == 2
    file.write(tmp_path / "out.csv", np.nan_to_num(file.values, nan=42.0))
    expected = [line.replace(f",{word},", ",42.0,") for line in lines]
    assert (tmp_path / "out.csv").read_text().splitlines() == expected


def test_monthly_is_not_missing(put):
    """SDMX: M is a frequency."""
    lines = [
        "freq,TIME_PERIOD,OBS_VALUE",
        *(f"M,{2000 + i // 12}-{i % 12 + 1:02},{i % 9}.5" for i in range(36)),
    ]
    file = read_file(put("\n".join(lines) + "\n"))
    assert file.columns == ("OBS_VALUE",) and file.passed_through["freq"] == "holds text ('M' in every row)"
    assert not file.problems


def test_six_lines_of_names(put):
    """Sunny Explorer (SMA): what the logger is, its number, what was measured, and units."""
    lines = ["sep=;", "Version CSV1|Tool SE|Linebreaks CR/LF|Delimiter semicolon|Decimalpoint comma", ""]
    lines += [";SN: 2100123456;SN: 2100123456", ";SB 3000TL-21;SB 3000TL-21", ";2100123456;2100123456"]
    lines += [";Total yield;Power", ";Counter;Analog", "dd.MM.yyyy HH:mm:ss;kWh;kW"]
    lines += [
        f"{1 + i // 24:02}.05.2024 {i % 24:02}:00:00;{1000 + i},5;{'' if i == 9 else f'{i % 7},25'}"
        for i in range(72)
    ]
    file = read_file(put("\n".join(lines) + "\n"))
    assert file.values.shape == (72, 2) and np.isnan(file.values[9, 1])
    assert (
        file.time[0] == np.datetime64("2024-05-01") and (np.diff(file.time) == np.timedelta64(1, "h")).all()
    )
