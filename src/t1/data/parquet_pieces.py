"""A Parquet file piece by piece: some rows at a time, whatever its row groups are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from t1.data.data_file import DataFile
from t1.data.parquet import ParquetFile, need_pyarrow
from t1.data.parquet_read import compression_of, read_table
from t1.data.pieces import STRETCH_ROWS, STRETCHES, FilledPiece, Pieces, Sample, upright
from t1.data.reading import Reading
from t1.errors import InputError


class ParquetPieces(Pieces):
    """A .parquet file."""

    kind = "parquet"

    def __init__(self, source: Path, reading: Reading) -> None:
        self.source, self.reading = source, reading
        pa, parquet = need_pyarrow()
        try:
            with parquet.ParquetFile(source) as file:
                self.compression = compression_of(file.metadata)
                self.n_rows = int(file.metadata.num_rows)
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"not a readable Parquet file: {error}.", cure="Write it again.") from None
        last = max(self.n_rows - STRETCH_ROWS, 0)
        starts = np.unique(np.linspace(0, last, STRETCHES).astype(int)).tolist()
        if self.n_rows <= STRETCHES * STRETCH_ROWS:
            starts = [0]
        length = STRETCH_ROWS if len(starts) > 1 else self.n_rows
        parts, begin = [], 0
        for part in self._batches(1 << 16):
            end = begin + part.num_rows
            for start in starts:
                a, b = max(start, begin), min(start + length, end)
                if a < b:
                    parts.append(part.slice(a - begin, b - a).combine_chunks())
            begin = end
        known = read_table(pa.concat_tables(parts), self.compression, reading)
        rows = tuple(min(length, self.n_rows - start) for start in starts)
        self.sample = Sample(upright(known, reading), rows, tuple(starts))

    def _batches(self, rows: int) -> Iterator[Any]:
        """The file's rows as tables of so many at most."""
        pa, parquet = need_pyarrow()
        with parquet.ParquetFile(self.source, pre_buffer=False) as file:
            for batch in file.iter_batches(rows, use_threads=False):
                yield pa.Table.from_batches([batch])

    def _tables(self, reading: Reading, rows: int) -> Iterator[DataFile]:
        pa, _ = need_pyarrow()
        held: list[Any] = []  # batches end with their row group: they are gathered up to the size asked for
        for batch in self._batches(rows):
            held.append(batch)
            whole = pa.concat_tables(held)
            if len(whole) >= rows + rows // 4:  # a short rest goes with the rows before it
                yield read_table(whole.slice(0, rows), self.compression, reading)
                held = [whole.slice(rows)]
        yield read_table(pa.concat_tables(held), self.compression, reading)

    def write(self, stream: IO[bytes], fills: Iterable[FilledPiece], kind: str) -> None:
        """Every piece is a row group or several."""
        _, parquet = need_pyarrow()
        writer = None
        try:
            for file, fill in fills:
                assert isinstance(file, ParquetFile)
                for table in file.filled_parts(fill):
                    if writer is None:
                        writer = parquet.ParquetWriter(stream, table.schema, compression=self.compression)
                    writer.write_table(table)
        finally:
            if writer is not None:
                writer.close()
