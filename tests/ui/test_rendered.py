"""What a model wrote is drawn as text with a few harmless elements, and nothing of it goes missing."""

import json
import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser

from realign.ui.rendered import ATTRIBUTES, MAX_CHARACTERS, MAX_DEPTH, TAGS, Node, rendered
from realign.ui.theme import STATIC

HOSTILE = (
    "<script>alert(1)</script><style>*{display:none}</style><img src=x onerror=alert(1)>",
    '<iframe src="https://evil.invalid/?t=token"></iframe>',
    "<!-- seen by no one -->",
    "<svg onload=alert(1)><circle/></svg>",
    '<a href="javascript:alert(1)" onclick="alert(1)">here</a>',
    "<link rel=stylesheet href=//evil.invalid/x.css><base href=//evil.invalid/><meta http-equiv=refresh content=0>",
    "<form action=//evil.invalid><input name=p><button>Go</button></form>",
    "<math><mtext><table><mglyph><style><img src onerror=alert(1)></style></mglyph></table></mtext></math>",
    "<b>bold</b> <div style='position:fixed'>over all</div> </div></body></html>",
    "[click](javascript:alert(1)) [data](data:text/html,x) [file](file:///etc/passwd) [vb](vbscript:x)",
    "![x](data:text/html;base64,PHNjcmlwdD4=)",
    "hi<|im_end|> <|im_start|>system",
)


def elements(nodes: list[Node]) -> Iterator[list]:
    for node in nodes:
        if not isinstance(node, str):
            yield node
            yield from elements(node[2])


def shown(nodes: list[Node] | None) -> str:
    """The text a reader sees, with a line break where a line breaks."""
    assert nodes is not None
    return "".join(node if isinstance(node, str) else "\n" if node[0] == "br" else shown(node[2]) for node in nodes)


def tags(text: str) -> set[str]:
    return {tag for tag, _, _ in elements(rendered(text) or [])}


def assert_harmless(nodes: list[Node]) -> None:
    for tag, attributes, children in elements(nodes):
        assert tag in TAGS
        assert all(ATTRIBUTES[name].fullmatch(value) for name, value in attributes.items())
        assert all(isinstance(child, str | list) for child in children)
    assert json.loads(json.dumps(nodes)) == nodes


# --- nothing but text ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", HOSTILE)
def test_html_and_addresses_that_could_run_stay_the_text_they_are(text: str) -> None:
    nodes = rendered(text)
    assert shown(nodes) == text
    assert tags(text) == {"p"}
    assert_harmless(nodes or [])


def test_no_tag_or_attribute_can_fetch_follow_or_run_anything() -> None:
    assert not TAGS & {"a", "img", "script", "style", "iframe", "svg", "input", "form", "link", "object", "video"}
    assert not ATTRIBUTES.keys() & {"href", "src", "style", "id", "onclick", "srcdoc", "action", "name"}


def test_an_image_is_its_alternative_text_and_its_address() -> None:
    assert shown(rendered("![a cat](https://evil.invalid/cat.png)")) == "a cat (https://evil.invalid/cat.png)"


def test_a_link_shows_where_it_would_lead_and_its_hidden_title() -> None:
    assert shown(rendered('[the bank](https://evil.invalid/ü "your bank")')) == (
        'the bank (https://evil.invalid/ü "your bank")'
    )
    assert shown(rendered("<https://a.invalid>")) == "https://a.invalid"


def test_a_link_definition_is_not_swallowed() -> None:
    text = "[bank][1]\n\n[1]: https://evil.invalid"
    assert shown(rendered(text)) == "[bank][1][1]: https://evil.invalid"


# --- what a reader expects -------------------------------------------------------------------------------------------


def test_lines_of_a_quote_stay_apart_and_a_single_line_break_is_kept() -> None:
    assert rendered("> a\n> b\n\nc\nd") == [
        ["blockquote", {"dir": "auto"}, [["p", {}, ["a", ["br", {}, []], "b"]]]],
        ["p", {"dir": "auto"}, ["c", ["br", {}, []], "d"]],
    ]


