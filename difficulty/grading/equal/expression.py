"""A small, closed grammar for mathematical expressions.

The text never becomes code: it is read into a tree of numbers, symbols and known functions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

MAX_TOKENS = 400
"""Of one expression; keeps the tree shallow enough to be walked by recursion."""


class UnreadableError(ValueError):
    """A text is not an expression of this grammar."""


@dataclass(frozen=True)
class Node:
    """An expression: ``op`` applied to ``args``; leaves carry a number or a name."""

    op: str
    args: tuple[Node, ...] = ()
    number: Fraction | None = None
    name: str = ""


_GREEK = (
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa",
    "lambda", "mu", "nu", "xi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega",
    "Gamma", "Delta", "Theta", "Lambda", "Xi", "Sigma", "Phi", "Psi", "Omega", "ell", "hbar",
    "emptyset",
)  # fmt: skip
_FUNCTIONS = (
    "arcsin", "arccos", "arctan", "arccot", "sinh", "cosh", "tanh", "sin", "cos", "tan", "cot",
    "sec", "csc", "ln", "log", "exp",
)  # fmt: skip
_WORDS = sorted([*_FUNCTIONS, "sqrt", "pi", "abs"], key=len, reverse=True)
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?|\.\d+)|\\(?P<command>[A-Za-z]+)|"
    rf"(?P<word>{'|'.join(_WORDS)})(?![a-z])|(?P<letter>[A-Za-z])|(?P<mark>\\[{{}}]|"
    rf"[-+*/^_!(){{}}\[\]|,%']))"
)


def read_expression(text: str) -> Node:
    """The tree of one expression.

    Raises:
        UnreadableError: the text is not in the grammar.
    """
    tokens = _tokens(text)
    if len(tokens) > MAX_TOKENS:
        raise UnreadableError(f"more than {MAX_TOKENS} tokens")
    try:
        return _Reader(tokens).whole()
    except RecursionError as error:
        raise UnreadableError("nested too deeply") from error


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, position = [], 0
    text = text.rstrip()
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None or found.lastgroup is None:
            raise UnreadableError(f"not an expression at {text[position : position + 20]!r}")
        tokens.append((found.lastgroup, found[found.lastgroup]))
        position = found.end()
    return tokens


class _Reader:
    """Recursive descent over the tokens; depth is bounded by the static limits."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens = tokens
        self.position = 0
        self.bars = 0

    def whole(self) -> Node:
        node = self.sum()
        if self.position < len(self.tokens):
            raise UnreadableError(f"unexpected {self.tokens[self.position][1]!r}")
        return node

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.position] if self.position < len(self.tokens) else ("end", "")

    def take(self, value: str | None = None) -> tuple[str, str]:
        token = self.peek()
        if token[0] == "end" or (value is not None and token[1] != value):
            raise UnreadableError(f"expected {value or 'more'}, found {token[1]!r}")
        self.position += 1
        return token

    def sum(self) -> Node:
        node = self.product()
        while self.peek() in {("mark", "+"), ("mark", "-")}:
            sign = self.take()[1]
            term = self.product()
            node = Node("add", (node, term if sign == "+" else Node("neg", (term,))))
        return node

    def product(self) -> Node:
        if self.peek() in {("mark", "-"), ("mark", "+")}:
            sign = self.take()[1]
            inner = self.product()
            return Node("neg", (inner,)) if sign == "-" else inner
        node = self.power()
        while True:
            kind, value = self.peek()
            if kind == "mark" and value in "*/":
                self.take()
                factor = self.signed_power()
                node = Node("mul" if value == "*" else "div", (node, factor))
            elif self.starts_factor():
                node = self.mixed(node) or Node("mul", (node, self.power()))
            else:
                return node

    def signed_power(self) -> Node:
        if self.peek() == ("mark", "-"):
            self.take()
            return Node("neg", (self.signed_power(),))
        return self.power()

    def mixed(self, node: Node) -> Node | None:
        r"""``2\frac{1}{3}``: an integer before a fraction of integers is added to it."""
        if node.op != "number" or self.peek() != ("command", "frac"):
            return None
        whole, fraction = node, self.power()
        numbers = [arg.number for arg in fraction.args]
        proper = fraction.op == "div" and len(numbers) == 2 and None not in numbers
        if proper and _is_integer(whole) and all(_is_integer(arg) for arg in fraction.args):
            return Node("add", (whole, fraction))
        return Node("mul", (whole, fraction))

    def starts_factor(self) -> bool:
        kind, value = self.peek()
        if kind == "mark":
            return value in {"(", "{", "[", "\\{"} or (value == "|" and self.bars == 0)
        return kind in {"number", "letter", "word"} or (
            kind == "command" and value not in {"pm", "mp", "cup", "cap", "in", "rfloor", "rceil"}
        )

    def power(self) -> Node:
        node = self.postfix(self.atom())
        if self.peek() == ("mark", "^"):
            self.take()
            exponent = self.exponent()
            node = self.postfix(Node("pow", (node, exponent)))
        return node

    def exponent(self) -> Node:
        if self.peek() == ("mark", "-"):
            self.take()
            return Node("neg", (self.exponent(),))
        node = self.atom()
        if self.peek() == ("mark", "^"):
            self.take()
            return Node("pow", (node, self.exponent()))
        return node

    def postfix(self, node: Node) -> Node:
        while True:
            if self.peek() == ("mark", "!"):
                self.take()
                node = Node("factorial", (node,))
            elif self.peek() == ("mark", "%"):
                self.take()
                node = Node("div", (node, _number(100)))
            elif self.peek() == ("command", "degree"):
                self.take()
                node = Node("degree", (node,))
            else:
                return node

    def atom(self) -> Node:
        kind, value = self.take()
        if kind == "number":
            return _number(Fraction(value))
        if kind == "letter":
            return self.letter(value)
        if kind == "word" or value in _FUNCTIONS:
            return self.function(value)
        if kind == "command":
            return self.command(value)
        return self.bracket(value)

    def bracket(self, value: str) -> Node:
        closing = {"(": ")", "{": "}", "[": "]", "\\{": "\\}"}.get(value)
        if closing is not None:
            bars, self.bars = self.bars, 0
            node = self.sum()
            self.bars = bars
            self.take(closing)
            return node
        if value == "|":
            self.bars += 1
            node = self.sum()
            self.bars -= 1
            self.take("|")
            return Node("abs", (node,))
        raise UnreadableError(f"unexpected {value!r}")

    def letter(self, value: str) -> Node:
        if value == "e":
            return Node("e")
        if value == "i":
            return Node("i")
        name = value + self.subscript() + self.primes()
        if value in "fgh" and self.peek() == ("mark", "("):
            return Node("call", (self.atom(),), name=name)
        return Node("symbol", name=name)

    def subscript(self) -> str:
        if self.peek() != ("mark", "_"):
            return ""
        self.take()
        parts = []
        if self.peek() == ("mark", "{"):
            while self.peek() != ("mark", "}"):
                parts.append(self.take()[1])
            self.take()
        else:
            parts.append(self.take()[1])
        return "_" + "".join(parts).strip("{")

    def primes(self) -> str:
        marks = ""
        while self.peek() == ("mark", "'"):
            marks += self.take()[1]
        return marks

    def command(self, value: str) -> Node:
        if value == "frac":
            return Node("div", (self.argument(), self.argument()))
        if value == "binom":
            return Node("binom", (self.argument(), self.argument()))
        if value == "sqrt":
            return self.root()
        if value in {"pi", "infty"}:
            return Node(value)
        if value in {"lfloor", "lceil"}:
            node = self.sum()
            self.take("rfloor" if value == "lfloor" else "rceil")
            return Node("floor" if value == "lfloor" else "ceil", (node,))
        if value in {"overline", "bar", "hat", "vec"}:
            return Node("symbol", name=f"{value}({self.argument()!r})")
        if value in _GREEK:
            return Node("symbol", name=value + self.subscript() + self.primes())
        raise UnreadableError(f"unknown command \\{value}")

    def root(self) -> Node:
        degree = _number(2)
        if self.peek() == ("mark", "["):
            self.take()
            degree = self.sum()
            self.take("]")
        return Node("pow", (self.argument(), Node("div", (_number(1), degree))))

    def argument(self) -> Node:
        r"""A braced or bracketed group, or one character: ``\frac12`` has two arguments."""
        kind, value = self.peek()
        if kind == "number" and len(value) > 1 and value.isdigit():
            self.tokens[self.position] = ("number", value[1:])
            return _number(Fraction(value[0]))
        if kind in {"number", "letter"}:
            return self.atom()
        if (kind, value) in {("mark", "{"), ("mark", "("), ("mark", "[")} or kind in {
            "command",
            "word",
        }:
            return self.atom()
        raise UnreadableError(f"expected an argument, found {value!r}")

    def function(self, name: str) -> Node:
        if name == "pi":
            return Node("pi")
        if name == "sqrt":
            return self.root()
        base: tuple[Node, ...] = ()
        power: Node | None = None
        while self.peek() in {("mark", "_"), ("mark", "^")}:
            if self.take()[1] == "_":
                base = (self.argument(),)
            else:
                power = self.exponent()
        node = Node("function", (self.function_argument(), *base), name=name)
        if power is None:
            return node
        inverse = power.op == "neg" and power.args[0].number == 1
        if inverse and name in {"sin", "cos", "tan"}:
            return Node("function", node.args, name="arc" + name)
        return Node("pow", (node, power))

    def function_argument(self) -> Node:
        if self.peek() in {("mark", "("), ("mark", "{"), ("mark", "|"), ("mark", "[")}:
            return self.power()
        if self.peek() == ("mark", "-"):
            self.take()
            return Node("neg", (self.function_argument(),))
        node = self.power()
        while self.starts_factor():
            kind, value = self.peek()
            if kind == "word" or value in _FUNCTIONS or value in {"(", "{", "|", "["}:
                break
            node = Node("mul", (node, self.power()))
        return node


def _number(value: int | Fraction) -> Node:
    return Node("number", number=Fraction(value))


def _is_integer(node: Node) -> bool:
    return node.number is not None and node.number.denominator == 1
