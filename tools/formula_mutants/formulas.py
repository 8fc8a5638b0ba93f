"""What is changed in a formula: a sign, an exponent, a factor, a constant by one per cent.

Only arithmetic that computes a value is changed. Shapes, indices, ranges, keyword arguments, defaults, functions that
return a whole number or whether something is so, conditions of branches and loops, what is refused and what an error
says are left alone, and so are tolerances: constants so small, and what is reckoned with the precision of float64
(`np.finfo`). A change there is no other formula.
"""

import ast
import hashlib
from collections.abc import Container, Iterator
from typing import NamedTuple

from ..mutants.operators import Site, put

MODULES = ("theory", "measure")
"""Where the formulas are: what is forecast, and what is read off a run."""
SHAPES = {
    "range", "reshape", "zeros", "ones", "full", "empty", "eye", "linspace", "geomspace", "logspace", "arange", "split",
    "int", "len", "round", "slice", "tile", "repeat", "moveaxis", "swapaxes", "leggauss", "hermegauss", "chebpts2",
}  # fmt: skip
"""Functions whose arguments say how many or where, not what."""
REFUSALS = {"refuse", "_refuse_long"}
"""Functions that refuse arguments, as all of `arguments` do: what they are given says what is allowed."""
TOLERANCE = 1e-5
ROOTS = {"sqrt", "cbrt"}
Replacement = tuple[str, ast.expr]


class Mutant(NamedTuple):
    """One change: its digest, where it stands, its kind, what is written there, and the whole changed module."""

    key: str
    module: str
    function: str
    line: int
    kind: str
    before: str
    after: str
    source: str


def formula_mutants(source: str, module: str, lines: Container[int]) -> Iterator[Mutant]:
    """Every mutant of the formulas on some lines of a module, in the order of the lines."""
    tree = ast.parse(source)
    seen: dict[tuple[str, ...], int] = {}
    for site in list(arithmetic(tree)):
        line = getattr(site.node, "lineno", 0)
        if line not in lines or not isinstance(site.node, ast.expr):
            continue
        for kind, replacement in changes(site.node, site.parent):
            before, after = ast.unparse(site.node), ast.unparse(replacement)
            what = (module, site.function, kind, before, after)
            seen[what] = seen.get(what, 0) + 1
            put(site, ast.copy_location(replacement, site.node))
            changed = ast.unparse(ast.fix_missing_locations(tree))
            put(site, site.node)
            key = hashlib.sha256("\0".join((*what, str(seen[what]))).encode()).hexdigest()[:8]
            yield Mutant(key, module, site.function, line, kind, before, after, changed)


def arithmetic(parent: ast.AST, function: str = "") -> Iterator[Site]:
    """All nodes inside functions that compute a value, each with the function around it."""
    for field, value in ast.iter_fields(parent):
        if _aside(parent, field):
            continue
        for place, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(node, ast.AST) or isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Slice):
                continue
            if isinstance(node, ast.BinOp) and _precision(node):
                continue
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                if not _decides(node):
                    yield from arithmetic(node, f"{function}.{node.name}".lstrip("."))
                continue
            if function:
                line = getattr(node, "lineno", 0)
                yield Site(node, parent, field, place, function, range(line, line + 1))
            yield from arithmetic(node, function)


def _decides(node: ast.FunctionDef | ast.ClassDef) -> bool:
    """Whether a function returns no value of a formula: whether, how many, where, or nothing at all."""
    returns = node.returns if isinstance(node, ast.FunctionDef) else None
    return returns is not None and ast.unparse(returns) in ("int", "bool", "str", "None")


def _aside(parent: ast.AST, field: str) -> bool:
    """Whether a field of a node says how many, where or what kind, and computes no value of a formula."""
    match parent:
        case ast.FunctionDef() | ast.ClassDef() | ast.Lambda():
            return field != "body"
        case ast.Subscript():
            return field == "slice"
        case ast.Call(func=func):
            name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
            spared = name in SHAPES or name in REFUSALS or ast.unparse(func).startswith("arguments.")
            return field in ("keywords", "func") or (field == "args" and spared)
        case ast.If() | ast.IfExp() | ast.While():
            return field == "test"
        case _:
            return field in ("annotation", "ops", "op", "ctx")


def changes(node: ast.expr, parent: ast.AST) -> Iterator[Replacement]:
    """What might stand there by mistake, with the kind of the mistake."""
    match node:
        case ast.BinOp(op=ast.Add()) if _words(node):
            return
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield "sign", ast.BinOp(left, ast.Sub(), right)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            yield "sign", ast.BinOp(left, ast.Add(), right)
        case ast.UnaryOp(op=ast.USub(), operand=operand) if not isinstance(operand, ast.Constant):
            yield "sign", operand
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            yield "exponent", ast.BinOp(left, ast.Pow(), ast.BinOp(right, ast.Add(), ast.Constant(1)))
        case ast.BinOp(op=ast.Mult() | ast.Div()) if not _product(parent):  # once for each product
            yield "factor", ast.BinOp(ast.Constant(2), ast.Mult(), node)
        case ast.Call(func=ast.Attribute(attr=name), args=[argument]) if name in ROOTS:
            yield "exponent", argument
        case ast.Constant(value=int() | float() as value) if _scales(parent) and abs(value) >= TOLERANCE:
            if not isinstance(value, bool):
                yield "constant", ast.Constant(round(value * 1.01, 12))
        case _:
            return


def _precision(node: ast.AST) -> bool:
    """Whether something is reckoned with the precision of float64: how much counts as rounding."""
    return any(isinstance(part, ast.Attribute) and part.attr == "finfo" for part in ast.walk(node))


def _words(node: ast.AST) -> bool:
    """Whether something is joined from pieces of text."""
    return any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in ast.walk(node))


def _product(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div)


def _scales(parent: ast.AST) -> bool:
    """Whether a constant is a term, a factor or an exponent of a formula."""
    return isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add | ast.Sub | ast.Mult | ast.Div | ast.Pow)
