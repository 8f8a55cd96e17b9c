"""Files that are no table: told by how they begin, with what to do."""

from __future__ import annotations

import re

from t1.errors import InputError

KNOWN = {  # by their first bytes
    b"\xd0\xcf\x11\xe0": "an old Excel sheet",
    b"\x89HDF": "an HDF5 file",
    b"CDF\x01": "a NetCDF file",
    b"%PDF": "a PDF",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ": "an xz file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    b"ARROW1": "an Arrow file",
    b"<!DOCTYPE html": "a web page",
    b"<html": "a web page",
    b'{"': "JSON",
    b"[{": "JSON",
    b"{\n": "JSON",
    b"[\n": "JSON",
}
NEM = re.compile(rb'(\xef\xbb\xbf)?"?100"?,"?NEM1[23]')
# station, year, month, element, then five digits and three flags for each day
DLY = re.compile(rb"[A-Z]{2}[A-Z0-9_-]{9}(1[6-9]|2\d)\d{2}(0[1-9]|1[0-2])[A-Z0-9]{4}([ -]*\d{1,5}.{3}){5}")


def refuse_other_formats(raw: bytes) -> None:
    """Raise InputError for a file that is no table."""
    for magic, kind in KNOWN.items():
        if raw.startswith(magic):
            raise InputError(f"this is {kind}, not a table.", cure="Export it as CSV first.")
    if NEM.match(raw):
        raise InputError(
            "these are meter records (NEM12): each line begins with the kind of its record, and holds a whole day.",
            cure="Turn them into a table with a row for each interval (the Python package nemreader does).",
        )
    if DLY.match(raw[:200]):
        raise InputError(
            "this is GHCN-Daily's .dly: cells have fixed places, and each line holds a whole month.",
            cure="Take the same station as .csv, which NOAA has beside it.",
        )
