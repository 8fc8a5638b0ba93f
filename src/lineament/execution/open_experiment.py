"""Open experiments: a model, a problem, a start and a way to train, with some arguments left to the grid.

Points whose models have one shape are members of one ensemble, trained by one compiled program. A point's numbers do not
depend on which others are trained beside it: where they would, it is trained alone, by the same program as its like.
"""

import contextlib
import inspect
import math
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .experiments import Dependence, content
from .grid import Point, asked_for, taking

if TYPE_CHECKING:
    from lineament.core.run import Run

    from .worker import Keeper

BATCHED = ("step_size", "key")  # what members may have of their own
GIVEN = ("model", "problem", "key")  # what the functions may ask for besides names of the grid
COPIES = 8  # parameters, gradients, updates and what a solver keeps of a member, in numbers of parameters


class Open:
    """A training with some arguments left open; made by `experiment`."""

    def __init__(self, train: Callable[..., "Run"], parts: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
        self.train, self.parts, self.arguments = train, dict(parts), dict(arguments)
        self.name = train.__name__
        given = {**self.parts, **self.arguments}
        self._asked = {name: asked_for(value, name) for name, value in given.items() if _is_open(name, value)}
        self._free = [name for name in inspect.signature(train).parameters if name not in given]  # left to the grid
        self._makers: dict[str, Callable[..., Any]] = {}
        self._shapes: dict[Any, Hashable] = {}

    def __getstate__(self) -> dict[str, Any]:
        """What travels to a worker: all but what was compiled here."""
        return {**self.__dict__, "_makers": {}, "_shapes": {}}

    def depends(self, found: Dependence) -> None:
        """Tell what it depends on."""
        found.add("train", self.train)
        for name, value in {**self.parts, **self.arguments}.items():
            found.add(name, value, own=callable(value))
        found.digests["arguments"] = content(sorted(self.arguments))

    def check(self, names: Sequence[str]) -> None:
        """Refuse a grid with a name that nothing takes, or functions of names that the grid does not have."""
        used = {name for name in self._free if name in names}
        for name, asked in self._asked.items():
            taking(self._given(name), [*names, *GIVEN], name)
            used |= set(names if asked is None else asked)
        used |= {"seed"} if "key" in used else set()
        if unused := [name for name in names if name not in used]:
            raise ValueError(
                f"grid must have names that the model, the problem, the start or {self.name} take; none takes "
                f"{', '.join(unused)}"
            )
        if "key" in used and "seed" not in names:
            raise ValueError("grid must have a name `seed` where a function takes `key`, which is made from it")

    def __call__(self, **point: Any) -> "Run":
        """Train at one point."""
        model, problem = self._made("model", point), self._made("problem", point)
        start = self._made("start", {**point, "model": model, "problem": problem})
        return self.train(model, problem, start, **self._arguments(point))

    def shape_of(self, point: Point) -> Hashable:
        """What points must share to be trained as one program: the model, and arguments that members cannot have."""
        names = [name for name in (*self.arguments, *self._free) if name in self._asked or name in point]
        names = [name for name in names if name not in BATCHED]
        deciding = tuple(point[name] for name in self._deciding(("model", *names), tuple(point)))
        if deciding not in self._shapes:
            own = {name: self._made(name, point) if name in self._asked else point[name] for name in names}
            self._shapes[deciding] = content(self._made("model", point)), content(own)
        return self._shapes[deciding]

    def _deciding(self, parts: Sequence[str], names: tuple[str, ...]) -> list[str]:
        """The names of the grid that some parts depend on."""
        used: set[str] = set()
        for part in parts:
            asked = self._asked.get(part, {part: True})
            used |= set(names if asked is None else asked)
        return [name for name in names if name in used or (name == "seed" and "key" in used)]

    def run(self, points: Sequence[Point], keeper: "Keeper") -> None:
        """Train at points of one shape and store what came of them."""
        from .worker import attempt

        if not self._apart(points[0]):
            for members in self._alike(points, keeper):
                self._together(members, keeper)
            return
        for point in points:
            keeper.add(*attempt(self, point))

    def _apart(self, point: Point) -> bool:
        """Whether a member's numbers would depend on the others, as those of a flow that ends with the last."""
        arguments = self._arguments(point)
        endless = self.name == "flow" and arguments.get("times") is None and arguments.get("until") is None
        return self.name not in ("flow", "descend") or endless

    def _alike(self, points: Sequence[Point], keeper: "Keeper") -> "list[list[_Member]]":
        """The members, those with problems of one structure together; points that cannot be made are told at once."""
        from .worker import attempt

        alike: dict[Any, list[_Member]] = {}
        model: Any = None
        for point in points:
            try:
                model = self._made("model", point) if model is None else model  # they are of one shape
                member = _Member(point, model, self._made("problem", point))
            except Exception:
                keeper.add(*attempt(self, point))  # tells why, in the words of an experiment that fails
                continue
            alike.setdefault(_structure(member.problem) if "problem" in self._asked else None, []).append(member)
        return list(alike.values())

    def _together(self, members: "list[_Member]", keeper: "Keeper") -> None:
        """Train members as ensembles that fit into memory: one that does not is halved."""
        from lineament.train import Diverged

        from .worker import attempt

        waiting, most = [members], self._fitting(members)
        while waiting:
            some = waiting.pop()
            if len(some) > most:
                size = math.ceil(len(some) / math.ceil(len(some) / most))
                waiting += [some[k : k + size] for k in range(0, len(some), size)][::-1]
                continue
            if len(some) == 1:
                keeper.add(*attempt(self, some[0].point))
                continue
            try:
                self._store(some, self._train(some), keeper)
            except Diverged:  # a flow does not say how the others fared
                half = len(some) // 2
                waiting += [some[half:], some[:half]]
            except Exception as error:
                if not _out_of_memory(error):
                    for member in some:  # each on its own tells what is wrong with which
                        keeper.add(*attempt(self, member.point))
                    continue
                most = max(1, len(some) // 2)
                waiting.append(some)

    def _train(self, members: "list[_Member]") -> "Run":
        from lineament.core.ensembles import stack
        from lineament.core.keys import as_key

        shared = "problem" not in self._asked
        problem = members[0].problem if shared else stack([member.problem for member in members])
        start = self._starts(members)
        arguments = self._arguments(members[0].point)
        own = [self._arguments(member.point) for member in members]
        if "step_size" in self._asked or "step_size" in members[0].point:
            arguments["step_size"] = np.asarray([each["step_size"] for each in own], float)
        if arguments.get("key") is not None:  # as each would draw alone, not split for an ensemble
            arguments["key"] = stack([as_key(each["key"]) for each in own])
        if self.name == "descend":
            arguments.setdefault("on_divergence", "keep")
        elif arguments.get("atol") is None:
            arguments["atol"] = _smallest_atol(start, arguments.get("rtol", 1e-8))
        return self.train(members[0].model, problem, start, **arguments)

    def _starts(self, members: "list[_Member]") -> Any:
        """The start of every member: all of them at once, or one by one where the function needs plain numbers."""
        import jax
        import jax.numpy as jnp

        from lineament.core.ensembles import Ensemble, stack

        model, given = members[0].model, self.parts["start"]
        if "start" not in self._asked:
            return Ensemble(jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (len(members), *leaf.shape)), given))
        asked = self._asked["start"] or {}
        numbers = [name for name in asked if name in members[0].point]
        columns = {name: [member.point[name] for member in members] for name in numbers}
        if "key" in asked:
            columns["key"] = [member.point["seed"] for member in members]
        plain = all(isinstance(v, int | float) and not isinstance(v, bool) for c in columns.values() for v in c)
        if plain and columns and "problem" not in asked:
            axes = [
                jax.vmap(jax.random.key)(jnp.asarray(column)) if name == "key" else jnp.asarray(column)
                for name, column in columns.items()
            ]
            with contextlib.suppress(Exception):  # it needs plain numbers, or is wrong: then it says so below
                return Ensemble(self._maker(model, tuple(columns), "model" in asked)(*axes))
        return stack([self._made("start", {**m.point, "model": m.model, "problem": m.problem}) for m in members])

    def _maker(self, model: Any, names: tuple[str, ...], wants_model: bool) -> Callable[..., Any]:
        """The start of all members as one program, which is compiled once for each model."""
        import equinox as eqx

        key, given = content(model), self.parts["start"]
        if key not in self._makers:
            fixed = {"model": model} if wants_model else {}
            make = lambda *own: given(**fixed, **dict(zip(names, own, strict=True)))  # noqa: E731
            self._makers[key] = eqx.filter_jit(eqx.filter_vmap(make))
        return self._makers[key]

    def _store(self, members: "list[_Member]", run: "Run", keeper: "Keeper") -> None:
        from .parts import DIVERGED, DONE, Row
        from .values import Variable, variables

        found = variables(run)
        seconds = keeper.lap() / len(members)
        for place, member in enumerate(members):
            own = {
                name: Variable(v.dims[1:], v.array[place], v.coordinate) if v.dims[:1] == ("member",) else v
                for name, v in found.items()
            }
            at = int(own["diverged_at"].array) if "diverged_at" in own else -1
            reason = f"diverged at step {at}" if at >= 0 else ""
            keeper.add(Row(dict(member.point), DIVERGED if reason else DONE, reason, seconds), own)

    def _fitting(self, members: "list[_Member]") -> int:
        """How many members fit into half of the memory, by the numbers they hold and the records they leave."""
        import jax

        from lineament.train.records import evaluate, resolve
        from lineament.train.steps import recorded_steps

        first = members[0]
        try:
            arguments = self._arguments(first.point)
            start = self._made("start", {**first.point, "model": first.model, "problem": first.problem})
            records = resolve(arguments.get("record", ("loss",)), first.model, first.problem, start)
            seen = jax.eval_shape(lambda p: evaluate(records, first.model, first.problem, p), start)
            if self.name == "flow":
                times = arguments.get("times")
                count = 256 if times is None else len(times)
            else:
                count = len(recorded_steps(arguments["steps"], arguments.get("every"), arguments.get("at")))
        except Exception:
            return len(members)  # it will say what is wrong when it is run
        numbers = COPIES * _bytes(start) + 3 * count * _bytes(seen)
        return max(1, int(_memory() / 2 / max(numbers, 1)))

    def _arguments(self, point: Mapping[str, Any]) -> dict[str, Any]:
        given = {name: self._made(name, point) for name in self.arguments}
        return given | {name: point[name] for name in self._free if name in point}

    def _given(self, name: str) -> Any:
        return self.parts[name] if name in self.parts else self.arguments[name]

    def _made(self, name: str, names: Mapping[str, Any]) -> Any:
        """A part or an argument at one point."""
        if name not in self._asked:
            return self._given(name)
        asked = self._asked[name]
        if asked is None:
            return self._given(name)(**names)
        if "key" in asked and "seed" in names:
            import jax

            names = {**names, "key": jax.random.key(names["seed"])}
        return self._given(name)(**{each: names[each] for each in asked if each in names})


