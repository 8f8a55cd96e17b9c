"""What a row says of where it was made: versions, the commit, the memory a run took."""

import platform
import subprocess
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path


@cache
def versions() -> dict[str, str]:
    """Of what the figures may depend on."""
    packages = {"t1": "t1-impute", "torch": "torch", "numpy": "numpy"}
    return {name: version(package) for name, package in packages.items()} | {
        "python": platform.python_version()
    }


@cache
def commit() -> str:
    """The commit of this package if it runs from a git clone, and a plus sign if files differ from it."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=here, capture_output=True, text=True).stdout.strip()

    try:
        found = git("rev-parse", "--short=12", "HEAD")
        return found + "+" * bool(git("status", "--porcelain", "--", "..")) if found else ""
    except OSError:  # no git here
        return ""


def forget_peak_memory() -> None:
    """Linux can start the count anew, so that one run's peak is not another's."""
    reset = Path("/proc/self/clear_refs")
    if reset.exists():
        reset.write_text("5")


def memory_mb() -> float:
    """The memory this process has now; 0 where it cannot be known."""
    return _status_mb("VmRSS:") or 0.0


def _status_mb(field: str) -> float | None:
    status = Path("/proc/self/status")
    for line in status.read_text().splitlines() if status.exists() else ():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    return None


def peak_memory_mb() -> float:
    """The most memory this process has had; 0 where it cannot be known."""
    if (known := _status_mb("VmHWM:")) is not None:
        return known
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)  # macOS counts bytes, Linux kilobytes