def test_a_rule_and_a_block_of_code_with_its_language() -> None:
    assert rendered("a\n\n---\n\n```python\nif a < b:\n    <b>\n```") == [
        ["p", {"dir": "auto"}, ["a"]],
        ["hr", {}, []],
        [
            "pre",
            {"dir": "auto"},
            [["span", {"class": "r-md-info", "dir": "ltr"}, ["python"]], ["code", {}, ["if a < b:\n    <b>\n"]]],
        ],
    ]


def test_emphasis_inline_code_and_struck_words() -> None:
    assert rendered("**a** *b* ~~c~~ `d`") == [
        [
            "p",
            {"dir": "auto"},
            [
                ["strong", {}, ["a"]],
                " ",
                ["em", {}, ["b"]],
                " ",
                ["s", {}, ["c"]],
                " ",
                ["code", {"dir": "auto"}, ["d"]],
            ],
        ]
    ]


def test_headings_stand_below_the_headings_of_the_page() -> None:
    nodes = rendered("# One\n\n###### Six")
    assert nodes == [
        ["h3", {"dir": "auto", "class": "r-md-h1"}, ["One"]],
        ["h6", {"dir": "auto", "class": "r-md-h6"}, ["Six"]],
    ]


def test_list_items_keep_the_numbers_that_were_written() -> None:
    assert [
        (tag, attributes.get("value")) for tag, attributes, _ in elements(rendered("3. c\n9. d\n   - e") or [])
    ] == [
        ("ol", None),
        ("li", "3"),
        ("li", "9"),
        ("ul", None),
        ("li", None),
    ]


def test_a_table_keeps_its_alignment() -> None:
    nodes = rendered("| a | b |\n|---|--:|\n| 1 | 2 |") or []
    assert [
        (tag, attributes.get("class"), children) for tag, attributes, children in elements(nodes) if tag[:1] == "t"
    ][-3:] == [
        ("tr", None, [["td", {}, ["1"]], ["td", {"class": "r-md-right"}, ["2"]]]),
        ("td", None, ["1"]),
        ("td", "r-md-right", ["2"]),
    ]


def test_a_table_that_would_lose_a_cell_stays_text() -> None:
    text = "| a |\n|---|\n| 1 | 2 |"
    assert shown(rendered(text)) == text


def test_each_block_takes_its_direction_from_its_own_text() -> None:
    nodes = rendered("שלום world\n\n- مرحبا\n\n# 今日は\n\n| ä |\n|---|") or []
    assert [(node[0], node[1]["dir"]) for node in nodes] == [
        ("p", "auto"),
        ("ul", "auto"),
        ("h3", "auto"),
        ("table", "auto"),
    ]
    assert shown(nodes) == "שלום worldمرحبا今日はä"


# --- formulas --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["$x^2$", r"\(x^2\)", "$$x^2$$", r"\[x^2\]", "$$\nx^2\n$$", "\\[\nx^2\n\\]"])
def test_formulas_are_read_in_every_usual_bracket(text: str) -> None:
    display = "inline" if text[:2] in ("$x", r"\(") else "block"
    row = ["mrow", {}, [["msup", {}, [["mi", {}, ["x"]], ["mn", {}, ["2"]]]]]]
    assert rendered(text) == [["p", {"dir": "auto"}, [["math", {"dir": "ltr", "display": display}, [row]]]]]


def test_a_formula_may_follow_a_line_of_text_and_start_with_a_plus() -> None:
    nodes = rendered("We get\n$$\na\n+ b\n$$\nas said.") or []
    assert [node[0] for node in nodes] == ["p", "p", "p"]
    assert "math" in tags("We get\n$$\na\n+ b\n$$\nas said.")
    assert shown(nodes) == "We geta+bas said."


def test_amounts_of_money_are_no_formula() -> None:
    text = "It costs $5 or $10, not US$ 7 and 8$."
    assert shown(rendered(text)) == text


def test_aligned_lines_are_a_table_whose_sides_meet() -> None:
    nodes = rendered(r"$$\begin{aligned} a &= b \\ c &= d \end{aligned}$$") or []
    cells = [attributes["class"] for tag, attributes, _ in elements(nodes) if tag == "mtd"]
    assert cells == ["r-md-right", "r-md-left"] * 2
    assert shown(nodes) == "a=bc=d"


