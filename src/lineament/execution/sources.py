"""What source code a result depends on, found by reading import statements, without importing anything.

A module depends on the modules it imports, and they on theirs. A package's `__init__` that only hands names on is looked
through: `from lineament.theory import modes` depends on that one module, and so does `la.theory.modes` after `import
lineament as la`. What an import does besides giving names is not seen, nor is a module whose name is computed.
"""

import ast
import hashlib
import importlib.util
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import NamedTuple

OWN = "lineament"
SHOWN = ("lineament.report", "lineament.cli", "lineament.execution", "lineament.__main__")
"""Decide what is shown and kept, not what is found."""
Chain = tuple[str, ...]


class Closure(NamedTuple):
    """Modules of this package and of the user's own, each with a digest of its code; packages of others by name."""

    modules: dict[str, str]
    packages: frozenset[str]


class Needs(NamedTuple):
    """What one piece of code imports: modules of its own project, and packages of others."""

    modules: frozenset[str]
    packages: frozenset[str]


NOTHING = Needs(frozenset(), frozenset())


class Code(NamedTuple):
    """A module as written: its name, whether it is a package, its syntax tree, and a digest of what it does."""

    name: str
    package: bool
    tree: ast.Module
    digest: str


class SourceError(ValueError):
    """A module that others depend on cannot be read as Python."""


def closure(needs: Iterable[str], packages: Iterable[str] = ()) -> Closure:
    """All that some modules depend on, themselves included."""
    found: dict[str, str] = {}
    foreign, waiting = set(packages), list(needs)
    while waiting:
        name = waiting.pop()
        code = read(name)
        if name in found or code is None or name.startswith(SHOWN):
            continue
        found[name] = code.digest
        own = _needs_of(name, code.digest)
        foreign |= own.packages
        waiting += own.modules
    return Closure(dict(sorted(found.items())), frozenset(foreign))


def read(name: str) -> Code | None:
    """The code of a module of this package or of the user's own; None for those of others."""
    spec = _locate(name)
    if spec is None or not _ours(name, spec) or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    path = Path(spec.origin)
    status = path.stat()
    return _read(name, path, spec.submodule_search_locations is not None, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=4096)
def _read(name: str, path: Path, package: bool, *version: int) -> Code:
    content = path.read_bytes()
    try:
        return Code(name, package, ast.parse(content), digest(content))
    except (SyntaxError, ValueError, RecursionError) as error:  # a null byte is a ValueError
        raise SourceError(f"{str(path)!r} is no Python: {error}") from error


def digest(source: str | bytes) -> str:
    """A name for what code does: the same after comments, docstrings, line breaks and blank lines have changed."""
    dumped = ast.dump(_WithoutDocstrings().visit(ast.parse(source)))
    return hashlib.sha256(dumped.encode()).hexdigest()[:32]


class _WithoutDocstrings(ast.NodeTransformer):
    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        body = getattr(node, "body", None)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and body:
            first = body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(body) > 1:
                node.body = body[1:]
        return node


@lru_cache(maxsize=4096)
def _needs_of(name: str, digest: str) -> Needs:
    code = read(name)
    return NOTHING if code is None else needs(code.tree, name if code.package else name.rpartition(".")[0])


def needs(tree: ast.AST, package: str) -> Needs:
    """What a piece of code imports, and which parts of the packages among that it uses."""
    bound = _imports(tree, package, typing=False)
    modules: set[str] = set()
    foreign: set[str] = set()
    used = chains(tree)
    for local, (module, name) in bound.items():
        for chain in used.get(local, [()]):
            found = follow(module, (*((name,) if name else ()), *chain))
            modules |= found.modules
            foreign |= found.packages
    return Needs(frozenset(modules), frozenset(foreign))


def chains(tree: ast.AST) -> dict[str, list[Chain]]:
    """How each name is used: the attributes read off it, such as ("theory", "modes") of `la.theory.modes`."""
    found: dict[str, list[Chain]] = {}
    inner: set[ast.AST] = set()
    for node in ast.walk(tree):
        attributes: list[str] = []
        base = node
        while isinstance(base, ast.Attribute):
            attributes.append(base.attr)
            inner.add(base.value)
            base = base.value
        if isinstance(base, ast.Name) and node not in inner:
            found.setdefault(base.id, []).append(tuple(reversed(attributes)))
    return found


