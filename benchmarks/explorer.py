"""(l) The explorer in a browser: from a slider to the drawn frame, against the 16 ms that a smooth screen leaves."""

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np

from lineament.report import explorer

from .harness import Row

MODES, FRAMES, BUDGET, PAINT, SIZE = 20, 120, 16e-3, 1.0, 600_000
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
MOVE = """async place => {
  const slider = document.getElementById("modes-depth");
  slider.value = String(place);
  slider.dispatchEvent(new Event("input"));
  await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
}"""
NOTHING = "async place => { await new Promise(done => requestAnimationFrame(() => setTimeout(done))); }"
PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"


def rows() -> list[Row]:
    """Frames of the first panel with 20 modes of 2000 points, over all depths; first paint from disk; the size."""
    browser = shutil.which("chromium")
    if browser is None:
        print("no chromium on this machine: the explorer is not measured")
        return []
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        path = explorer.write(Path(folder) / explorer.NAME)
        opened = driver.chromium.launch(executable_path=browser, args=FLAGS)
        paints = []
        for _ in range(5):
            page = opened.new_page(viewport={"width": 1280, "height": 900})
            page.goto(path.as_uri())
            page.wait_for_function("() => performance.getEntriesByName('first-contentful-paint').length")
            paints.append(page.evaluate(PAINTED))
            page.close()
        frames = _frames(opened, path)
        opened.close()
        size = path.stat().st_size
    load, slow = os.getloadavg()[0], float(np.quantile(frames, 0.95))
    case, busy = f"explorer, {MODES} modes × 2000 points", f"CPU time of the page's main thread, load {load:.1f}"
    return [
        _row(case, "input to drawn frame, 95th percentile", BUDGET, slow, frames, busy),
        _row("explorer, first paint from disk", "median of 5", PAINT, float(np.median(paints)), np.array(paints), "seen"),
        Row("explorer, size of the page", f"{size / 1000:.0f} kB", f"{SIZE / 1000:.0f} kB", SIZE / size, SIZE / size,
            SIZE / size, 1.0, "pages", 1.0, 1.0),
    ]  # fmt: skip


def _frames(browser, path: Path) -> np.ndarray:
    """CPU seconds of the main thread for each move of the slider, script, layout and painting together."""
    spectrum = ",".join(f"{12 * 0.9**k:.4g}" for k in range(MODES))
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{path.as_uri()}#panel=modes&spectrum={spectrum}")
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy() -> float:
        found = session.send("Performance.getMetrics")["metrics"]
        return next(each["value"] for each in found if each["name"] == "TaskDuration")

    def take(script: str, count: int) -> np.ndarray:
        taken = []
        for place in np.random.default_rng(0).integers(0, 1001, count).tolist():
            before = busy()
            page.evaluate(script, place)
            taken.append(busy() - before)
        return np.array(taken[20:])  # the first compile

    own = float(np.median(take(NOTHING, 60)))  # what a frame costs in which nothing moves: that of measuring
    frames = take(MOVE, FRAMES + 20) - own
    page.close()
    return frames


def _row(case: str, ours: str, budget: float, value: float, seen: np.ndarray, note: str) -> Row:
    low, high = budget / float(seen.max()), budget / float(seen.min())
    told = f"{note}: {1000 * value:.1f} ms, median {1000 * float(np.median(seen)):.1f} ms"
    return Row(
        case, ours, f"{1000 * budget:g} ms", budget / value, low, high, 1.0, "times", 1 / value, 1 / budget, told
    )
