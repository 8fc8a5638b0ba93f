"""What an experiment depends on: its own source, what it uses of its module, the modules it imports, and its constants.

The function itself is looked at, not only its file, so that a grid or a figure that stands beside it in a script or a
notebook may change without making its results stale.
"""

import ast
import functools
import hashlib
import inspect
import json
import textwrap
from collections.abc import Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from . import sources


class Dependence:
    """Collects what functions depend on.

    Attributes:
        text: The source of each function that was looked at, by name.
        digests: A digest of each of them, and of each constant that they use.
    """

    def __init__(self) -> None:
        self.text: dict[str, str] = {}
        self.digests: dict[str, str] = {}
        self._modules: set[str] = set()
        self._packages: set[str] = set()
        self._seen: set[int] = set()

    def closure(self) -> sources.Closure:
        """The modules that were imported, with all that they import."""
        return sources.closure(self._modules, self._packages)

    def add(self, name: str, value: Any, *, own: bool = False) -> None:
        """Look at a function, or at a constant that a function uses.

        Args:
            name: What it is called.
            value: The function or the constant.
            own: Whether a function is looked at itself, wherever it stands; of others the whole module counts.
        """
        if isinstance(value, functools.partial):
            self.add(name, value.func, own=own)
            for key, part in {**dict(enumerate(value.args)), **value.keywords}.items():
                self.add(f"{name}({key})", part)
        elif isinstance(value, ModuleType):
            self._need(sources.follow(value.__name__, ()))
        elif isinstance(value, FunctionType | type) or hasattr(value, "__wrapped__"):
            self._add_code(name, inspect.unwrap(value), own)
        elif inspect.ismethod(value):
            self.add(name, value.__func__, own=own)
            self.add(f"{name}.self", value.__self__)
        else:
            if type(value).__module__ != "builtins":
                self._need(sources.follow(type(value).__module__, ()))
            self.digests[name] = content(value)

    def _add_code(self, name: str, value: Any, own: bool) -> None:
        module = getattr(value, "__module__", "") or ""
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        if own or module in ("__main__", ""):  # what has no file of its own is looked at too
            self._read(name, value, module)
        else:
            self._need(sources.follow(module, ()))

    def _read(self, name: str, value: Any, module: str) -> None:
        try:
            text = source(value)
            tree = ast.parse(text)
            self.digests[name] = sources.digest(text)
        except (OSError, TypeError, SyntaxError):  # typed at a prompt
            text, tree = "", ast.Module([], [])
            self.digests[name] = hashlib.sha256(repr(_code(value)).encode()).hexdigest()[:32]
        self.text[name] = text
        self._need(sources.needs(tree, module.rpartition(".")[0]))
        used = sources.chains(tree)
        for other, part in _names_used(value).items():
            if isinstance(part, ModuleType):
                for chain in used.get(other, [()]):
                    self._need(sources.follow(part.__name__, chain))
            else:
                beside = isinstance(part, FunctionType | type) and part.__module__ == module
                self.add(other, part, own=beside)  # a helper in the same file is looked at itself

    def _need(self, needs: sources.Needs) -> None:
        self._modules |= needs.modules
        self._packages |= needs.packages


def source(function: Any) -> str:
    """The source of a function; of a lambda only itself, not the statement that it stands in."""
    if getattr(function, "__name__", "") != "<lambda>":
        return textwrap.dedent(inspect.getsource(function))
    lines, _ = inspect.findsource(function)
    code = function.__code__
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    written = {
        ast.unparse(node)
        for node in ast.walk(ast.parse("".join(lines)))
        if isinstance(node, ast.Lambda)
        and node.lineno == code.co_firstlineno
        and tuple(a.arg for a in (*node.args.args, *node.args.kwonlyargs)) == arguments
    }
    if len(written) != 1:
        raise OSError("several functions stand in this line")
    return written.pop()


def _names_used(value: Any) -> dict[str, Any]:
    """The globals, closed-over variables and defaults that a function, or a class's methods, use."""
    if isinstance(value, type):
        methods = [part for part in vars(value).values() if isinstance(part, FunctionType)]
        return {name: part for method in methods for name, part in _names_used(method).items()}
    if not isinstance(value, FunctionType):
        return {}
    names = {name for code in _codes(value.__code__) for name in code.co_names}
    found = {name: value.__globals__[name] for name in sorted(names) if name in value.__globals__}
    cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
    found |= {name: cell.cell_contents for name, cell in cells}
    defaults = {f"default {i}": part for i, part in enumerate(value.__defaults__ or ())}
    return found | defaults | (value.__kwdefaults__ or {})


def _codes(code: CodeType) -> list[CodeType]:
    inner = [part for constant in code.co_consts if isinstance(constant, CodeType) for part in _codes(constant)]
    return [code, *inner]


def _code(value: Any) -> Any:
    """What a function without a source does."""
    codes = _codes(value.__code__) if isinstance(value, FunctionType) else []
    constants = lambda code: [c for c in code.co_consts if not isinstance(c, CodeType)]  # noqa: E731
    return [(code.co_code, constants(code), code.co_names) for code in codes] or repr(value)


def content(value: Any) -> str:
    """A name for a constant by its content: arrays by their bytes, containers by their parts."""
    return hashlib.sha256(_bytes(value)).hexdigest()[:32]


def _bytes(value: Any) -> bytes:
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | range):
        return repr(value).encode()
    if isinstance(value, np.generic | np.ndarray) or (hasattr(value, "__array__") and hasattr(value, "dtype")):
        return _of_array(value)
    if isinstance(value, Mapping):
        return b"{" + b",".join(_bytes(key) + b":" + _bytes(part) for key, part in value.items()) + b"}"
    if isinstance(value, set | frozenset):
        return b"{" + b",".join(sorted(map(_bytes, value))) + b"}"
    if isinstance(value, list | tuple):
        return type(value).__name__.encode() + b"(" + b",".join(map(_bytes, value)) + b")"
    fields = getattr(value, "__dataclass_fields__", None)
    if fields:  # models, problems and settings are such
        return type(value).__qualname__.encode() + _bytes({name: getattr(value, name) for name in fields})
    import cloudpickle  # only to compare: what it gives is neither kept nor read back

    return cloudpickle.dumps(value)


def _of_array(value: Any) -> bytes:
    if not isinstance(value, np.generic | np.ndarray) and "key<" in str(value.dtype):  # a JAX key of the new kind
        import jax

        value = jax.random.key_data(value)
    array = np.asarray(value)
    if array.dtype.hasobject:
        return _bytes(array.tolist())
    return json.dumps([array.dtype.str, array.shape]).encode() + np.ascontiguousarray(array).tobytes()


def name_of(experiment: Any) -> str:
    """What an experiment is called."""
    if isinstance(experiment, functools.partial):
        return name_of(experiment.func)
    if isinstance(name := getattr(experiment, "name", None), str):
        return name
    return getattr(experiment, "__qualname__", None) or type(experiment).__qualname__