def test_letters_in_a_style_are_styled_letters() -> None:
    assert shown(rendered(r"$\mathbb{R}\mathbb{RN}\mathbf{1a}\mathfrak{C}$")) == "ℝℝℕ𝟏𝐚ℭ"


@pytest.mark.parametrize(
    "source",
    [
        r"\frac{1}{",
        r"\unheardof{x}",
        r"a \\ b",
        r"\phantom{secret}",
        "x %secret",
        r"\def\a{xx}\a",
        r"\newcommand{\b}{\b\b}\b",
        r"\href{javascript:alert(1)}{x}",
        r"\class{r-md-link}{x}",
        r"\begin{unknown} a & b \end{unknown}",
        "{" * 900 + "}" * 900,
        r"\sqrt" * 300 + "x",
        "x" * 2_001,
    ],
)
def test_a_formula_that_cannot_be_set_or_would_hide_something_shows_its_source(source: str) -> None:
    assert shown(rendered(f"so $${source}$$ it is")) == f"so $${source}$$ it is"


def test_a_formula_reaches_no_further_than_its_place() -> None:
    far = (
        rendered(r"$\hspace{900em}a\raise{99em}{b}\rule{99em}{99em}\hspace{2em}\color{white}{c}\text{<img src=x>}$")
        or []
    )
    assert_harmless(far)
    assert [attributes for tag, attributes, _ in elements(far) if tag == "mspace"] == [{}, {}, {"width": "2em"}]
    assert shown(far) == "abc<img\xa0src=x>"


# --- whatever the text -----------------------------------------------------------------------------------------------

MARKUP = (
    *"*_~`>#-+|[](){}<>!:\"'&=\\$^%",
    *(
        "\n",
        "\n\n",
        "    ",
        "\t",
        "  \n",
        "\n- ",
        "\n1. ",
        "\n> ",
        "\n# ",
        "\n```\n",
        "\n---\n",
        "\n|-|-|\n",
        "](",
        "![",
        "**",
    ),
    *(
        "$$",
        r"\(",
        r"\)",
        r"\[",
        r"\]",
        r"\frac{",
        r"\begin{matrix}",
        r"\end{matrix}",
        r"\\",
        r"\left(",
        "&lt;",
        "http://a",
    ),
)
scraps = st.one_of(st.sampled_from(MARKUP), st.sampled_from(HOSTILE), st.text(max_size=4))
any_text = st.one_of(st.text(max_size=80), st.lists(scraps, max_size=30).map("".join))


@settings(max_examples=600, deadline=None)
@given(any_text)
def test_any_text_gives_a_harmless_tree(text: str) -> None:
    nodes = rendered(text)
    assert nodes is not None
    assert_harmless(nodes)


WORDS = ("waft", "zürich", "茶壺", "قمر", "שלום", "q7")
# Formulas and references have a look of their own; everything else must leave the words where they are.
plain = [markup for markup in MARKUP if not set(markup) & set("$\\&")]


@settings(max_examples=600, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(plain), st.sampled_from(WORDS)), max_size=40).map("".join))
def test_no_word_goes_missing_and_none_is_said_twice(text: str) -> None:
    seen = shown(rendered(text))
    assert {word: seen.count(word) for word in WORDS} == {word: text.count(word) for word in WORDS}


# --- size ------------------------------------------------------------------------------------------------------------


def test_50_000_characters_are_drawn_and_one_more_is_shown_raw() -> None:
    assert shown(rendered("x" * MAX_CHARACTERS)) == "x" * 50_000
    assert rendered("x" * (MAX_CHARACTERS + 1)) is None


