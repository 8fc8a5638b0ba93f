"""What is changed: for each node of a syntax tree, the nodes that could stand in its place by mistake.

A mutant is one such change. It is known by a digest of where it stands (module, function) and of what it changes, not by
its line, so that a list of equivalent mutants outlives edits elsewhere in the file.
"""

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add, ast.MatMult: ast.Mult,
}  # fmt: skip
OPPOSITE = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
BOUNDARY = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
TWINS = {
    "max": "min", "maximum": "minimum", "fmax": "fmin", "argmax": "argmin", "all": "any", "sin": "cos", "sinh": "cosh",
    "ceil": "floor", "sum": "mean", "logical_and": "logical_or", "cumsum": "cumprod",
}  # fmt: skip
TWINS |= {twin: name for name, twin in TWINS.items()}
WRAPPERS = {"sqrt", "exp", "log", "log1p", "expm1", "abs", "square", "sign", "tanh", "norm"}
UNSEEN = ("strict", "optimize", "check_finite", "overwrite_a", "overwrite_b")
"""Arguments of `zip`, NumPy and SciPy that assert something, or decide about speed alone."""
OTHER_FACTOR = 1.01
"""A wrong constant that no loose comparison forgives: one per cent off."""


class Mutant(NamedTuple):
    """One change: its digest, where it stands, its kind, and what is written there before and after.

    `lines` are those of the statement around it, or of the statement's head, which run if the change is met at all;
    `statement` is that statement's code, or its first line.
    """

    key: str
    module: str
    function: str
    line: int
    lines: range
    kind: str
    before: str
    after: str
    statement: str = ""


class Site(NamedTuple):
    """A node, the list or field of its parent that holds it, the function around it, and its statement with its lines."""

    node: ast.AST
    parent: ast.AST
    field: str
    place: int | None
    function: str
    lines: range
    statement: str = ""


def mutants(source: str, module: str) -> Iterator[Mutant]:
    """Every mutant of a module, in the order of its lines."""
    return (mutant for mutant, _, _ in _changes(ast.parse(source), module))


def mutated(source: str, mutant: Mutant) -> str:
    """A module with one of its mutants."""
    tree = ast.parse(source)
    _, site, replacement = next(change for change in _changes(tree, mutant.module) if change[0].key == mutant.key)
    put(site, ast.copy_location(replacement, site.node))
    return ast.unparse(ast.fix_missing_locations(tree))


def _changes(tree: ast.Module, module: str) -> Iterator[tuple[Mutant, Site, ast.AST]]:
    seen: Counter[tuple[str, ...]] = Counter()
    for site in list(sites(tree, "", range(0), "")):
        for kind, replacement in replacements(site.node):
            before, after = ast.unparse(site.node), ast.unparse(replacement)
            what = (module, site.function, kind, before, after)
            seen[what] += 1
            key = hashlib.sha256("\0".join((*what, str(seen[what]))).encode()).hexdigest()[:8]
            line = getattr(site.node, "lineno", 0)
            mutant = Mutant(key, module, site.function, line, site.lines, kind, before, after, site.statement)
            yield mutant, site, replacement


def put(site: Site, node: ast.AST) -> None:
    """Set a node in the place of another."""
    if site.place is None:
        setattr(site.parent, site.field, node)
    else:
        getattr(site.parent, site.field)[site.place] = node


def sites(parent: ast.AST, function: str, lines: range, statement: str) -> Iterator[Site]:
    """All nodes that compute: no annotations, docstrings, imports, assertions, nor what only a type checker reads."""
    for field, value in ast.iter_fields(parent):
        if field in ("annotation", "returns", "decorator_list", "type_params", "bases", "keywords") and not isinstance(
            parent, ast.Call
        ):
            continue
        for place, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(node, ast.AST) or _silent(node):
                continue
            inner = (
                f"{function}.{node.name}".lstrip(".") if isinstance(node, ast.FunctionDef | ast.ClassDef) else function
            )
            around, code = lines, statement
            if isinstance(node, ast.stmt):
                around, code = head(node), ast.unparse(node).partition("\n")[0]
            yield Site(node, parent, field, place, inner, around, code)
            yield from sites(node, inner, around, code)


def head(statement: ast.stmt) -> range:
    """The lines of a statement, without those of the statements inside it."""
    body = getattr(statement, "body", None)
    last = max(statement.lineno, body[0].lineno - 1) if body else statement.end_lineno or statement.lineno
    return range(statement.lineno, last + 1)


def _silent(node: ast.AST) -> bool:
    """Whether a node says something and computes nothing: errors' words, docstrings, imports, `__all__`, assertions."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.keyword):
        return node.arg in UNSEEN
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    return isinstance(node, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom | ast.JoinedStr) or (
        isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("__all__", "__doc__")
    )


def replacements(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What might stand there by mistake, with the kind of the mistake."""
    match node:
        case ast.BinOp(left=left, op=op, right=right) if not _text(left) and not _text(right):
            if type(op) in ARITHMETIC:
                yield "arithmetic", ast.BinOp(left, ARITHMETIC[type(op)](), right)
            if isinstance(op, ast.Add | ast.Sub):
                yield "drop a term", left
            if isinstance(op, ast.Pow):
                yield "exponent", ast.BinOp(left, op, ast.BinOp(right, ast.Add(), ast.Constant(1)))
        case ast.UnaryOp(op=ast.USub(), operand=operand) if not isinstance(operand, ast.Constant):
            yield "sign", operand
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "condition", operand
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            yield "comparison", ast.Compare(left, [OPPOSITE[type(op)]()], [right])
            if type(op) in BOUNDARY:
                yield "boundary", ast.Compare(left, [BOUNDARY[type(op)]()], [right])
        case ast.BoolOp(op=op, values=values):
            yield "condition", ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.Constant(value=bool(value)):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield "off by one", ast.Constant(value + 1)
        case ast.Constant(value=float(value)):
            yield "constant", ast.Constant(value * OTHER_FACTOR if value else OTHER_FACTOR - 1)
        case ast.Call():
            yield from _calls(node)
        case ast.Attribute(value=value, attr="T" | "mT"):
            yield "transpose", value
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield "condition", ast.IfExp(test, orelse, body)
        case ast.If(body=body, orelse=orelse) if not all(isinstance(line, ast.Raise) for line in body):
            yield "skip a branch", ast.If(ast.Constant(False), body, orelse)
        case ast.If(test=test, body=body, orelse=orelse):
            yield "refuse nothing", ast.If(ast.Constant(False), body, orelse)
        case ast.AugAssign(target=target, op=op, value=value) if type(op) in ARITHMETIC:
            yield "arithmetic", ast.AugAssign(target, ARITHMETIC[type(op)](), value)
        case ast.Expr(value=ast.Call()):
            yield "delete", ast.Pass()


def _calls(node: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in TWINS:
        call = copy.deepcopy(node)
        if isinstance(call.func, ast.Attribute):
            call.func.attr = TWINS[name]
        else:
            call.func = ast.Name(TWINS[name], ast.Load())
        if name not in ("sum", "mean") or isinstance(node.func, ast.Attribute):  # there is no builtin `mean`
            yield "twin", call
    if name in WRAPPERS and len(node.args) == 1 and not node.keywords:
        yield "unwrap", node.args[0]
    if name in ("max", "min", "maximum", "minimum", "clip") and len(node.args) >= 2 and not node.keywords:
        yield "unclip", node.args[1] if isinstance(node.args[0], ast.Constant) else node.args[0]


def _text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
