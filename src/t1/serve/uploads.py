"""Uploads: limits while they stream in, no name given by a user becomes a path."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic, time
from typing import Any

from fastapi import Request
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from t1.data.atomic import sync_folder
from t1.serve.problems import Refused, storage
from t1.serve.settings import Settings, size
from t1.serve.sizes import check_unpacked, suffix_of
from t1.serve.store import JobStore, StoredFile, new_id

SLOWEST = 1000  # bytes a second that an upload must reach on average
GRACE = 30.0  # seconds before that is asked
LONGEST_NAME = 200
FORM_ROOM = 1_000_000  # bytes of a form beside its file
CLOSE = {"Connection": "close"}


def room_for(settings: Settings, store: JobStore, n: int) -> None:
    """Refuse what the disk cannot take."""
    if store.bytes() + n > settings.max_disk:
        raise storage(f"its share of {size(settings.max_disk)} is used up")
    if shutil.disk_usage(settings.folder).free < n + settings.spare_disk:
        raise storage("the disk is full")


def check_length(request: Request, most: int, beside: int = 0) -> int:
    """The length that a request announces, refused before a byte is read if it is too much.

    `beside` bytes more are allowed for what is around a file.
    """
    given = request.headers.get("content-length")
    if given is None:
        return 0
    if not given.isdigit():
        raise Refused(400, "the length of the body is not a number", headers=CLOSE)
    if int(given) > most + beside:
        raise _too_large(most)
    return int(given)


async def limited(
    request: Request, most: int, patience: float, beside: int = 0
) -> AsyncGenerator[bytes, None]:
    """The body, as long as it is neither too large nor too slow."""
    stream, n, began = request.stream(), 0, monotonic()
    while True:
        try:
            chunk = await asyncio.wait_for(anext(stream), patience)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise Refused(408, f"no byte came for {patience:.0f} s", headers=CLOSE) from None
        n += len(chunk)
        if n > most + beside:
            raise _too_large(most)
        spent = monotonic() - began
        if spent > GRACE and n < SLOWEST * spent:
            raise Refused(408, f"fewer than {SLOWEST} bytes a second came", headers=CLOSE)
        yield chunk


async def whole_body(request: Request, most: int, patience: float) -> bytes:
    """A small body at once."""
    check_length(request, most)
    return b"".join([chunk async for chunk in limited(request, most, patience)])


@asynccontextmanager
async def form_of(request: Request, settings: Settings, store: JobStore) -> AsyncGenerator[FormData, None]:
    """The parts of a multipart form; its file lies in the server's folder until the end."""
    most = settings.max_upload
    length = check_length(request, most, FORM_ROOM)
    await asyncio.to_thread(room_for, settings, store, length)
    parser = MultiPartParser(
        request.headers, limited(request, most, settings.patience, FORM_ROOM), max_files=1, max_fields=10
    )
    try:
        form = await parser.parse()
    except MultiPartException as error:
        raise Refused(400, error.message, field="body") from None
    except (KeyError, ValueError, AssertionError):
        raise Refused(400, "the form cannot be taken apart", field="body") from None
    try:
        yield form
    finally:
        await form.close()


def upload_of(form: FormData) -> UploadFile:
    """The file of a form."""
    given = form.get("file")
    if not isinstance(given, UploadFile):
        raise Refused(
            422,
            "the form has no whole file" if given is None else "the part named file is text, not a file",
            cure="Send it as a part named file, as curl -F file=@plant.csv does.",
            field="file",
        )
    return given


def options_of(form: FormData) -> Any:
    """The options of a form: a part that holds JSON."""
    given = form.get("options") or "{}"
    try:
        return json.loads(given) if isinstance(given, str) else None
    except (ValueError, RecursionError):
        raise Refused(
            422, "the options are not JSON", cure='Give for example {"budget": "fast"}.', field="options"
        ) from None


def keep(upload: UploadFile, settings: Settings, store: JobStore) -> StoredFile:
    """Put an upload into the store."""
    upload.file.seek(0, os.SEEK_END)
    n = upload.file.tell()
    upload.file.seek(0)
    if n > settings.max_upload:
        raise _too_large(settings.max_upload)
    head = upload.file.read(8)
    upload.file.seek(0)
    name = shown_name(upload.filename)
    return keep_stream(upload.file, head, name, n, settings, store)


def keep_stream(
    stream: Any, head: bytes, name: str, n: int, settings: Settings, store: JobStore
) -> StoredFile:
    """Write a stream to a new folder; the row comes last, so that a file in the store is whole."""
    file = StoredFile(id=new_id(), name=name, source=f"input{suffix_of(head, name)}", bytes=n, created=time())
    folder = settings.folder / "files" / file.id
    try:
        folder.mkdir()
        with (folder / file.source).open("wb") as out:
            shutil.copyfileobj(stream, out, 1 << 20)
            out.flush()
            os.fsync(out.fileno())
        sync_folder(folder)
        check_unpacked(folder / file.source, settings.max_unpacked)
        store.add_file(file)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return file


def link(file: StoredFile, files: Path, job_folder: Path) -> None:
    """Give a job the upload under a second name, without copying it."""
    job_folder.mkdir()
    source, target = files / file.id / file.source, job_folder / file.source
    try:
        os.link(source, target)
    except OSError:  # a file system without links
        shutil.copyfile(source, target)
    sync_folder(job_folder)


def shown_name(given: str | None) -> str:
    """What a user calls a file, to be shown: one line, without folders."""
    name = "".join(c if c.isprintable() else " " for c in given or "")
    name = name.replace("\\", "/").rsplit("/", 1)[-1].strip()
    return name[:LONGEST_NAME] or "table.csv"


def query_options(query: Mapping[str, str]) -> dict[str, Any]:
    """Options in the address, as JSON: ?options={"intervals": 0.9}."""
    try:
        given = json.loads(query.get("options", "{}"))
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise Refused(422, "the options are not a JSON object", field="options")
    return given


def _too_large(most: int) -> Refused:
    return Refused(
        413,
        f"this server takes at most {size(most)}",
        cure="Split the file, or compress it with gzip.",
        field="file",
        headers=CLOSE,
    )
