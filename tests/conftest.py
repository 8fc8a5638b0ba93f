"""Every test runs in float64, with strict promotion and checked annotations, and hypothesis is reproducible."""

import gc
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import jax
import jaxtyping
import pytest
from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

import typechecked
from lineament.execution import worker

jax.config.update("jax_enable_x64", os.environ.get("LINEAMENT_X64", "1") == "1")  # off in a part of `make nightly`
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

# Shapes and types that the packages of training promise are checked at every call, before anything of them is imported.
# Evidence and theory take what NumPy calls `ArrayLike`, which has no place for a tuple when it is looked at at run time.
CORE = Path(__file__).parents[1] / "src" / "lineament" / "core"
CHECKED = [f"lineament.{package}" for package in ("problems", "models", "starts", "train")]
CHECKED += [f"lineament.core.{module.stem}" for module in CORE.glob("*.py") if module.stem != "arguments"]
install_import_hook(CHECKED, "typechecked.check")
typechecked.without_shapes("lineament.core.arguments")

# Compiling makes many objects that stay: looking through them for cycles again and again takes a tenth of the time.
gc.set_threshold(100_000, 10, 10)

# Five thousand programs are compiled, most of them small.
worker.lower_in_one_context()

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
REQUIRED = os.environ.get("LINEAMENT_BROWSER") == "required"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip

settings.register_profile(
    "lineament",
    deadline=None,
    derandomize=True,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("lineament")


def pytest_collection_finish() -> None:
    """What was imported stays to the end: no collection need look through it again."""
    gc.freeze()


@pytest.fixture(autouse=True)
def _unchecked_where_refused(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tests of what is refused pass what annotations forbid: there the package's own errors are wanted."""
    refusal = any(word in request.node.name for word in ("refused", "bad_", "is_named", "wrong"))
    jaxtyping.config.update("jaxtyping_disable", refusal)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(scope="module", autouse=True)
def _room_for_compiled_programs() -> Iterator[None]:
    """Thousands of tests in one process compile more than a process may hold."""
    yield
    from lineament.execution import mappings

    mappings.relieve()


@pytest.fixture(scope="session")
def browser():
    """The system's Chromium, one for the session: two drivers in one process get in each other's way."""
    if CHROMIUM is None:
        why = "no chromium on this machine: install it to test the pages (apt-get install chromium)"
        pytest.fail(why) if REQUIRED else pytest.skip(why)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield launched
        launched.close()
