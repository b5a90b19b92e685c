r"""Words and small formulas: what a text says, laid out in runs of one size and slant.

A text is plain words with formulas between dollars: `hidden state $h^{<t>}$`. A formula is a subset of LaTeX: letters,
digits, `_{..}`, `^{..}`, Greek letters and the symbols of `SYMBOLS`, upright words (`\mathrm{..}`, and `\mathsf{..}` in
the face of words), and accents (`\tilde{h}`). Formulas have the face of KaTeX, as those around a drawing. The same text
goes to LaTeX as it stands and to the other back ends as runs.
"""

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from lamina._errors import ArgumentError
from lamina.drawing._metrics import BOLD, ITALIC, MATH, REGULAR, UPRIGHT, WIDE

SMALL = 0.7
"""A sub- or superscript has this share of the size."""
RAISE, LOWER = 0.4, 0.2
APART = 0.2
"""A script with another one above or below it moves away by this share of the size, so that the two never touch."""
MIDDLE = 0.36
"""The baseline lies this share of the size below the middle of a text (half the height of a capital)."""
SPACE = 0.2

_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "zeta": "ζ", "eta": "η",
    "theta": "θ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ",
    "sigma": "σ", "tau": "τ", "phi": "φ", "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ",
    "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
}  # fmt: skip
_BINARY = {
    "cdot": "⋅", "times": "×", "odot": "⊙", "oplus": "⊕", "otimes": "⊗", "circ": "∘", "ast": "∗", "pm": "±",
    "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠", "ne": "≠", "approx": "≈", "equiv": "≡", "sim": "∼",
    "propto": "∝", "in": "∈", "to": "→", "rightarrow": "→", "leftarrow": "←", "Rightarrow": "⇒", "ll": "≪", "gg": "≫",
}  # fmt: skip
_ORDINARY = {
    "ell": "ℓ", "partial": "∂", "nabla": "∇", "infty": "∞", "sum": "∑", "prod": "∏", "langle": "⟨", "rangle": "⟩",
    "vdots": "⋮", "dots": "…", "ldots": "…", "cdots": "⋯", "ddots": "⋱", "prime": "′", "uparrow": "↑",
    "downarrow": "↓", "{": "{", "}": "}", "|": "‖", "%": "%", "$": "$", ",": "\u2009", ";": " ", "#": "#", "_": "_",
}  # fmt: skip
_WORDS = ("tanh", "exp", "log", "ln", "max", "min", "sin", "cos", "arg")
SYMBOLS = _GREEK | _BINARY | _ORDINARY
"""The named symbols of a formula."""
ACCENTS = {"tilde": "\u02dc", "widetilde": "\u02dc", "hat": "\u02c6", "widehat": "\u02c6", "bar": "\u00af"}
_SCRIPT = {"L": "ℒ", "R": "ℝ", "N": "ℕ", "Z": "ℤ", "F": "ℱ", "I": "ℐ"}
_UPRIGHT = ("mathrm", "text", "operatorname", "mathit", "mathbf", "mathsf")
_TOKEN = re.compile(r"\\([a-zA-Z]+)\s*|\\([{}|%$,;#_])|(\s+)|(.)", re.DOTALL)
_DESCENDING = set("gjpqyQ,;()[]{}|@$/βγζημξρφχψ⟨⟩‖_ç")
_SHORT = set("acegmnopqrsuvwxyzαγειηκμνπρστυχω.,:;-–—−=~⋅∼→←<>+×⊙⊕∘≈_…⋯•")


@dataclass(frozen=True)
class Run:
    """A piece of text of one size and slant: where it starts, how far its baseline is raised."""

    text: str
    x: float
    rise: float
    size: float
    italic: bool = False
    bold: bool = False
    math: bool = False

    @property
    def width(self) -> float:
        """The width of the piece."""
        return _width(self.text, self.size, self.bold, self.italic if self.math else None)

    @property
    def extent(self) -> tuple[float, float]:
        """How far the ink reaches above and below the baseline of the whole text."""
        up = 0.56 if all(c in _SHORT or c == " " for c in self.text) else 0.77
        down = 0.24 if any(c in _DESCENDING for c in self.text) else 0.015
        return self.rise + up * self.size, down * self.size - self.rise


@dataclass(frozen=True)
class _Atom:
    """One item of a formula: a character or word with its scripts and accent."""

    text: str
    italic: bool
    binary: bool = False
    accent: str = ""
    below: tuple["_Atom", ...] = ()
    above: tuple["_Atom", ...] = ()
    sans: bool = False


