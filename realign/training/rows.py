"""Pairs into token rows: checked one by one, every drop counted, nothing cut off."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

from jinja2 import TemplateError

from realign.errors import InvalidInput
from realign.models.control_tokens import control_tokens, defuse
from realign.records import Chat, Message, Pair, PairKind, Record, Relation

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

IDENTICAL = "chosen and rejected are the same"
EMPTY = "chosen is empty"
NOT_A_PREFIX = "the chat template writes the prompt differently once an answer follows"
NO_END = "the chat template does not end the answer with the end-of-text token"
REFUSED = "the chat template refuses this conversation"


class Row(NamedTuple):
    """One pair as the trainer sees it; only the answers' tokens, with the end-of-text token, are trained."""

    prompt_ids: list[int]
    chosen_ids: list[int]
    rejected_ids: list[int]
    kind: PairKind
    relation: Relation


class RowReport(Record):
    """How many pairs came in, how many are trained on, and why the others are not."""

    loaded: int
    kept: int
    dropped: dict[str, int]
    """Number of pairs by reason."""
    by_kind: dict[str, int]
    """Number of kept pairs by kind."""
    longest: int
    """Tokens of the longest pair that was looked at, kept or not."""
    chosen_words: float
    """Mean number of words of the kept chosen answers."""
    length_ratio: float | None
    """Words of all chosen answers over words of all rejected ones; far from 1 the model learns length."""
    decoded_example: str
    """The first row as text, the trained part in brackets."""

    def with_dropped(self, more: Mapping[str, int]) -> Self:
        """Return this report with pairs that were dropped earlier counted in."""
        dropped = Counter(self.dropped)
        dropped.update(more)
        return self.model_copy(update={"loaded": self.loaded + sum(more.values()), "dropped": dict(dropped)})


class RowBuild(NamedTuple):
    """The rows to train on and the report about them."""

    rows: list[Row]
    report: RowReport


def prepare(pairs: Iterable[Pair], tokenizer: "PreTrainedTokenizerBase", *, max_length: int) -> RowBuild:
    """Turn `pairs` into rows of at most `max_length` tokens, or fewer where the model takes fewer.

    The chat template is applied once over prompt and answer, so that a default system turn is written once. Raises
    `InvalidInput` where the tokenizer has no chat template or no end-of-text token.
    """
    encoder = _Encoder(tokenizer, max_length)
    kept: list[tuple[Pair, Row]] = []
    dropped: Counter[str] = Counter()
    for pair in pairs:
        row = encoder.row(pair)
        if isinstance(row, str):
            dropped[row] += 1
        else:
            kept.append((pair, row))
    return RowBuild([row for _, row in kept], _report(kept, dropped, encoder))


def decode_example(row: Row, tokenizer: "PreTrainedTokenizerBase") -> str:
    """Return `row` as text with control tokens visible; what stands in ⟦ ⟧ is trained, the rest is only read."""
    prompt, chosen, rejected = (tokenizer.decode(ids) for ids in row[:3])
    return f"{prompt}⟦{chosen}⟧\n— rather than —\n⟦{rejected}⟧"


class _Encoder:
    """Encodes one pair at a time with one tokenizer, and remembers the longest it saw."""

    def __init__(self, tokenizer: "PreTrainedTokenizerBase", max_length: int) -> None:
        if not tokenizer.chat_template:
            raise InvalidInput(
                f"The tokenizer of {tokenizer.name_or_path} has no chat template, so its conversations have no "
                "roles. Choose an instruction-tuned model, or add a chat_template.jinja to its folder."
            )
        if tokenizer.eos_token_id is None:
            raise InvalidInput(
                f"The tokenizer of {tokenizer.name_or_path} has no end-of-text token, so the model could not learn "
                "where an answer ends. Set eos_token in its tokenizer_config.json."
            )
        self.tokenizer = tokenizer
        self.max_length = min(max_length, tokenizer.model_max_length)
        self.longest = 0
        self._control_tokens = control_tokens(tokenizer)

    def row(self, pair: Pair) -> Row | str:
        """Return the row, or the reason why there is none."""
        if not _visible(pair.chosen):
            return EMPTY
        if pair.chosen == pair.rejected:
            return IDENTICAL
        try:
            prompt = self._ids(pair.prompt, generation=True)
            chosen = self._completion(prompt, pair.prompt, pair.chosen)
            rejected = self._completion(prompt, pair.prompt, pair.rejected)
        except TemplateError:
            return REFUSED
        if isinstance(chosen, str):
            return chosen
        if isinstance(rejected, str):
            return rejected
        if chosen == rejected:
            return IDENTICAL
        length = len(prompt) + max(len(chosen), len(rejected))
        self.longest = max(self.longest, length)
        if length > self.max_length:
            return f"longer than {self.max_length} tokens"
        return Row(prompt, chosen, rejected, pair.kind, pair.relation)

    def _completion(self, prompt_ids: list[int], prompt: Chat, answer: str) -> list[int] | str:
        """Return the answer's tokens up to and with the end-of-text token, or the reason why that cannot be."""
        ids = self._ids((*prompt, Message(role="assistant", content=answer)), generation=False)
        if ids[: len(prompt_ids)] != prompt_ids:
            return NOT_A_PREFIX
        completion = ids[len(prompt_ids) :]
        end = self.tokenizer.eos_token_id
        if end not in completion:
            return NO_END
        # What a template writes behind the end, such as a line break, the model never has to write itself.
        return completion[: completion.index(end) + 1]

    def _ids(self, chat: Chat, *, generation: bool) -> list[int]:
        messages = [{"role": turn.role, "content": defuse(turn.content, self._control_tokens)} for turn in chat]
        ids: list[int] = self.tokenizer.apply_chat_template(
            messages, add_generation_prompt=generation, return_dict=False
        )
        return ids


def _report(kept: Sequence[tuple[Pair, Row]], dropped: Counter[str], encoder: _Encoder) -> RowReport:
    chosen = sum(len(pair.chosen.split()) for pair, _ in kept)
    rejected = sum(len(pair.rejected.split()) for pair, _ in kept)
    return RowReport(
        loaded=len(kept) + dropped.total(),
        kept=len(kept),
        dropped=dict(dropped),
        by_kind=dict(Counter(row.kind for _, row in kept)),
        longest=encoder.longest,
        chosen_words=chosen / len(kept) if kept else 0.0,
        length_ratio=chosen / rejected if rejected else None,
        decoded_example=decode_example(kept[0][1], encoder.tokenizer) if kept else "",
    )


def _visible(text: str) -> bool:
    """Say whether `text` shows anything: white space and zero-width characters do not."""
    return any(sign.isprintable() and not sign.isspace() for sign in text)
