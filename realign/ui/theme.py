"""How the page looks: one calm theme, fonts that come with Gradio, one accent."""

import json
from pathlib import Path

import gradio as gr
from gradio.themes.utils.fonts import LocalFont

STATIC = Path(__file__).parent / "static"
SCRIPTS = ("page.js", "rendered.js", "work.js", "keys.js")

SANS = (LocalFont("IBM Plex Sans", weights=(400, 700)), "system-ui", "sans-serif")
MONO = (LocalFont("IBM Plex Mono", weights=(400, 700)), "ui-monospace", "monospace")

ACCENT = "#0f5c63"


def theme() -> gr.themes.Base:
    """Return the theme; the colours of the page's own components are in `page.css`."""
    return gr.themes.Base(font=SANS, font_mono=MONO, radius_size=gr.themes.sizes.radius_md).set(
        body_background_fill="#f6f6f4",
        body_background_fill_dark="#14171a",
        body_text_color="#1d2125",
        body_text_color_dark="#e7e9ea",
        body_text_color_subdued="#5c666e",
        body_text_color_subdued_dark="#98a1a9",
        background_fill_primary="#ffffff",
        background_fill_primary_dark="#1c2024",
        background_fill_secondary="#f6f6f4",
        background_fill_secondary_dark="#14171a",
        block_background_fill="#ffffff",
        block_background_fill_dark="#1c2024",
        block_border_color="#e3e4e1",
        block_border_color_dark="#2c3238",
        block_label_background_fill="*block_background_fill",
        block_label_text_color="#5c666e",
        block_label_text_color_dark="#98a1a9",
        block_title_text_color="#1d2125",
        block_title_text_color_dark="#e7e9ea",
        block_title_text_weight="500",
        block_info_text_color="#5c666e",
        block_info_text_color_dark="#98a1a9",
        block_shadow="none",
        border_color_primary="#e3e4e1",
        border_color_primary_dark="#2c3238",
        input_background_fill="#ffffff",
        input_background_fill_dark="#1c2024",
        input_border_color="#d4d6d3",
        input_border_color_dark="#3a4148",
        input_placeholder_color="#6b757d",
        input_placeholder_color_dark="#87919a",
        color_accent=ACCENT,
        color_accent_soft="#e4f0f0",
        color_accent_soft_dark="#1d3437",
        checkbox_background_color_selected=ACCENT,
        checkbox_background_color_selected_dark="#5fb9bf",
        checkbox_label_background_fill="transparent",
        checkbox_label_background_fill_dark="transparent",
        checkbox_label_background_fill_hover="#e4f0f0",
        checkbox_label_background_fill_hover_dark="#1d3437",
        checkbox_label_background_fill_selected="transparent",
        checkbox_label_background_fill_selected_dark="transparent",
        slider_color=ACCENT,
        slider_color_dark="#5fb9bf",
        loader_color=ACCENT,
        table_even_background_fill="#ffffff",
        table_even_background_fill_dark="#1c2024",
        table_odd_background_fill="#ffffff",
        table_odd_background_fill_dark="#1c2024",
    )


def style() -> str:
    """Return the page's CSS."""
    return (STATIC / "page.css").read_text(encoding="utf-8")


def head(translations: dict[str, dict[str, str]]) -> str:
    """Return the page's script, speaking the reader's language."""
    script = "\n".join((STATIC / name).read_text(encoding="utf-8") for name in SCRIPTS)
    # "<" would end the script where it stands before "/script".
    tables = json.dumps(translations, ensure_ascii=False).replace("<", "\\u003c")
    return f"<script>{script}\nrealign.speak({tables});\nrealign.listen();</script>"