def _width(text: str, size: float, bold: bool, slant: bool | None = None) -> float:
    """Measure words, or with a `slant` a piece of a formula; what the math fonts lack comes from the font of words."""
    words = BOLD if bold else REGULAR
    table = words if slant is None else ITALIC if slant else UPRIGHT
    return size * sum(table.get(character) or words.get(character, WIDE) for character in text)


class _Reader:
    """Reads the tokens of one formula."""

    def __init__(self, formula: str) -> None:
        self.formula = formula
        self.tokens = [m for m in _TOKEN.finditer(formula) if not m[3]]
        self.place = 0

    def wrong(self, what: str) -> ArgumentError:
        return ArgumentError(
            f"`content` must hold a formula of the small LaTeX of drawings, got ${self.formula}$: {what}."
        )

    def peek(self) -> str:
        return self.tokens[self.place][0].strip() if self.place < len(self.tokens) else ""

    def take(self) -> re.Match[str]:
        if self.place >= len(self.tokens):
            raise self.wrong("it ends too early")
        self.place += 1
        return self.tokens[self.place - 1]

    def group(self) -> tuple[_Atom, ...]:
        """Read one argument: a braced group or a single symbol."""
        if self.peek() != "{":
            return (self.atom(),)
        self.take()
        atoms = self.atoms("}")
        self.take()
        return atoms

    def atoms(self, end: str) -> tuple[_Atom, ...]:
        found: list[_Atom] = []
        while self.peek() != end:
            if not self.peek():
                raise self.wrong("a brace is not closed")
            if self.peek() == "{":
                found.extend(self.group())
            elif self.peek() in ("_", "^"):
                found.append(self.scripted(found.pop() if found else _Atom("", False)))
            else:
                found.append(self.atom())
        return tuple(found)

    def scripted(self, base: _Atom) -> _Atom:
        mark = self.take()[0]
        script = self.group()
        if (base.below if mark == "_" else base.above) or base.binary:
            raise self.wrong(f"a second '{mark}', or one after an operator, needs braces")
        below, above = (script, base.above) if mark == "_" else (base.below, script)
        return replace(base, below=below, above=above)

    def atom(self) -> _Atom:
        token = self.take()
        name, character = token[1] or token[2], token[4]
        if character is not None:
            return self.character(character)
        if name in SYMBOLS:
            return _Atom(SYMBOLS[name], name in _GREEK and name.islower(), name in _BINARY)
        if name in _WORDS:
            return _Atom(name, False)
        if name in ACCENTS:
            inner = self.group()
            return _Atom("".join(a.text for a in inner), all(a.italic for a in inner), accent=ACCENTS[name])
        if name in ("mathscr", "mathcal", "mathbb"):
            return _Atom("".join(_SCRIPT.get(a.text, a.text) for a in self.group()), False)
        if name in _UPRIGHT:
            return _Atom(self.words(), name == "mathit", sans=name == "mathsf")
        raise self.wrong(f"'\\{name}' is not known")

    def words(self) -> str:
        """Read a braced argument as words, with its spaces."""
        if self.peek() != "{":
            raise self.wrong("upright words need braces")
        start = self.take().end()
        while self.peek() not in ("}", ""):
            self.take()
        return self.formula[start : self.take().start()]

    def character(self, character: str) -> _Atom:
        if character in "}&#~":
            raise self.wrong(f"'{character}' has no meaning there")
        if character in "+=<>":
            return _Atom(character, False, binary=True)
        if character in "-*'":
            return _Atom({"-": "−", "*": "∗", "'": "′"}[character], False, binary=character != "'")
        return _Atom(character, character.isalpha())


