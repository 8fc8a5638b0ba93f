"""One classic script out of ES modules: pages opened from disk may not import one module from another.

Each module becomes a function that is called once, in the order of the imports; what it exports is handed to those that
ask for it. Only the forms that the explorer uses are understood; anything else is refused, so that nothing is left out in
silence: `import { a, b as c } from "./x.js"`, `import * as x from "./x.js"`, `export function | class | const`.
"""

import re
from importlib.resources.abc import Traversable
from posixpath import dirname, join, normpath

_IMPORT = re.compile(r'^import (?:\* as (\w+)|\{([^}]*)\}) from "(\.[^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) )(.*)$", re.MULTILINE)
_OTHER = re.compile(r"^(?:import\b.*[\"'].*|export\b.*)$", re.MULTILINE)  # Python in a template has no quotes here
_NAMES = re.compile(r"^export (?:async )?(?:function\*?|class|const) (\w+)", re.MULTILINE)


def bundle(folder: Traversable, entry: str) -> str:
    """The script of a module and of all that it imports.

    Args:
        folder: Where the modules are.
        entry: The path of the first module in it.

    Raises:
        ValueError: If a module has an import or export of another form, asks for a name that is not exported, or is
            part of a circle.
    """
    scripts: dict[str, tuple[str, frozenset[str]]] = {}
    _visit(folder, entry, scripts, ())
    return '(() => {\n"use strict";\n' + "\n".join(text for text, _ in scripts.values()) + "\n})();\n"


def _visit(
    folder: Traversable, path: str, scripts: dict[str, tuple[str, frozenset[str]]], above: tuple[str, ...]
) -> None:
    if path in above:
        raise ValueError(f"modules must not import each other in a circle; got {' → '.join((*above, path))}")
    if path in scripts:
        return
    source = folder.joinpath(*path.split("/")).read_text(encoding="utf-8")

    def imported(statement: re.Match[str]) -> str:
        whole, names, address = statement.groups()
        module = normpath(join(dirname(path), address))
        _visit(folder, module, scripts, (*above, path))
        if whole:
            return f"const {whole} = {_variable(module)};\n"
        pairs = [part.strip().split(" as ") for part in names.split(",") if part.strip()]
        missing = [pair[0] for pair in pairs if pair[0] not in scripts[module][1]]
        if missing:
            raise ValueError(f"{path} imports {', '.join(missing)} from {module}, which does not export it")
        return f"const {{ {', '.join(': '.join(pair) for pair in pairs)} }} = {_variable(module)};\n"

    body = _IMPORT.sub(imported, source)
    exports = _NAMES.findall(body)
    body = _EXPORT.sub(r"\1", body)
    left = _OTHER.search(body)
    if left:
        raise ValueError(f"{path} must import and export in the forms that the bundler knows; got {left.group()!r}")
    head = f"// {path}\nconst {_variable(path)} = (() => {{\n"
    scripts[path] = (f"{head}{body}return {{ {', '.join(exports)} }};\n}})();", frozenset(exports))


def _variable(path: str) -> str:
    return "$" + re.sub(r"\W", "_", path.removesuffix(".js"))
