"""The reference: a page for each module, and one for each group of modules that share an idea."""

import ast
import importlib.util
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Group(NamedTuple):
    """Modules that share an idea: the name of their page, its title, what they are for, and the modules."""

    name: str
    title: str
    about: str
    modules: tuple[str, ...]


def _group(name: str, title: str, about: str, modules: str) -> Group:
    return Group(name, title, about, tuple(f"lineament.{module}" for module in modules.split()))


GROUPS = (
    _group(
        "training",
        "Training",
        "What trains: `la.flow` follows gradient flow, `la.descend` takes steps. Both return a `Run`.",
        "train.flow train.descend core.run core.ensembles core.keys train.records train.diverged train.noise "
        "train.normalised",
    ),
    _group(
        "problems",
        "Problems",
        "What is to be learnt: losses over maps, each with its gradient and its optimum.",
        "problems.base problems.regression problems.sensing problems.classification problems.max_margin "
        "problems.quadratic problems.tensor",
    ),
    _group(
        "models",
        "Models",
        "What is trained. A model turns parameters into a map, and holds none itself.",
        "core.model core.layered models.chain models.layered models.linear models.diagonal models.circular "
        "models.quadratic models.tensor models.conv models.two_layer models.mlp models.convnet models.mirrored "
        "models.activations",
    ),
    _group(
        "starts",
        "Starts",
        "Where training begins: functions of a model, and of a key where they are random.",
        "starts starts.normal starts.layers starts.multiples starts.copies starts.frames",
    ),
    _group(
        "measures",
        "Measures",
        "What is read off a map, its layers, or predictions.",
        "measure.spectra measure.balance measure.alignment measure.neurons measure.jumps measure.kernels "
        "measure.agreement measure.order measure.neighbours measure.critical measure.compact",
    ),
    _group(
        "theory_modes",
        "Theory: modes, one by one",
        "A singular value of the target is learnt by itself: when, at which depth, and after which others.",
        "theory.modes theory.training_time theory.units theory.lambda_modes theory.phases theory.phase_bounds "
        "theory.phase_descent theory.jump_times theory.silent_alignment theory.large_steps theory.constant_alignment",
    ),
    _group(
        "theory_maps",
        "Theory: maps and layers",
        "How the product of the layers moves as a whole, where it ends, and which layers then represent it.",
        "theory.end_to_end theory.analytic_svd theory.singular_flow theory.circulation theory.two_layer "
        "theory.riccati theory.layers theory.layer_descent theory.narrowing theory.log_det theory.label_noise "
        "theory.quadratic theory.nuclear",
    ),
    _group(
        "theory_landscape",
        "Theory: landscape and certificates",
        "Saddles, minima, and starts from which convergence is guaranteed.",
        "theory.certificates theory.landscape theory.critical_points theory.two_by_two",
    ),
    _group(
        "theory_kernels",
        "Theory: kernels and linear twins",
        "Networks that stay near their start, and the linear model that they begin as.",
        "theory.kernels theory.dual_activations theory.dual_grid theory.activations theory.twin "
        "theory.twin_constants theory.linearised theory.linearised_ensemble theory.linearised_classes "
        "theory.wide_limit theory.assumptions",
    ),
    _group(
        "theory_data",
        "Theory: spectra of data",
        "What the principal components of the inputs decide: the order of learning, when to stop, what more rows bring.",
        "theory.pc_bias theory.early_stopping theory.learning_curves",
    ),
    _group(
        "forecasts",
        "Forecasts for a table",
        "From a table alone: what a network will learn from it, and when; then train it and compare.",
        "forecasting.forecast forecasting.result forecasting.stopping forecasting.premises forecasting.compare "
        "forecasting.moments forecasting.held_out forecasting.learning_curve forecasting.curve_result "
        "forecasting.network forecasting.network_train",
    ),
    _group(
        "linearisation",
        "Forecasts for a network",
        "A network of one's own, forecast from its start, and the step until which that is safe.",
        "linearisation.linearise linearisation.linearised linearisation.renewed linearisation.path linearisation.strides linearisation.safe linearisation.losses "
        "linearisation.batches linearisation.make linearisation.tangents torch.linearise",
    ),
    _group(
        "recordings",
        "Recordings",
        "What a training loop of any framework left behind, and what can be read off it.",
        "torch.recorder recording.recorder recording.keras_callback recording.recording recording.compact recording.order "
        "recording.scores recording.regression recording.advice recording.bias recording.ranks recording.phase recording.top "
        "recording.store report.recording_page",
    ),
    _group(
        "torch",
        "PyTorch models",
        "Expand, collapse and truncate the layers of a model; its spectra and its tangent kernel.",
        "torch.expand torch.collapse torch.truncate torch.factored torch.spectra torch.kernel torch.report",
    ),
    _group(
        "sweeps",
        "Sweeps",
        "An experiment at every point of a grid, stored as it goes.",
        "execution.sweep execution.open_experiment execution.stores",
    ),
    _group(
        "data",
        "Data",
        "Data sets, tables, and surgery on principal components.",
        "data.catalogue data.entries data.images data.components data.pixels data.photos data.gaussian data.frequency "
        "data.tables data.mnist data.cifar data.download",
    ),
    _group(
        "claims",
        "Claims and evidence",
        "Statements of papers, the checks that decide about them, and what is stored of a run.",
        "claims.claim claims.registry claims.papers claims.sizes evidence.check evidence.evidence evidence.verdict "
        "evidence.figure execution.reproduce execution.store execution.pooled",
    ),
    _group("plots", "Plots", "Figures of one's own runs.", "report.plot"),
)


def pages() -> dict[str, str]:
    """Every page by its name: the index, the groups, the modules."""
    written = {"reference.md": _index()}
    for group in GROUPS:
        written[f"{group.name}.md"] = _group_page(group)
        written |= {f"{module}.rst": _module_page(module) for module in group.modules}
    return written


@cache
def summary(module: str) -> str:
    """The first line of a module's docstring, read without importing it."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ValueError(f"a module of the reference must be there; got {module!r}")
    text = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8")))
    if not text:
        raise ValueError(f"a module of the reference must have a docstring; {module!r} has none")
    return " ".join(text.split("\n\n")[0].split())


def _index() -> str:
    lines = [
        "# Reference",
        "",
        "One page for each module, grouped by idea. `import lineament as la` gives all but the command line.",
        "",
    ]
    lines += ["| | |", "| --- | --- |"]
    lines += [f"| [{group.title}]({group.name}.md) | {group.about} |" for group in GROUPS]
    lines += ["| [Command line](command_line.md) | Every command with its options. |", ""]
    names = [group.name for group in GROUPS]
    return "\n".join([*lines, *_contents([*names, "command_line"]), ""])


def _group_page(group: Group) -> str:
    lines = [f"# {group.title}", "", group.about, "", "| module | |", "| --- | --- |"]
    lines += [f"| [`{_short(module)}`]({module}.rst) | {summary(module)} |" for module in group.modules]
    return "\n".join([*lines, "", *_contents(group.modules), ""])


def _contents(names: tuple[str, ...] | list[str]) -> list[str]:
    return ["```{toctree}", ":hidden:", "", *names, "```"]


def _module_page(module: str) -> str:
    title = _short(module)
    return f"{title}\n{'=' * len(title)}\n\n.. automodule:: {module}\n"


def _short(module: str) -> str:
    """A module as one writes it after `import lineament as la`, without the first name."""
    return module.removeprefix("lineament.")
