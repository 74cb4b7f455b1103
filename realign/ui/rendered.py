"""A model's text as a tree for the screen: markdown, code and LaTeX, and never HTML.

`static/rendered.js` draws the tree with elements and text nodes. The tree can name no element outside `TAGS` and no
attribute outside `ATTRIBUTES`, no address that could be fetched or followed, and what a reader must judge stays in
sight: HTML, link addresses, alternative texts, numbers of list items and the language of a code block are text.
"""

import html
import unicodedata
from collections.abc import Iterable
from typing import Any
from xml.etree.ElementTree import Element

import regex
from latex2mathml import exceptions as latex
from latex2mathml.converter import Converter
from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_block.table import escapedSplit
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

Node = str | list[Any]
"""A text, or `[tag, attributes, children]`; JSON as it is."""

TAGS = frozenset((
    "p", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong", "s", "br", "hr", "span",
    "table", "thead", "tbody", "tr", "th", "td",
    "math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mstyle", "msup", "msub", "msubsup", "munder", "mover",
    "munderover", "mfrac", "msqrt", "mroot", "mtable", "mtr", "mtd", "mpadded",
))  # fmt: skip

_FLAGS = ("accent", "displaystyle", "fence", "largeop", "movablelimits", "separator", "stretchy")
# What LaTeX can move or stretch stays near its place: no formula covers the page.
_LENGTHS = ("depth", "height", "linethickness", "lspace", "maxsize", "minsize", "rspace", "voffset", "width")
ATTRIBUTES = {
    name: regex.compile(values)
    for name, values in {
        "class": r"r-md-[a-z0-9-]+",
        "dir": r"auto|ltr",
        "value": r"\d{1,9}",
        "display": r"block|inline",
        "form": r"prefix|infix|postfix",
        "mathvariant": r"normal",
        "scriptlevel": r"[+-]?\d",
        **dict.fromkeys(_FLAGS, r"true|false"),
        **dict.fromkeys(_LENGTHS, r"[+-]?(?:[0-3](?:\.\d{1,4})?|\.\d{1,4})(?:em|ex)|[+-]?[0-3]p[tx]|0"),
    }.items()
}
"""The attributes a node may have, and what each may say."""

MAX_CHARACTERS = 50_000
"""A longer text is shown raw."""
MAX_DEPTH = 60
"""How many elements may lie inside each other; JSON doubles that, and its writer takes 254."""

_MAX_NESTING = 20
_MAX_STEPS = 40_000
_BLOCK = 6
"""How many steps of reading a line a block is worth."""
_MAX_CELLS = 2_500
_MAX_FORMULA = 2_000
_MAX_LATEX = 15_000


class _TooTangled(Exception):
    """The text is nested deeper, or takes longer to read, than any that is meant for a person."""


def rendered(text: str) -> list[Node] | None:
    """Return a text as nodes to draw; None where it is too long or too tangled for that and should be shown raw."""
    if len(text) > MAX_CHARACTERS:
        return None
    try:
        return _Tree().of(_MARKDOWN.parse(text, {"steps": 0}))
    except _TooTangled:
        return None


# --- markdown --------------------------------------------------------------------------------------------------------

_DISPLAY = {"$$": "$$", r"\[": r"\]"}
# An amount of money is no formula: a dollar opens none before white space or before a number with a word behind it,
# and closes none before a digit.
_INLINE = regex.compile(
    r"""(?P<open>\$\$) (?P<body>(?:[^\\$]|\\.|\$(?!\$)){1,2000}+) (?P<close>\$\$)
        |(?P<open>\$)(?![\s$]|\d[\d.,]*\s+\p{L}{2}) (?P<body>(?:[^\\$\n]|\\[^\n]){1,2000}+) (?<!\s)(?P<close>\$)(?!\d)
        |(?P<open>\\\[) (?P<body>(?:[^\\]|\\[^\[\]]){1,2000}+) (?P<close>\\\])
        |(?P<open>\\\() (?P<body>(?:[^\\]|\\[^()]){1,2000}+) (?P<close>\\\))""",
    regex.VERBOSE | regex.DOTALL,
)


