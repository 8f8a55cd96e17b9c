"""Download a dataset's files from their public home, and keep only what has the right checksum."""

from __future__ import annotations

import logging
import shutil
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from t1.data.atomic import replacing
from t1.data.catalog import folders
from t1.data.spec_file import File, Spec
from t1.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """A file that is in its place now."""

    path: Path
    sha256: str
    checked: bool  # False: the spec has no checksum to compare with
    downloaded: bool  # False: it was there already


def fetch(spec: Spec, to: Path | None = None, *, progress: Any = False, timeout: float = 30) -> list[Fetched]:
    """Put a dataset's files under `to` (else the first folder where they are looked for).

    `progress` is True for pooch's own bar, or an object with `total`, `update`, `reset` and `close`.
    """
    folder = to or folders(spec)[0]
    done: dict[str, Fetched] = {}
    with tempfile.TemporaryDirectory(prefix="t1-fetch-") as temporary:
        archives: dict[str, Path] = {}  # one download may serve several files
        for file in spec.files:
            target = folder / file.path
            if target.is_file():
                done[file.path] = _present(file, target)
                continue
            _check_inside(folder, target)
            if not file.url:
                raise InputError(
                    f"no address is known for {file.path} of {spec.name}.\n{by_hand(spec, file, target)}"
                )
            if file.url not in archives:
                room = Path(temporary) / str(len(archives))
                try:
                    archives[file.url] = _download(file.url, room, progress, timeout)
                except OSError as error:  # requests' exceptions are OSErrors
                    raise InputError(
                        f"could not download {file.url}: {_reason(error)}.\n{by_hand(spec, file, target)}"
                    ) from None
            got = _unpacked(archives[file.url], file)
            digest = checksum(got)
            if file.sha256 and digest not in file.sha256:
                raise InputError(
                    f"the download of {file.path} is not the right file: its sha256 is {digest}, expected "
                    f"{' or '.join(file.sha256)}; it was removed.\n"
                    f"Try again; if it stays so, {file.url} has changed. {by_hand(spec, file, target)}"
                )
            _place(got, target)
            done[file.path] = Fetched(path=target, sha256=digest, checked=bool(file.sha256), downloaded=True)
    return list(done.values())


def checksum(path: Path) -> str:
    """The sha256 of a file."""
    import pooch

    return str(pooch.file_hash(str(path), alg="sha256"))


def by_hand(spec: Spec, file: File, target: Path) -> str:
    """What to do without a download: which file, from which page, to which path."""
    inside = f" ({file.member} in the archive)" if file.member else ""
    page = spec.home or file.url or "where you know it from"
    return f"By hand: get {Path(file.path).name}{inside} from {page} and put it at {target}."


def _present(file: File, target: Path) -> Fetched:
    digest = checksum(target)
    if file.sha256 and digest not in file.sha256:
        raise InputError(
            f"{target} is there, but it is another file: its sha256 is {digest}, expected "
            f"{' or '.join(file.sha256)}.",
            cure="Move it away to download the right one, or choose another folder.",
            option="to",
        )
    return Fetched(path=target, sha256=digest, checked=bool(file.sha256), downloaded=False)


def _check_inside(folder: Path, target: Path) -> None:
    """A spec may come from anywhere, so nothing is written outside of the data folder on its behalf."""
    if not target.resolve().is_relative_to(folder.resolve()):
        raise InputError(
            f"{target} is not inside {folder}, and nothing is downloaded to other places.\n"
            "Give a relative path without '..' in the spec."
        )


def _download(url: str, room: Path, progress: Any, timeout: float) -> Path:
    import pooch

    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.WARNING)  # it would tell every step on stderr
    try:
        downloader = pooch.HTTPDownloader(progressbar=progress, chunk_size=1 << 16, timeout=timeout)
        return Path(pooch.retrieve(url, known_hash=None, fname="download", path=room, downloader=downloader))
    finally:
        logger.setLevel(level)


def _unpacked(got: Path, file: File) -> Path:
    if not file.member:
        return got
    name = Path(file.member).name
    out = got.with_name("unpacked")
    try:
        with zipfile.ZipFile(got) as archive:
            # by the full name, or by the last part: an archive may have been packed again from another folder
            inside = [n for n in archive.namelist() if n == file.member or n.endswith(f"/{name}")]
            if not inside:
                raise InputError(
                    f"{file.url} has no file {file.member} inside.\nDownload and look into it by hand."
                )
            out.write_bytes(archive.read(file.member if file.member in inside else inside[0]))
    except zipfile.BadZipFile:
        raise InputError(
            f"{file.url} gave no zip archive.\nOpen the address in a browser and see what it says."
        ) from None
    return out


def _place(got: Path, target: Path) -> None:
    """Copy into place: all of it or nothing, also if the disk is full."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with got.open("rb") as source, replacing(target) as stream:
            shutil.copyfileobj(source, stream)
    except OSError as error:
        raise InputError(
            f"cannot write {target}: {error.strerror}.", cure="Choose another folder.", option="to"
        ) from None


def _reason(error: OSError) -> str:
    """The end of the chain in few words, without the dump of objects that requests gives."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"the server answered {response.status_code} {response.reason}"
    return {
        "ConnectionError": "no connection",
        "ConnectTimeout": "no answer in time",
        "ReadTimeout": "no answer in time",
        "ChunkedEncodingError": "the connection broke off",
    }.get(type(error).__name__, str(error).split("\n")[0] or type(error).__name__)
