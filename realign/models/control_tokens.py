"""Control tokens inside what people and models write: broken, so that text cannot speak with another role's voice."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def defuse(text: str, control_tokens: Iterable[str]) -> str:
    """Break every control token inside `text` with a zero-width space.

    Otherwise a person's `<|im_end|>` would end the turn and what follows would speak with another role's voice.
    """
    for token in control_tokens:
        if token and token in text:
            text = text.replace(token, f"{token[0]}\u200b{token[1:]}")
    return text


def control_tokens(tokenizer: "PreTrainedTokenizerBase") -> tuple[str, ...]:
    """Return every token that steers the model, such as `<|im_end|>`, and that no text may hold.

    Llama 3 names only two of its control tokens as special; the others stand among the added tokens alone.
    """
    added = {str(token) for token in tokenizer.added_tokens_decoder.values() if token.special}
    return tuple(sorted(added | set(tokenizer.all_special_tokens)))