class _MarkdownIt(MarkdownIt):
    def normalizeLink(self, url: str) -> str:
        """Leave an address as it was written: it is only shown."""
        return url


def _markdown() -> MarkdownIt:
    """CommonMark with tables, strikethrough and formulas, without HTML and without whatever would hide text."""
    md = _MarkdownIt("commonmark", {"html": False, "maxNesting": _MAX_NESTING + 4})
    md.enable(["table", "strikethrough"]).disable(["reference", "html_block", "html_inline"])
    md.block.ruler.at("table", _whole_table, {"alt": ["paragraph"]})
    everywhere: RuleOptionsType = {"alt": ["paragraph", "blockquote", "list"]}
    md.block.ruler.before("fence", "formula", _block_formula, everywhere)
    md.block.ruler.before("table", "step", _block_step, everywhere)
    md.inline.ruler.before("text", "step", _inline_step)
    md.inline.ruler.before("escape", "formula", _inline_formula)
    md.parse("a")  # its rules are compiled before two threads can ask for them at once
    return md


def _step(env: Any, by: int = 1) -> None:
    env["steps"] = env.get("steps", 0) + by
    if env["steps"] > _MAX_STEPS:
        raise _TooTangled


def _block_step(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Count a step; the parser alone would leave out whatever is nested too deep."""
    if state.level > _MAX_NESTING:
        raise _TooTangled
    _step(state.env, 1 if silent else _BLOCK)
    return False


def _inline_step(state: StateInline, silent: bool) -> bool:
    _step(state.env)
    return False


def _line(state: StateBlock, at: int) -> str:
    return state.src[state.bMarks[at] + state.tShift[at] : state.eMarks[at]]


def _whole_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read a table; one that would lose cells, or has very many, stays text."""
    if not table(state, start, end, True):
        return False
    columns = len(_cells(_line(state, start)))
    for rows, at in enumerate(range(start + 2, end), 1):
        _step(state.env)
        line = _line(state, at).strip()
        if not line:
            break
        if len(_cells(line)) > columns or columns * rows > _MAX_CELLS:
            return False
    return silent or table(state, start, end, False)


def _cells(line: str) -> list[str]:
    """Split a row as the parser does, which takes an empty cell at either end for the frame."""
    cells = escapedSplit(line.strip())
    return cells[cells[:1] == [""] : len(cells) - (cells[-1:] == [""])]


def _block_formula(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    r"""Read `$$…$$` or `\[…\]` whose closing ends a line, over lines without a blank one."""
    first = _line(state, start)
    opening = first[:2]
    if opening not in _DISPLAY or state.is_code_block(start):
        return False
    closing, size = _DISPLAY[opening], 0
    body: list[str] = []
    for at in range(start, end):
        part = (first[2:] if at == start else _line(state, at)).rstrip()
        size += len(part)
        if (not part and at > start) or state.sCount[at] < state.blkIndent or size > _MAX_FORMULA:
            return False
        found = part.find(closing)
        if found >= 0 or opening in part:
            source = "\n".join([*body, part[:found]])
            whole = found >= 0 and found + 2 == len(part) and not source.endswith("\\") and bool(source.strip())
            if whole and not silent:
                state.line = at + 1
                _push_formula(state, opening, source, closing)
            return whole
        body.append(part)
    return False


def _inline_formula(state: StateInline, silent: bool) -> bool:
    r"""Read `$…$`, `$$…$$`, `\(…\)` or `\[…\]`."""
    if state.src[state.pos] not in "$\\":
        return False
    found = _INLINE.match(state.src, state.pos)
    if not found or not found["body"].strip():
        return False
    if not silent:
        _push_formula(state, found["open"], found["body"], found["close"])
    state.pos = found.end()
    return True


def _push_formula(state: StateBlock | StateInline, opening: str, source: str, closing: str) -> None:
    token = state.push("formula", "", 0)
    token.block = isinstance(state, StateBlock)
    token.content, token.markup, token.info = source, opening, closing


_MARKDOWN = _markdown()


# --- the tree --------------------------------------------------------------------------------------------------------

# Cards have headings of the second level; those of a text stand below them.
_HEADINGS = {"h1": "h3", "h2": "h4", "h3": "h5", "h4": "h6", "h5": "h6", "h6": "h6"}


class _Tree:
    """Puts tokens together to nodes, without recursion."""

    def __init__(self) -> None:
        self._open: list[list[Node]] = [[]]  # the children of each element that is open
        self._addresses: list[str] = []
        self._latex = 0

    def of(self, tokens: Iterable[Token]) -> list[Node]:
        for token in tokens:
            if token.type == "inline":
                for child in token.children or ():
                    self._take(child)
            elif not token.hidden:
                self._take(token)
        return self._open[0]

    def _take(self, token: Token) -> None:
        match token.type:
            case "text":
                self._put(token.content)
            case "softbreak" | "hardbreak" | "hr":
                self._put([token.tag, {}, []])
            case "code_inline":
                self._put(_code(token.content))
            case "code_block" | "fence":
                self._block_of_code(token)
            case "link_open":
                self._start("span", {"class": "r-md-link"})
                self._addresses.append("" if token.markup == "autolink" else _address(token, "href"))
            case "link_close":
                self._address(self._addresses.pop())
                self._open.pop()
            case "image":
                self._start("span", {"class": "r-md-image"})
                self._put(token.content)
                self._address(_address(token, "src"))
                self._open.pop()
            case "formula":
                self._formula(token)
            case "heading_open":
                self._start(_HEADINGS[token.tag], {"class": f"r-md-{token.tag}"})
            case _ if token.nesting > 0:
                self._start(token.tag, _attributes(token))
            case _:
                self._open.pop()

    def _start(self, tag: str, attributes: dict[str, str] | None = None) -> None:
        attributes = attributes or {}
        if len(self._open) == 1:
            attributes = {"dir": "auto", **attributes}  # inside, a direction of its own would hide a text from this one
        children: list[Node] = []
        self._open[-1].append([tag, attributes, children])
        self._open.append(children)
        if len(self._open) > MAX_DEPTH:
            raise _TooTangled

    def _put(self, *nodes: Node) -> None:
        """Add nodes to the element that is open; neighbouring texts become one."""
        children = self._open[-1]
        for node in nodes:
            last = children[-1] if children else None
            if isinstance(node, str) and isinstance(last, str):
                children[-1] = last + node
            elif node:
                children.append(node)

    def _block_of_code(self, token: Token) -> None:
        self._start("pre")
        if token.info.strip():
            self._put(["span", {"class": "r-md-info", "dir": "ltr"}, [token.info.strip()]])
        self._put(["code", {}, [token.content] if token.content else []])
        self._open.pop()

    def _address(self, address: str) -> None:
        if address:
            self._put(" ", ["span", {"class": "r-md-address", "dir": "ltr"}, [address]])

    def _formula(self, token: Token) -> None:
        """Set a formula, or show its source where it cannot be set."""
        self._latex += len(token.content) + 10
        affordable = len(token.content) <= _MAX_FORMULA and self._latex <= _MAX_LATEX
        node = _set(token.content, display=token.markup in _DISPLAY) if affordable else None
        if node is None or len(self._open) + _depth(node) > MAX_DEPTH:
            node = _code(f"{token.markup}{token.content}{token.info}", "r-md-latex")
        if token.block:
            self._start("p")
        self._put(node)
        if token.block:
            self._open.pop()


def _attributes(token: Token) -> dict[str, str]:
    """Keep the number of a list item as it was written, and how a column is aligned."""
    if token.type == "list_item_open" and token.info:
        return {"value": str(int(token.info))}
    style = token.attrs.get("style")
    return {"class": f"r-md-{str(style).removeprefix('text-align:')}"} if style else {}


def _address(token: Token, name: str) -> str:
    address, title = token.attrs.get(name), token.attrs.get("title")
    return f'({address} "{title}")' if title else f"({address})"


def _code(text: str, name: str | None = None) -> Node:
    return ["code", {"dir": "auto", **({"class": name} if name else {})}, [text]]


def _depth(node: Node) -> int:
    return 0 if isinstance(node, str) else 1 + max((_depth(child) for child in node[2]), default=0)


# --- formulas --------------------------------------------------------------------------------------------------------

_FAULTS: tuple[type[Exception], ...] = (
    *(fault for fault in vars(latex).values() if isinstance(fault, type) and issubclass(fault, Exception)),
    *(AttributeError, LookupError, RuntimeError, StopIteration, TypeError, ValueError),
)
# Definitions can grow without end, comments hide what they say, and a class is not the text's to choose.
_REFUSED = regex.compile(
    r"(?<!\\)(?:\\\\)*(?:%|\\(?:def|newcommand|newenvironment|DeclareMathOperator|class|style|href)\b)"
)
_ENVIRONMENT = regex.compile(r"\\(begin|end)\{(align|aligned|gather|gathered|dcases|equation)\*?\}")
_RENAMED = {
    **dict.fromkeys(("align", "aligned"), "align*"),
    **dict.fromkeys(("gather", "gathered"), "matrix"),
    "dcases": "cases",
}
_REFERENCE = regex.compile(r"&#x[0-9A-Fa-f]{1,6};")


def _set(source: str, *, display: bool) -> Node | None:
    """Return a formula as MathML that browsers draw, or None where it cannot be set without losing something."""
    if _REFUSED.search(source):
        return None
    try:
        root = Converter(display="block" if display else "inline").convert_to_element(
            _ENVIRONMENT.sub(_environment, source)
        )
        return _math(root, 0)
    except _FAULTS:
        return None


def _environment(found: regex.Match[str]) -> str:
    edge, name = found[1], found[2]
    if name == "equation":
        return "{" if edge == "begin" else "}"
    return rf"\{edge}{{{_RENAMED[name]}}}"


def _math(element: Element, depth: int) -> Node:
    """Return an element with its children; raise `ValueError` for what would be lost or misread."""
    tag, given = element.tag, dict(element.attrib)
    text = _REFERENCE.sub(lambda found: html.unescape(found[0]), element.text or "")
    attributes: dict[str, str] = {"dir": "ltr"} if tag == "math" else {}
    if tag == "menclose":  # no browser draws it: the page's style does
        tag, attributes = "mrow", {"class": "r-md-box" if given["notation"] == "box" else "r-md-cancel"}
    elif tag == "mtext" and given.get("mathvariant"):
        attributes["class"] = f"r-md-{given.pop('mathvariant')}"
    elif tag == "mtd" and given.get("columnalign"):
        attributes["class"] = f"r-md-{given['columnalign']}"
    elif tag == "mi" and text != element.text and text.isascii() and text.isalpha():
        attributes["mathvariant"] = "normal"  # the upright d of a differential
    elif tag == "mi" and len(text) == 1 and unicodedata.category(text) in ("Sm", "Ps", "Pe"):
        tag = "mo"
    if variant := given.get("mathvariant"):
        text = "".join(_lettered(letter, variant) for letter in text)
    misread = tag not in TAGS or depth > MAX_DEPTH or "linebreak" in given
    if misread or text[:1] == "\\" or element.text == "&" or (tag == "mo" and not text and not len(element)):
        raise ValueError(f"{tag} {text}")
    attributes |= {
        name: value for name, value in given.items() if name in ATTRIBUTES and ATTRIBUTES[name].fullmatch(value)
    }
    return [tag, attributes, [*([text] if text else []), *(_math(child, depth + 1) for child in element)]]


def _lettered(letter: str, variant: str) -> str:
    """Return a letter or digit in a style, such as ℝ: browsers draw styled letters, not the attribute for it."""
    name = regex.sub("LATIN |GREEK |LETTER ", "", unicodedata.name(letter, ""))
    for style in (f"MATHEMATICAL {variant.upper()}", variant.upper(), "BLACK-LETTER"):
        try:
            return unicodedata.lookup(f"{style} {name}")
        except KeyError:
            continue
    return letter
