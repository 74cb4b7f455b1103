"""Token by token: the loop that writes one text or several, and the choice of each token.

A text that likely copies is guessed ahead: the model computes the guessed tokens all at once, and those stand that it
would have chosen itself. What is written is what it would be without guesses, rounding apart.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from realign.generation.guesses import Guesses
from realign.records import Decoding

LIKELIEST = 256
"""Tokens among which one is drawn without sorting the whole vocabulary, where they hold enough probability."""

SPARE = 256
"""Tokens that a cache has room for beyond those it holds when it grows."""


class Bounds(NamedTuple):
    """What ends a text."""

    end_ids: Sequence[int]
    max_new_tokens: int
    stopped: Callable[[], bool]


def draws(decoding: Decoding, n_texts: int) -> torch.Tensor:
    """Return a number from 0 to 1 for each place in each of `n_texts`, by which a token is drawn there.

    As it belongs to the place, guesses change neither the text nor its distribution. The first text's numbers are the
    same however many there are.
    """
    generator = torch.Generator().manual_seed(decoding.seed)
    return torch.rand((n_texts, decoding.max_new_tokens), generator=generator)


class Choice:
    """Chooses tokens as `decoding` says: the likeliest, or one drawn by the number for its place."""

    def __init__(self, decoding: Decoding, numbers: torch.Tensor) -> None:
        self._temperature = decoding.temperature
        self._top_p = decoding.top_p
        self._numbers = numbers

    def __call__(self, logits: torch.Tensor, texts: list[int] | int, places: slice | int) -> list[int]:
        """Return a token for each row of `logits`, which are those of `places` in `texts`."""
        if self._temperature == 0:
            return list(logits.float().argmax(dim=-1).tolist())
        probabilities = torch.softmax(logits.float() / self._temperature, dim=-1)
        numbers = self._numbers[texts, places].flatten()
        likeliest = probabilities.topk(min(LIKELIEST, probabilities.shape[-1]))
        chosen, held = self._drawn(likeliest.values, likeliest.indices, numbers)
        if not bool(held.all()):
            ordered = probabilities[(~held).to(logits.device)].sort(dim=-1, descending=True)
            chosen[~held], _ = self._drawn(ordered.values, ordered.indices, numbers[~held])
        return list(chosen.tolist())

    def _drawn(
        self, ordered: torch.Tensor, tokens: torch.Tensor, numbers: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return a token for each row, and whether its probabilities, likeliest first, went far enough to tell."""
        ordered, tokens = ordered.cpu().double(), tokens.cpu()
        upto = ordered.cumsum(dim=-1)
        if self._top_p < 1:
            held = upto[:, -1] >= self._top_p
            # The likeliest token always stays, and so does the one that reaches `top_p`.
            within = (upto - ordered) < self._top_p
            whole = upto.gather(1, within.sum(dim=-1, keepdim=True) - 1)
        else:
            held = numbers < upto[:, -1]
            whole = torch.ones_like(upto[:, :1])
        place = (upto <= numbers[:, None] * whole).sum(dim=-1, keepdim=True).clamp(max=ordered.shape[-1] - 1)
        return tokens.gather(1, place).squeeze(1), held


def write_one(
    model: Any, prompt: Sequence[int], choice: Choice, bounds: Bounds, guess: Sequence[int] = ()
) -> Iterator[list[int]]:
    """Yield the tokens of one text as they come, with its end token if it has one."""
    cache = _new_cache(model)
    # Windows and recurrent states cannot be taken back as keys and values can.
    guesses = Guesses(prompt, guess) if guess and all(type(layer) is _RoomyLayer for layer in cache.layers) else None
    row, guessed, n = list(prompt), list[int](), 0
    while not bounds.stopped():
        logits = _logits(model, cache, [row], len(guessed) + 1)[0]
        chosen = choice(logits, 0, slice(n, n + len(guessed) + 1))
        n_right = next((i for i, token in enumerate(guessed) if chosen[i] != token), len(guessed))
        written = chosen[: n_right + 1]
        ended = next((i for i, token in enumerate(written) if token in bounds.end_ids), None)
        written = written if ended is None else written[: ended + 1]
        yield written
        n += len(written)
        if ended is not None or n == bounds.max_new_tokens:
            return
        if n_right < len(guessed):
            cache.crop(n_right - len(guessed))
        if guesses:
            guesses.add(written, len(guessed))
            guessed = guesses.ahead()[: bounds.max_new_tokens - n - 1]
        row = [written[-1], *guessed]


