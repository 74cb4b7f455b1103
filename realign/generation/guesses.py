"""What comes next in a text that copies: where it stands in what it copies from, and how far to look ahead."""

from collections.abc import Iterable, Sequence

LONGEST = 3
"""Tokens that must agree to find a place; asking for more finds fewer places and, by measure, no better ones."""

NEAR = 16
"""Tokens ahead within which a single token that agrees is enough."""

FIRST, MOST, LEAST = 15, 31, 4
"""Tokens guessed at first, at most, and beyond those that the last guess got right."""


class Guesses:
    """The likely next tokens of a text that copies much of `guess`, or else of itself and of what stands before it.

    `before` are the tokens of the conversation, `guess` the tokens that are likely copied, with the one that ends them.
    """

    def __init__(self, before: Iterable[int], guess: Iterable[int]) -> None:
        self._guess = _Text(guess)
        self._text = _Text(before)
        self._begin = len(self._text.tokens)
        self._at: int | None = 0
        """Where in `guess` the text goes on; none while it departs from it."""
        self._last_at = 0
        self._size = FIRST

    def ahead(self) -> list[int]:
        """Return the tokens that likely come next; none where nothing tells."""
        if self._at is not None:
            return self._guess.tokens[self._at : self._at + self._size]
        for length in range(LONGEST, 1, -1):
            # The last place is the end of the text itself.
            if places := self._text.places_after(self._text.tokens[-length:])[:-1]:
                return self._text.tokens[places[-1] : places[-1] + self._size]
        return []

    def add(self, tokens: Sequence[int], n_guessed: int = 0) -> None:
        """Take note of what was written: as many tokens of a guess of `n_guessed` as were right, and one more."""
        if n_guessed:
            n_right = len(tokens) - 1
            self._size = min(MOST, 2 * self._size if n_right == n_guessed else n_right + LEAST)
        for token in tokens:
            self._text.add(token)
            if self._at is not None and self._guess.tokens[self._at : self._at + 1] == [token]:
                self._at += 1
            else:
                self._last_at = self._last_at if self._at is None else self._at
                self._at = self._find()

    def _find(self) -> int | None:
        """Find the place in `guess` by the last tokens written; rather one that lies ahead than one passed before."""
        written = self._text.tokens[self._begin :]
        for length in range(min(LONGEST, len(written)), 0, -1):
            places = self._guess.places_after(written[-length:])
            ahead = next((place for place in places if place >= self._last_at), None)
            if ahead is not None and (length > 1 or ahead - self._last_at <= NEAR):
                return ahead
            if places and length > 1:
                return places[-1]
        return None


class _Text:
    """Tokens, and the places that follow each run of up to `LONGEST` of them."""

    def __init__(self, tokens: Iterable[int]) -> None:
        self.tokens: list[int] = []
        self._places: dict[tuple[int, ...], list[int]] = {}
        for token in tokens:
            self.add(token)

    def add(self, token: int) -> None:
        self.tokens.append(token)
        for length in range(1, min(LONGEST, len(self.tokens)) + 1):
            self._places.setdefault(tuple(self.tokens[-length:]), []).append(len(self.tokens))

    def places_after(self, run: Sequence[int]) -> list[int]:
        return self._places.get(tuple(run), [])
