"""Print the test files that what changed since a commit needs: `python -m tools.changed [commit]`, main by default."""

import subprocess
import sys
from pathlib import Path

from .exercise import changed


def paths(since: str) -> list[Path]:
    """Files that differ from where this branch left a commit, those that git does not know yet included."""
    base = _git("merge-base", since, "HEAD")[0]
    return [
        Path(name) for name in _git("diff", "--name-only", base) + _git("ls-files", "--others", "--exclude-standard")
    ]


def _git(*arguments: str) -> list[str]:
    return subprocess.run(("git", *arguments), check=True, capture_output=True, text=True).stdout.splitlines()


if __name__ == "__main__":
    print(*changed(paths(sys.argv[1] if len(sys.argv) > 1 else "main")))
