"""What a result was found with: versions, device, and the commit of the source."""

import os
import platform
import shutil
import subprocess
from functools import cache
from pathlib import Path

from lineament.core.versions import version

PACKAGES = ("lineament", "jax", "diffrax", "numpy", "scipy")


def environment() -> dict[str, str]:
    """Versions, device and commit, for provenance."""
    import jax

    device = jax.devices()[0]
    return {
        **{name: version(name) for name in PACKAGES},
        "python": platform.python_version(),
        "device": f"{device.platform}: {device.device_kind}",
        **({"xla_flags": flags} if (flags := os.environ.get("XLA_FLAGS")) else {}),
        **_commit(),
    }


@cache
def _commit() -> dict[str, str]:
    """The commit of a source checkout. LINEAMENT_COMMIT names it where the files came without their history."""
    described, root = os.environ.get("LINEAMENT_COMMIT", ""), Path(__file__).parents[3]
    if not described and (root / ".git").exists() and shutil.which("git"):
        command = ["git", "-C", str(root), "describe", "--always", "--dirty"]
        described = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return {"commit": described} if described else {}
