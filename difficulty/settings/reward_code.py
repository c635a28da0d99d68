"""The code of a reward function, hashed without running it."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from difficulty.errors import SettingsError


def code_hash(path: Path) -> str:
    """SHA-256 (hex) over a Python file and the modules beside it that it imports.

    Raises:
        SettingsError: the file is missing, unreadable or no Python.
    """
    digest = hashlib.sha256()
    for file, code in sorted(_local_code(path).items()):
        name = file.relative_to(path.parent).as_posix()
        digest.update(f"{name}\0{len(code)}\0".encode())
        digest.update(code)
    return digest.hexdigest()


def _local_code(path: Path) -> dict[Path, bytes]:
    """Every file of the code: imports are followed as far as they stay in the file's folder."""
    found = {path: _read(path)}
    _parse_code(path, found[path])
    todo = [path]
    while todo:
        file = todo.pop()
        for module in _imports(file, found[file], path.parent):
            if module not in found:
                found[module] = _read(module)
                todo.append(module)
    return found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise SettingsError(f"reward file is missing: {path}. Check the path") from error
    except OSError as error:
        raise SettingsError(
            f"reward file cannot be read: {path} ({error.strerror}). Check it"
        ) from error


def _parse_code(path: Path, code: bytes) -> ast.Module:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        where = "" if line is None else f", line {line}"
        what = getattr(error, "msg", None) or str(error)
        raise SettingsError(
            f"reward file is no Python: {path}{where}: {what}. Correct it"
        ) from error


def _imports(file: Path, code: bytes, folder: Path) -> Iterator[Path]:
    """Files in ``folder`` that the module imports; one that is no Python imports nothing."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _module_files(folder, alias.name)
        elif isinstance(node, ast.ImportFrom):
            start = folder if node.level == 0 else file.parents[node.level - 1]
            if start.is_relative_to(folder):
                for alias in node.names:
                    yield from _module_files(start, f"{node.module or ''}.{alias.name}")


def _module_files(start: Path, dotted: str) -> Iterator[Path]:
    """``a.b`` -> a.py, a/__init__.py, a/b.py, a/b/__init__.py, as far as they are there."""
    place = start
    for part in filter(None, dotted.split(".")):
        place = place / part
        for candidate in (place.with_name(f"{part}.py"), place / "__init__.py"):
            if candidate.is_file():
                yield candidate


@dataclass(frozen=True, kw_only=True)
class Signature:
    """How a function wants to be called, as its definition says; nothing of it is run."""

    style: str | None
    """``trl`` or ``verl``; null where no plain definition of that name is found."""
    is_class: bool = False
    """A class, of which trainers make an object without arguments."""
    is_async: bool = False
    takes_prompts: bool = False
    takes_all: bool = True
    """It has ``**kwargs``."""
    columns: tuple[str, ...] = ()
    """Columns that a function of TRL's kind names."""


GIVEN_BY_TRL = ("prompts", "completions", "completion_ids", "trainer_state")
UNKNOWN = Signature(style=None)


def signature_of(path: Path, name: str) -> Signature:
    """What the definition ``name`` in a file takes; unknown where it is not read at once."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return UNKNOWN
    names = {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    node = names.get(name) or names.get(_class_of(tree, name) or "")
    if isinstance(node, ast.ClassDef):
        call = next((part for part in node.body if getattr(part, "name", "") == "__call__"), None)
        if not isinstance(call, ast.FunctionDef | ast.AsyncFunctionDef):
            return UNKNOWN
        return replace(_signature(call), is_class=name in names)
    return UNKNOWN if node is None else _signature(node)


def _class_of(tree: ast.Module, name: str) -> str | None:
    """Of ``name = Class(...)`` at the top of a file, the class."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            targets = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if name in targets and isinstance(node.value.func, ast.Name):
                return node.value.func.id
    return None


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Signature:
    names = [each.arg for each in (*node.args.args, *node.args.kwonlyargs) if each.arg != "self"]
    style = "trl" if "completions" in names else "verl" if "solution_str" in names else None
    return Signature(
        style=style,
        is_async=isinstance(node, ast.AsyncFunctionDef),
        takes_prompts="prompts" in names or node.args.kwarg is not None,
        takes_all=node.args.kwarg is not None,
        columns=tuple(each for each in names if each not in GIVEN_BY_TRL),
    )