class _Layout:
    """Puts atoms one after the other into runs."""

    def __init__(self, bold: bool) -> None:
        self.runs: list[Run] = []
        self.x = 0.0
        self.bold = bold

    def put(self, text: str, rise: float, size: float, *, italic: bool = False, math: bool = False) -> None:
        last = self.runs[-1] if self.runs else None
        run = Run(text, self.x, rise, size, italic, self.bold, math)
        if last and abs(last.x + last.width - self.x) < 1e-6 and replace(last, text=text, x=self.x) == run:
            self.runs[-1] = replace(last, text=last.text + text)
        else:
            self.runs.append(run)
        self.x += run.width

    def atoms(self, atoms: tuple[_Atom, ...], rise: float, size: float, *, spaced: bool) -> None:
        for place, atom in enumerate(atoms):
            between = 0 < place < len(atoms) - 1 and not atoms[place - 1].binary and atoms[place - 1].text not in "([,"
            gap = SPACE * size if spaced and atom.binary and between else 0.0
            self.x += gap
            self.atom(atom, rise, size)
            self.x += gap + (SPACE * size if spaced and atom.text in (",", ";") and place < len(atoms) - 1 else 0.0)

    def atom(self, atom: _Atom, rise: float, size: float) -> None:
        start = self.x
        if atom.text:
            self.put(atom.text, rise, size / MATH if atom.sans else size, italic=atom.italic, math=not atom.sans)
        end = self.x
        if atom.accent:
            high = 0.0 if atom.text in _SHORT else 0.2
            mark = Run(atom.accent, 0.0, rise + high * size, size, False, self.bold, True)
            self.x = (start + end - mark.width) / 2 + (0.1 * size if atom.italic else 0.0)
            self.runs.append(replace(mark, x=self.x))
            self.x = end
        if atom.below or atom.above:
            apart = APART * size if atom.below and atom.above else 0.0
            self.x = end + 0.04 * size
            self.atoms(atom.below, rise - LOWER * size - 0.6 * apart, size * SMALL, spaced=False)
            lower, self.x = self.x, end + (0.08 if atom.italic else 0.04) * size
            self.atoms(atom.above, rise + RAISE * size + 0.4 * apart, size * SMALL, spaced=False)
            self.x = max(lower, self.x)


def _pieces(content: str) -> list[tuple[str, bool]]:
    """Split a text at its dollars into words and formulas."""
    pieces = re.split(r"(?<!\\)\$", content)
    if len(pieces) % 2 == 0:
        raise ArgumentError(
            f"`content` must close each formula with a dollar, got {content!r}: write '\\$' for a dollar."
        )
    return [(piece, place % 2 == 1) for place, piece in enumerate(pieces) if piece]


@lru_cache(maxsize=8192)
def layout(content: str, size: float = 12.0, bold: bool = False) -> tuple[Run, ...]:
    """Lay a text out in runs, from its left end on its baseline."""
    result = _Layout(bold)
    for piece, formula in _pieces(content):
        if formula:
            result.atoms(_Reader(piece).atoms(""), 0.0, size * MATH, spaced=True)
        else:
            result.put(piece.replace("\\$", "$"), 0.0, size)
    return tuple(result.runs)


def width(content: str, size: float = 12.0, bold: bool = False) -> float:
    """Measure a text.

    >>> round(width("input layer", 10.0), 1)
    54.0
    """
    return max((run.x + run.width for run in layout(content, size, bold)), default=0.0)


_ESCAPES = {c: "\\" + c for c in "&%#_{}"} | {
    "~": r"\textasciitilde{}",
    "^": r"\^{}",
    "\\": r"\textbackslash{}",
    "$": r"\$",
}
_AS_FORMULA = {value: rf"\ensuremath{{\{name}}}" for name, value in (_GREEK | _BINARY).items()} | {
    character: rf"\ensuremath{{{formula}}}"
    for character, formula in {
        "−": "-", "∂": r"\partial", "∇": r"\nabla", "∞": r"\infty", "⋮": r"\vdots", "…": r"\dots", "⋯": r"\cdots",
        "ℓ": r"\ell", "<": "<", ">": ">", "|": "|", "∑": r"\sum", "⟨": r"\langle", "⟩": r"\rangle", "√": r"\surd",
        "′": "'", "·": r"\cdot", "\u2009": r"\,", "²": "^2", "³": "^3", "↑": r"\uparrow", "↓": r"\downarrow",
        "½": r"\frac12", "ℒ": r"\mathcal{L}",
    }.items()
}  # fmt: skip


def latex(content: str) -> str:
    """Write a text for LaTeX without extra packages: words escaped, formulas as they stand."""
    layout(content)  # refuses what the other back ends cannot draw
    parts = []
    for piece, formula in _pieces(content):
        if formula:
            piece = piece.replace(r"\mathscr", r"\mathcal").replace(r"\mathbb", r"\mathbf")
            piece = piece.replace(r"\operatorname", r"\mathrm").replace(r"\text{", r"\mathrm{")
            parts.append(f"${piece}$")
        else:
            words = "".join(_ESCAPES.get(c, _AS_FORMULA.get(c, c)) for c in piece.replace("\\$", "$"))
            parts.append(words)
    return "".join(parts)
