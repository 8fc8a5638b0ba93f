"""Versions of packages, also where this one runs from a source tree that was never installed."""

from importlib import metadata


def version(package: str) -> str:
    """The installed version, or "source tree" where there is no record of one."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "source tree"
