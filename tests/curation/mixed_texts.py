"""Texts of all kinds for tests that must hold whatever people and models write."""

from hypothesis import strategies as st

SCRAPS = (
    "The cat sat on the mat. ",
    "don't",
    "well-known",
    "3.14",
    "今日は東京へ行きます。",
    "我喜欢苹果，",
    "ภาษาไทย",
    "한국어 문장",
    "👩‍👩‍👧‍👦",
    "👍🏽",
    "🇫🇷🇩🇪",
    "e\u0301a\u0300",
    "नमस्ते",
    "שלום עולם ",
    "مرحبا بالعالم ",
    "\r\n",
    "\n\n",
    "\n- ",
    "\n1. ",
    "\t",
    "  ",
    "\u200b",
    "\u200f",
    "\u2028",
    "a",
    "b",
    " ",
    ".",
)

any_text = st.one_of(
    st.text(max_size=60),
    st.lists(st.one_of(st.sampled_from(SCRAPS), st.text(max_size=3)), max_size=14).map("".join),
)


@st.composite
def draft_and_revision(draw: st.DrawFn) -> tuple[str, str]:
    """Two texts that share some stretches, as a draft and its revision do, or nothing at all."""
    draft = draw(any_text)
    if draw(st.booleans()):
        return draft, draw(any_text)
    kept = list(draft)
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(kept)))
        end = draw(st.integers(start, min(len(kept), start + 8)))
        kept[start:end] = draw(any_text)[:12]
    return draft, "".join(kept)