class _Member:
    def __init__(self, point: Point, model: Any, problem: Any) -> None:
        self.point, self.model, self.problem = point, model, problem


def experiment(train: Callable[..., "Run"], model: Any, problem: Any, start: Any, **arguments: Any) -> Open:
    """Leave some arguments of a training open, for `sweep` to fill in from its grid.

    For instance::

        training = la.experiment(
            la.descend,
            model=lambda depth: la.models.DeepLinear((8,) * (depth + 1)),
            problem=la.problems.regression(X, Y),
            start=lambda model, key, start_scale: la.starts.gaussian(model, key, start_scale=start_scale),
            steps=1000,
        )
        grid = dict(depth=[1, 2, 3], start_scale=np.geomspace(1e-6, 1, 25), step_size=[0.01, 0.1], seed=range(20))
        table = la.sweep(training, grid, store="runs/")

    Points whose models are the same are trained at once: there are as many compilations as shapes, not as points.

    Args:
        train: `lineament.flow` or `lineament.descend`.
        model: What is trained, or a function of names of the grid that makes it.
        problem: What is to be learnt, or a function of names of the grid.
        start: The parameters to begin with, or a function of names of the grid, `model`, `problem`, and `key`, which is
            made from the grid's `seed`.
        arguments: Further arguments of `train`: values, or functions of names of the grid. Those that are not given are
            taken from the grid where it has their name, such as `step_size`.
    """
    if getattr(train, "__name__", "") not in ("flow", "descend"):
        raise ValueError(f"train must be lineament.flow or lineament.descend; got {train!r}")
    unknown = [name for name in arguments if name not in inspect.signature(train).parameters]
    if unknown:
        raise ValueError(f"arguments must be those of {train.__name__}; it does not take {', '.join(unknown)}")
    from lineament.core.arguments import shown
    from lineament.core.ensembles import Ensemble
    from lineament.core.model import AbstractModel
    from lineament.problems.base import AbstractProblem

    for name, part, kinds in (("model", model, AbstractModel), ("problem", problem, AbstractProblem | Ensemble)):
        if not callable(part) and not isinstance(part, kinds):
            raise ValueError(f"{name} must be a {name} of lineament, or a function that makes one; got {shown(part)}")
    return Open(train, {"model": model, "problem": problem, "start": start}, arguments)