def write_many(
    model: Any, prompts: Sequence[Sequence[int]], choice: Choice, bounds: Bounds, pad: int
) -> list[list[int]]:
    """Return the tokens of one text for each prompt, written side by side; a prompt that comes twice is read once."""
    texts: list[list[int]] = [[] for _ in prompts]
    if bounds.stopped():
        return texts
    distinct = list(dict.fromkeys(tuple(prompt) for prompt in prompts))
    longest = max(len(prompt) for prompt in distinct)
    gaps = [longest - len(prompt) for prompt in distinct]
    rows = [[pad] * gap + list(prompt) for gap, prompt in zip(gaps, distinct, strict=True)]
    mask = torch.tensor([[0] * gap + [1] * (longest - gap) for gap in gaps], device=model.device) if any(gaps) else None
    cache = _new_cache(model)
    logits = _logits(model, cache, rows, 1, mask)[:, -1]
    live = list(range(len(prompts)))
    if len(distinct) < len(prompts):
        mask, logits = _keep([distinct.index(tuple(prompt)) for prompt in prompts], cache, mask, logits)
    for place in range(bounds.max_new_tokens):
        chosen = choice(logits, live, place)
        for text, token in zip(live, chosen, strict=True):
            texts[text].append(token)
        going = [row for row, token in enumerate(chosen) if token not in bounds.end_ids]
        if not going or place + 1 == bounds.max_new_tokens or bounds.stopped():
            break
        if len(going) < len(live):
            live = [live[row] for row in going]
            mask, _ = _keep(going, cache, mask, logits)
        if mask is not None:
            mask = torch.cat([mask, mask.new_ones((len(going), 1))], dim=1)
        logits = _logits(model, cache, [[chosen[row]] for row in going], 1, mask)[:, -1]
    return texts


def _keep(
    rows: list[int], cache: DynamicCache, mask: torch.Tensor | None, logits: torch.Tensor
) -> tuple[torch.Tensor | None, torch.Tensor]:
    """Drop or repeat rows of a batch, also in the cache; return what is left of mask and logits."""
    cache.batch_select_indices(torch.tensor(rows, device=logits.device))
    return None if mask is None else mask[rows], logits[rows]


@torch.inference_mode()
def _logits(
    model: Any, cache: DynamicCache, rows: list[list[int]], n_logits: int, mask: torch.Tensor | None = None
) -> torch.Tensor:
    """Return the logits after each of the last `n_logits` tokens of `rows`, which the cache then holds."""
    positions = None if mask is None else (mask.cumsum(dim=-1) - 1).clamp(min=0)[:, -len(rows[0]) :]
    out: torch.Tensor = model(
        input_ids=torch.tensor(rows, device=model.device),
        attention_mask=mask,
        position_ids=positions,
        cache=cache,
        use_cache=True,
        logits_to_keep=n_logits,
    ).logits
    return out


def _new_cache(model: Any) -> DynamicCache:
    cache = DynamicCache(config=model.config)
    cache.layers = [_RoomyLayer() if type(layer) is DynamicLayer else layer for layer in cache.layers]
    return cache


class _RoomyLayer(DynamicLayer):  # type: ignore[misc]
    """Keys and values of one layer in memory with room to grow, where transformers copies all of them at each step."""

    keys: torch.Tensor
    values: torch.Tensor
    _room: tuple[torch.Tensor, torch.Tensor] | None = None

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Add to what is held, and return all of it."""
        held = self.get_seq_length()
        length = held + key_states.shape[-2]
        if self._room is None or self._room[0].shape[-2] < length:
            if not self.is_initialized:
                self.lazy_initialization(key_states, value_states)
            shapes = [(*new.shape[:-2], length + SPARE, new.shape[-1]) for new in (key_states, value_states)]
            self._room = (key_states.new_empty(shapes[0]), value_states.new_empty(shapes[1]))
            if held:
                self._room[0][..., :held, :] = self.keys
                self._room[1][..., :held, :] = self.values
        self._room[0][..., held:length, :] = key_states
        self._room[1][..., held:length, :] = value_states
        self.keys, self.values = self._room[0][..., :length, :], self._room[1][..., :length, :]
        return self.keys, self.values

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keep only these rows, or repeat them."""
        super().batch_select_indices(indices)
        self._room = None