@pytest.mark.parametrize(
    "text",
    [
        ">" * 5_000 + " a",
        "[" * 5_000,
        "![" * 5_000 + "a" + "](b)" * 5_000,
        "- " * 5_000 + "a",
        "\n".join(" " * 2 * n + "- a" for n in range(200)),
        "*a " * 5_000 + "a* " * 5_000,
        "**a*" * 12_500,
        "$" * 50_000,
        r"\(" * 25_000,
        "\\[a\n" * 12_500,
        "|-|-|\n" * 8_000 + "|a|b|c|\n",
        "|" + "a|" * 1_000 + "\n|" + "-|" * 1_000 + "\n" + "|\n" * 20_000,
        ">" * 1_000 + "a\n" * 20_000,
        "a\n\n" * 16_000,
        "|$x$|\n" * 8_000,
    ],
    ids=lambda text: text[:6],
)
def test_a_tangled_text_is_drawn_or_shown_raw_and_breaks_nothing(text: str) -> None:
    nodes = rendered(text[:MAX_CHARACTERS])
    assert nodes is None or shown(nodes)


def test_ten_nested_lists_are_drawn_and_eleven_are_shown_raw() -> None:
    deep = rendered("- " * 10 + "a") or []
    assert len([1 for tag, _, _ in elements(deep) if tag == "ul"]) == 10
    assert rendered("- " * 11 + "a") is None


def test_no_tree_is_deeper_than_the_writer_of_json_goes() -> None:
    def depth(node: Node) -> int:
        return 0 if isinstance(node, str) else 1 + max((depth(child) for child in node[2]), default=0)

    text = "*a " * 55 + r"$\sqrt{\sqrt{\sqrt{\sqrt{\sqrt{x}}}}}$" + " a*" * 55
    assert 50 < max(depth(node) for node in rendered(text) or []) <= MAX_DEPTH
    assert rendered("*a " * 70 + " a*" * 70) is None


# --- in the browser --------------------------------------------------------------------------------------------------

SCRIPT = (STATIC / "rendered.js").read_text(encoding="utf-8")


def test_the_script_knows_the_same_tags_and_attributes() -> None:
    lists = re.findall(r'"([a-z0-9 ]+)"', SCRIPT[: SCRIPT.index("SHARED")])
    assert set(" ".join(lists).split()) - {"use strict"} == TAGS
    named = re.findall(r"(\w+): (?:/\^|flag|size)", SCRIPT)
    assert sorted(named) == sorted(ATTRIBUTES)


@pytest.mark.browser
def test_the_browser_draws_text_and_formulas_and_runs_fetches_and_follows_nothing(chromium: Browser) -> None:
    page = chromium.new_page()
    strange: list[str] = []
    page.on("request", lambda request: strange.append(request.url))
    page.on("dialog", lambda dialog: (strange.append(dialog.message), dialog.dismiss()))
    page.evaluate(f"window.realign = {{}};{SCRIPT}")
    draw = "nodes => { document.body.replaceChildren(window.realign.tree(nodes)); return document.body.innerHTML; }"

    for text in HOSTILE:
        page.evaluate(draw, rendered(text))
        assert page.evaluate("document.body.textContent") == text
        assert page.evaluate("document.body.querySelectorAll('*').length") == 1

    page.evaluate(draw, rendered("a $x^2$"))
    assert page.evaluate("document.querySelector('msup').namespaceURI") == "http://www.w3.org/1998/Math/MathML"
    box = page.locator("mn").bounding_box()
    base = page.locator("mi").bounding_box()
    assert box and base and box["y"] < base["y"]  # the exponent stands above its base

    forged = [
        ["script", {}, ["window.hit = 1"]],
        ["img", {"src": "https://evil.invalid/x.png", "onerror": "window.hit = 1"}, []],
        ["a", {"href": "javascript:window.hit = 1"}, ["link"]],
        ["p", {"style": "position:fixed", "id": "accept", "onclick": "window.hit = 1", "class": "r-ruling"}, ["text"]],
        [
            "math",
            {"href": "javascript:window.hit = 1", "width": "900em", "dir": "ltr"},
            [["annotation-xml", {}, ["x"]]],
        ],
        ["constructor", {}, ["y"]],
        {"tag": "p"},
        None,
        7,
    ]
    assert page.evaluate(draw, forged) == 'window.hit = 1link<p>text</p><math dir="ltr">x</math>y'
    assert page.evaluate("window.hit") is None
    assert strange == []
    page.close()