def follow(module: str, chain: Chain) -> Needs:
    """What reading attributes one after the other off a module leads to."""
    spec = _locate(module)
    if spec is None:
        return NOTHING
    if not _ours(module, spec):
        top = module.partition(".")[0]
        return NOTHING if top in sys.stdlib_module_names else Needs(frozenset(), frozenset({top}))
    if spec.submodule_search_locations is None:
        return Needs(frozenset({module}), frozenset())
    if not chain:  # the package itself is handed on: all that it imports may be used
        return _whole(module)
    first, *rest = chain
    if _locate(f"{module}.{first}") is not None:
        return follow(f"{module}.{first}", tuple(rest))
    code = read(module)
    exported = {} if code is None else _exports(module, code.digest)
    if first in exported:
        home, name = exported[first]
        return follow(home, (*((name,) if name else ()), *rest))
    return Needs(frozenset({module}), frozenset())


@lru_cache(maxsize=1024)
def _exports(module: str, digest: str) -> dict[str, tuple[str, str]]:
    code = read(module)
    return {} if code is None else _imports(code.tree, module, typing=True)


def _whole(package: str) -> Needs:
    code = read(package)
    modules, foreign = {package}, set[str]()
    for home, name in () if code is None else _exports(package, code.digest).values():
        if home != package or _locate(f"{home}.{name}") is not None:
            found = follow(home, (name,) if name else ())
            modules |= found.modules
            foreign |= found.packages
    return Needs(frozenset(modules), frozenset(foreign))


def _imports(tree: ast.AST, package: str, typing: bool) -> dict[str, tuple[str, str]]:
    """Local names and what they are bound to: (module, "") for a module, (module, name) for a name in it."""
    bound: dict[str, tuple[str, str]] = {}
    for node in _statements(tree, typing):
        if isinstance(node, ast.Import):
            for alias in node.names:
                # `import a.b` binds a, and loads a.b: both are needed.
                bound[alias.asname or alias.name] = (alias.name, "")
                if alias.asname is None and "." in alias.name:
                    bound.setdefault(alias.name.partition(".")[0], (alias.name, ""))
        elif isinstance(node, ast.ImportFrom):
            home = _absolute(node, package)
            for alias in node.names:
                bound[alias.asname or alias.name] = (home, "" if alias.name == "*" else alias.name)
    return bound


def _statements(tree: ast.AST, typing: bool) -> Iterator[ast.AST]:
    """All nodes, without what only type checkers import unless it is asked for."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If) and not typing and "TYPE_CHECKING" in ast.dump(node.test):
            waiting += node.orelse
        else:
            waiting += ast.iter_child_nodes(node)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    base = ".".join(parts[: len(parts) - node.level + 1])
    return f"{base}.{node.module}" if node.module else base


def _locate(name: str) -> ModuleSpec | None:
    """Where a module lies; the packages it is in are not imported for that."""
    top, *rest = name.split(".")
    spec = _top(top)
    for place in range(len(rest)):
        if spec is None or spec.submodule_search_locations is None:
            return None
        locations = list(spec.submodule_search_locations)
        spec = _below(".".join((top, *rest[: place + 1])), tuple(locations))
    return spec


@lru_cache(maxsize=8192)
def _below(name: str, locations: tuple[str, ...]) -> ModuleSpec | None:
    return PathFinder.find_spec(name, list(locations))


def _top(name: str) -> ModuleSpec | None:
    if not name or name == "__main__":
        return None
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None


def _ours(name: str, spec: ModuleSpec) -> bool:
    """Whether a module is of this package or of the user's own: nobody else's and not Python's."""
    top = name.partition(".")[0]
    if top == OWN:
        return True
    where = spec.origin or next(iter(spec.submodule_search_locations or ()), None)
    if where is None or top in sys.stdlib_module_names:
        return False
    path = Path(where)
    return not any(part in ("site-packages", "dist-packages") for part in path.parts) and not any(
        path.is_relative_to(root) for root in _standard()
    )


@cache
def _standard() -> tuple[str, ...]:
    return tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")})
