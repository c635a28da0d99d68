"""The exact or numeric value of an expression, and whether two expressions have the same.

Every power and factorial has a limit. Two expressions are equal if their exact values are, or if
they agree to 40 digits at fixed generic points of their symbols (an identity test in the manner of
Schwartz and Zippel). ``mpmath`` is the arithmetic that sympy itself uses.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from difficulty.grading.equal.expression import Node

DIGITS = 50
MAX_POWER = 10_000
"""Largest exponent that is evaluated exactly; larger ones are compared numerically."""
MAX_NUMERIC_POWER = 10**8
MAX_FACTORIAL = 5_000
NUM_POINTS = 6


class TooLargeError(ValueError):
    """A value would be too large to compute."""


def proportional(first: Node, second: Node) -> bool:
    """Whether one expression is a constant, not zero, times the other at all points."""
    import mpmath  # type: ignore[import-untyped]

    names = symbols(first) | symbols(second)
    if not names or symbols(first) != symbols(second) or is_zero(first, names):
        return False
    firsts, seconds = values_at_points(first, names), values_at_points(second, names)
    pairs = [
        (a, b)
        for a, b in zip(firsts, seconds, strict=True)
        if a is not None and b is not None and a != 0
    ]
    if len(pairs) < NUM_POINTS // 2 or pairs[0][1] == 0:
        return False
    with mpmath.workdps(DIGITS):
        ratio = pairs[0][1] / pairs[0][0]
        return all(close(b, a * ratio) for a, b in pairs)


def symbols(node: Node) -> frozenset[str]:
    """Names of the free symbols of an expression."""
    own = frozenset([node.name]) if node.op == "symbol" else frozenset()
    return own.union(*(symbols(arg) for arg in node.args))


def exact(node: Node) -> Fraction | None:
    """The rational value of an expression; null if it is not plainly rational or is too large."""
    if node.number is not None:
        return node.number
    values = [exact(arg) for arg in node.args]
    if node.op not in _EXACT or any(value is None for value in values):
        return None
    return _EXACT[node.op](*[value for value in values if value is not None])


def _exact_power(base: Fraction, exponent: Fraction) -> Fraction | None:
    if exponent.denominator != 1 or abs(exponent) > MAX_POWER or (base == 0 and exponent <= 0):
        return None
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if bits * abs(exponent) > 200_000:
        return None
    return base ** int(exponent)


def _exact_factorial(value: Fraction) -> Fraction | None:
    if value.denominator != 1 or not 0 <= value <= MAX_FACTORIAL:
        return None
    product = 1
    for factor in range(2, int(value) + 1):
        product *= factor
    return Fraction(product)


_EXACT: dict[str, Callable[..., Fraction | None]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -a,
    "div": lambda a, b: a / b if b else None,
    "abs": abs,
    "pow": _exact_power,
    "factorial": _exact_factorial,
    "floor": lambda a: Fraction(a.numerator // a.denominator),
    "ceil": lambda a: Fraction(-(-a.numerator // a.denominator)),
}


def values_at_points(node: Node, names: frozenset[str], *, digits: int = DIGITS) -> list[Any]:
    """The value at each fixed generic point of the symbols; null where it has none.

    Raises:
        TooLargeError: a power or a factorial is beyond the limits.
    """
    import mpmath

    values = []
    with mpmath.workdps(digits):
        for point in _points(names):
            numbers = {name: mpmath.mpf(text) for name, text in point.items()}
            values.append(_value_or_none(node, numbers, mpmath))
    return values


def _points(names: frozenset[str]) -> list[dict[str, str]]:
    """The same points for the same names, half of them with some negative coordinates."""
    if not names:
        return [{}]
    generator = random.Random(20250101)
    points = []
    for index in range(NUM_POINTS):
        point = {}
        for name in sorted(names):
            size = f"{generator.uniform(0.3, 2.9):.15f}"
            point[name] = (
                "-" + size if index >= NUM_POINTS // 2 and generator.random() < 0.6 else size
            )
        points.append(point)
    return points


def _value_or_none(node: Node, numbers: dict[str, Any], mp: Any) -> Any:
    try:
        return _value(node, numbers, mp)
    except (ZeroDivisionError, OverflowError):
        return None
    except ValueError as error:
        if isinstance(error, TooLargeError):
            raise
        return None


def _value(node: Node, numbers: dict[str, Any], mp: Any) -> Any:
    if node.number is not None:
        return mp.mpf(node.number.numerator) / node.number.denominator
    if node.op == "symbol":
        return numbers[node.name]
    constants = {"pi": mp.pi, "e": mp.e, "i": mp.mpc(0, 1), "infty": mp.inf}
    if node.op in constants:
        return +constants[node.op] if node.op in {"pi", "e"} else constants[node.op]
    args = [_value(arg, numbers, mp) for arg in node.args]
    if node.op == "function":
        return _function(node.name, args, mp)
    if node.op == "call":
        seed = sum(ord(char) for char in node.name)
        return mp.sin(args[0] * mp.mpf("1.37") + seed) + args[0] / 7
    return _OPERATIONS[node.op](mp, *args)


def _power(mp: Any, base: Any, exponent: Any) -> Any:
    if abs(exponent) > MAX_NUMERIC_POWER and exponent not in {mp.inf, -mp.inf}:
        raise TooLargeError("an exponent too large to evaluate")
    if base == 0 and mp.re(exponent) <= 0:
        raise ZeroDivisionError
    size = abs(mp.log(abs(base)) * abs(exponent)) if base != 0 else 0
    if size > 10**9:
        raise TooLargeError("a power too large to evaluate")
    return mp.power(base, exponent)


def _factorial(mp: Any, value: Any) -> Any:
    if abs(value) > MAX_FACTORIAL:
        raise TooLargeError("a factorial too large to evaluate")
    return mp.gamma(value + 1)


def _binomial(mp: Any, top: Any, bottom: Any) -> Any:
    if abs(top) > 10**6 or abs(bottom) > 10**6:
        raise TooLargeError("a binomial too large to evaluate")
    return mp.binomial(top, bottom)


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": lambda mp, a, b: a + b,
    "mul": lambda mp, a, b: a * b,
    "neg": lambda mp, a: -a,
    "div": lambda mp, a, b: a / b,
    "abs": lambda mp, a: abs(a),
    "pow": _power,
    "factorial": _factorial,
    "binom": _binomial,
    "degree": lambda mp, a: a * mp.pi / 180,
    "floor": lambda mp, a: mp.floor(a),
    "ceil": lambda mp, a: mp.ceil(a),
}


def _function(name: str, args: list[Any], mp: Any) -> Any:
    value = args[0]
    if abs(value) > 10**12:
        raise TooLargeError("an argument too large to evaluate")
    if name in {"log", "ln"}:
        if value == 0:
            raise ZeroDivisionError
        base = mp.log(args[1]) if len(args) > 1 else 1 if name == "ln" else mp.log(10)
        return mp.log(value) / base
    if name == "exp":
        return _power(mp, mp.e, value)
    if name == "abs":
        return abs(value)
    return getattr(mp, _MP_NAMES.get(name, name))(value)


_MP_NAMES = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arccot": "acot"}


def same_value(first: Node, second: Node) -> bool:
    """Whether two expressions have the same value, exactly or at every generic point.

    Raises:
        TooLargeError: one of them is too large to evaluate.
    """
    left, right = exact(first), exact(second)
    if left is not None and right is not None:
        return left == right
    names = symbols(first) | symbols(second)
    lefts = values_at_points(first, names)
    rights = values_at_points(second, names)
    pairs = [(a, b) for a, b in zip(lefts, rights, strict=True) if a is not None and b is not None]
    if len(pairs) * 2 < len(lefts):
        return False
    return all(close(a, b) for a, b in pairs) or _both_zero(first, second, names)


def close(left: Any, right: Any) -> bool:
    """Whether two values agree to 40 digits of the larger: tiny numbers keep their ratio."""
    import mpmath

    with mpmath.workdps(DIGITS):
        if mpmath.isinf(left) or mpmath.isinf(right):
            return bool(left == right)
        return bool(abs(left - right) <= mpmath.mpf(10) ** -40 * max(abs(left), abs(right)))


def _both_zero(first: Node, second: Node, names: frozenset[str]) -> bool:
    return is_zero(first, names) and is_zero(second, names)


def is_zero(node: Node, names: frozenset[str]) -> bool:
    """Whether a value is rounding noise: it shrinks as digits are added, as no true number does."""
    value = exact(node)
    if value is not None:
        return value == 0
    coarse = values_at_points(node, names, digits=DIGITS)
    fine = values_at_points(node, names, digits=2 * DIGITS)
    pairs = [(a, b) for a, b in zip(coarse, fine, strict=True) if a is not None and b is not None]
    return bool(pairs) and all(b == 0 or abs(b) < abs(a) * 10**-20 or a == 0 for a, b in pairs)
