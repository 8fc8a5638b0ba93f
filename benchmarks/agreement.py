"""Agreement of forecast and training over step size, rows, width, depth and time: `python -m benchmarks.agreement`.

One table (diabetes), one network in the middle (two hidden layers of ReLU, width 128, 100 training rows, a tenth of
the largest stable step, 500 steps), and one thing changed at a time. Every run is kept as soon as it is known, in
`docs/_static/agreement.json`; the same command goes on from there, and draws the figure.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from lineament.evidence.figure import Figure, Panel, points, reference

FOLDER = Path(__file__).parents[1] / "docs" / "_static"
MIDDLE: dict[str, float] = {"share": 0.1, "rows": 100, "width": 128, "hidden": 2, "steps": 500}
CHANGED: dict[str, tuple[float, ...]] = {
    "share": (0.025, 0.05, 0.2, 0.4, 0.8),
    "rows": (25, 50, 200),
    "width": (16, 32, 64, 256, 512),
    "hidden": (1, 3, 4),
    "steps": (50, 150, 1500, 4000),
}
SEEDS = (11, 12)
LABELS = {
    "share": "step size / largest stable", "rows": "training rows", "width": "width", "hidden": "hidden layers",
    "steps": "steps",
}  # fmt: skip


def settings() -> list[dict[str, float]]:
    """Every run: the one in the middle, and those that differ from it in one thing; seed by seed."""
    changed = [MIDDLE | {name: value} for name, values in CHANGED.items() for value in values]
    return [run | {"seed": seed} for seed in SEEDS for run in (MIDDLE, *changed)]


def gaps(share: float, rows: int, width: int, hidden: int, steps: int, seed: int) -> dict[str, float | None]:
    """How far losses are from their forecasts after the last step, the safe step, and when one departed by a tenth."""
    import lineament as la
    from lineament.data import tables
    from lineament.forecasting.network import NetworkForecast
    from lineament.forecasting.network_train import train_network
    from lineament.forecasting.rows import read_rows

    table = tables.read("diabetes")
    found = read_rows(
        table, classes=None, scale_target=True, test_share=100 / (100 + rows), seed=int(seed), most=100 + int(rows)
    )
    model = la.models.MLP((found.X.shape[1], *[int(width)] * int(hidden), 1), "relu", "standard", bias=True)
    data = (found.X, found.y, found.X_test, found.y_test)
    start, steps = la.starts.he(model, int(seed)), int(steps)
    most = la.linearise(model, start, *data, steps=1).largest_stable
    made = la.linearise(model, start, *data, step_size=share * most, steps=steps)
    run = train_network(NetworkForecast("diabetes", found, made, "He's"))
    off = {name: float(run.run[name][-1] / getattr(made.curves, name)[-1] - 1) for name in ("test_loss", "loss")}
    departed = run.departed if np.isfinite(run.departed) else None
    return off | {"safe": min(made.safe_step, float(steps)), "departed": departed}


def figure(runs: list[dict[str, Any]]) -> Figure:
    """One panel for each thing that is changed: gaps of test and training loss, every seed a point."""
    panels = []
    for name, label in LABELS.items():
        others = [key for key in MIDDLE if key != name]
        along = [run for run in runs if all(run["setting"][key] == MIDDLE[key] for key in others)]
        x = np.array([run["setting"][name] for run in along], float)
        marks = [
            points(x * shift, np.abs([100 * run["found"][key] for run in along]), text, group)
            for key, text, group, shift in (("loss", "training loss", 0, 0.97), ("test_loss", "test loss", 1, 1.03))
        ]
        edges = [0.8 * x.min(), 1.25 * x.max()] if len(x) else [1.0, 2.0]
        marks.append(reference(edges, [10.0, 10.0], "what a safe forecast promises"))
        scale = "linear" if name == "hidden" else "log"
        panels.append(Panel(tuple(marks), label, "gap of the loss [%]", "", scale, "log", (0.01, 300.0)))
    told = "The test loss stays near its forecast; the training loss leaves it with larger steps, time and fewer rows."
    return Figure(tuple(panels), told, columns=3)


def main() -> None:
    """Run what is missing, and draw."""
    from lineament.report import draw

    kept = FOLDER / "agreement.json"
    runs: list[dict[str, Any]] = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else []
    for setting in settings():
        if all(run["setting"] != setting for run in runs):
            runs.append({"setting": setting, "found": gaps(**setting)})  # type: ignore[arg-type]
            lines = ",\n".join(json.dumps(run) for run in runs)
            kept.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
            print(runs[-1], flush=True)
    draw.save(figure(runs), FOLDER / "agreement.png")


if __name__ == "__main__":
    main()