def _is_open(name: str, value: Any) -> bool:
    """Whether something is a function of the grid; optimisers, events and records are functions themselves."""
    return inspect.isfunction(value) and name not in ("optimiser", "event", "progress", "record")


def _structure(problem: Any) -> Hashable:
    import equinox as eqx
    import jax

    arrays, rest = eqx.partition(problem, eqx.is_array)
    shapes = tuple((leaf.shape, str(leaf.dtype)) for leaf in jax.tree.leaves(arrays))
    return jax.tree.structure(arrays), shapes, str(rest)


def _smallest_atol(start: Any, rtol: float) -> float:
    """Well below the entries of every member's start, as `flow` takes it for one."""
    import jax
    import jax.numpy as jnp

    leaves = jax.tree.leaves(start.stacked)
    largest = np.max([np.asarray(jnp.max(jnp.abs(leaf.reshape(len(leaf), -1)), axis=1)) for leaf in leaves], axis=0)
    sizes = largest[largest > 0]
    return float(min(1e-4 * rtol * sizes.min(), 1e-12)) if len(sizes) else 1e-12


def _out_of_memory(error: Exception) -> bool:
    return (
        isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error) or "out of memory" in str(error).lower()
    )


def _bytes(tree: Any) -> int:
    import jax

    return sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


def _memory() -> int:
    """Bytes of the device, or of the machine where the device is its processor."""
    import jax

    told = jax.devices()[0].memory_stats()
    return told["bytes_limit"] if told else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
