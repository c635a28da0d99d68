"""The code of a reward function, hashed without running it."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
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
