"""All tests under conditions that `make test` does not have: `make nightly`.

The newest version of every dependency, every Python that the package supports and this machine has, and JAX's 64-bit
flag on and off. Each Python gets an environment of its own under build/nightly, which is brought up to date at every run.
What a formula of NumPy gives may not depend on JAX's flag: with the flag off, what needs no JAX is tested once more.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PYTHONS = ("3.11", "3.12", "3.13")
WITHOUT_JAX = ("tests/theory", "tests/evidence", "tests/data")
ENVIRONMENTS = Path("build/nightly")
FIXED = ("torch",)
"""Not taken at its newest: without its constraint it would bring gigabytes of CUDA."""


def main() -> None:
    """Test under every condition; say which held, and end with an error unless all did."""
    results = {}
    for version in PYTHONS:
        python = shutil.which(f"python{version}")
        if python is None or not _works(python):
            results[f"Python {version}"] = "not on this machine"
            continue
        environment = install(python, version)
        for flag, tests in (("1", ("tests",)), ("0", WITHOUT_JAX)):
            name = f"Python {version}, newest versions, 64-bit flag {'on' if flag == '1' else 'off'}"
            results[name] = test(environment, tests, LINEAMENT_X64=flag)
    if shutil.which("nvidia-smi"):
        results["GPU"] = "passed" if subprocess.run(("make", "test-gpu"), check=False).returncode == 0 else "failed"
    print(*(f"{condition}: {result}" for condition, result in results.items()), sep="\n")
    sys.exit("failed" in results.values())


def install(python: str, version: str) -> Path:
    """Make or update an environment with the newest of everything; return its Python."""
    folder = ENVIRONMENTS / version
    if not folder.exists():
        subprocess.run((python, "-m", "venv", folder), check=True)
    constraints = ENVIRONMENTS / "constraints.txt"
    kept = [line for line in Path("constraints.txt").read_text().splitlines() if line.split("==")[0] in FIXED]
    constraints.write_text("\n".join(kept) + "\n")
    inside = folder / "bin" / "python"
    pip = (inside, "-m", "pip", "install")
    # The pip that comes with Python takes many times as long to choose among versions.
    subprocess.run((*pip, "--quiet", "--upgrade", "pip"), check=True)
    newest = ("--quiet", "--upgrade", "--upgrade-strategy", "eager", "-c", str(constraints))
    subprocess.run((*pip, *newest, "-e", ".[dev,docs,torch]"), check=True)
    return inside


def test(python: Path, tests: Sequence[str], **variables: str) -> str:
    """Run tests in an environment: "passed" or "failed"."""
    command = (python, "-m", "pytest", "-n", str(os.cpu_count() or 1), "--dist", "worksteal", "-rs", *tests)
    done = subprocess.run(command, env=os.environ | variables, check=False)
    return "passed" if done.returncode == 0 else "failed"


def _works(python: str) -> bool:
    """Whether a Python starts: a version manager leaves names of those that it does not provide."""
    return subprocess.run((python, "--version"), capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    main()
