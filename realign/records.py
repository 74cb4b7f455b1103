"""The nouns of the loop: frozen, validated records without input or output.

A record that exists is right: unknown fields are refused, values are checked when it is made, and nothing changes
afterwards. A change of mind is a new record that names the one it supersedes.
"""

import hashlib
import json
from datetime import UTC, datetime
from typing import Annotated, Literal, NamedTuple, Self

import regex
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, model_validator

Role = Literal["system", "user", "assistant"]
Actor = Literal["policy", "reviser"]
Finish = Literal["stop", "length", "cancelled"]
Ruling = Literal["accepted", "edited", "rejected", "tied", "skipped", "flagged", "withdrawn"]
PairKind = Literal["on_policy", "revision", "plain"]
Relation = Literal[
    "final_over_draft", "final_over_revision", "draft_over_revision", "best_over_worst", "preferred_draft", "imported"
]
Side = Literal["left", "right"]
Rating = Annotated[int, Field(ge=1, le=5)]

SCHEMA_VERSION = 1

Moment = Annotated[AwareDatetime, AfterValidator(lambda moment: moment.astimezone(UTC))]


_NOTHING = regex.compile(r"[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*")


def is_empty(text: str) -> bool:
    """Say whether a text holds nothing to read: only white space, control or zero-width characters."""
    return _NOTHING.fullmatch(text) is not None


def is_broken(text: str) -> bool:
    """Say whether a text holds what no database and no file takes: NUL, or half a character (a lone surrogate)."""
    return "\0" in text or any("\ud800" <= character <= "\udfff" for character in text)


class Record(BaseModel):
    """Frozen and strict about its fields; a field's docstring is its description everywhere."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, protected_namespaces=())


class Message(Record):
    """One turn of a conversation."""

    role: Role
    content: str


Chat = tuple[Message, ...]


def chat_hash(messages: Chat) -> str:
    """Return the SHA-256 of a conversation with white space and case folded, so that near copies collide."""
    folded = [[message.role, " ".join(message.content.split()).casefold()] for message in messages]
    return hashlib.sha256(json.dumps(folded, ensure_ascii=False).encode()).hexdigest()


class Decoding(Record):
    """How text is sampled from a model."""

    temperature: float = Field(0.7, ge=0, le=2)
    """0 always takes the likeliest token; higher values vary more."""
    top_p: float = Field(0.95, gt=0, le=1)
    """Sample only among the likeliest tokens that together hold this much probability."""
    max_new_tokens: int = Field(256, ge=1, le=8192)
    """Stop after this many tokens, finished or not."""
    seed: int = Field(0, ge=0)
    """The same seed, model and settings give the same text on the same machine."""


class ModelRef(Record):
    """Exactly which weights wrote a text."""

    source: str
    """Catalogue name, Hub id, local folder or server address of the base model."""
    revision: str | None = None
    """Commit or checksum of the base weights, where the source tells one."""
    adapter: str | None = None
    """Name of the run whose adapter was active; none means the base alone."""
    adapter_hash: str | None = None
    """SHA-256 of that adapter's weights."""

    @property
    def label(self) -> str:
        """A short name for screens, such as `SmolLM2-135M-Instruct + 20261201-141503-policy-7f3a`."""
        name = self.source.rstrip("/").rsplit("/", 1)[-1]
        return f"{name} + {self.adapter}" if self.adapter else name


class Prompt(Record):
    """A conversation that awaits an answer."""

    id: str
    messages: Chat = Field(min_length=1)
    origin: str = "typed"
    """The file or place it came from."""
    source_id: str | None = None
    """Its name in that place."""
    category: str | None = None
    language: str | None = None
    created: Moment

    @model_validator(mode="after")
    def _ends_with_the_user(self) -> Self:
        if self.messages[-1].role != "user":
            raise ValueError("the last message of a prompt must come from the user")
        if is_empty(self.messages[-1].content):
            raise ValueError("the last message of a prompt is empty")
        return self

    @property
    def content_hash(self) -> str:
        """Identifies the conversation whatever its id; held-out prompts are told from training prompts by it."""
        return chat_hash(self.messages)


class Draft(Record):
    """What the policy answered."""

    id: str
    prompt_id: str
    text: str
    model: ModelRef
    decoding: Decoding
    finish: Finish
    """`stop`: ended by itself; `length`: cut at max_new_tokens; `cancelled`: a person stopped it."""
    created: Moment


class Revision(Record):
    """What the reviser made of a draft."""

    id: str
    draft_id: str
    text: str
    model: ModelRef
    template: str
    """Name and version of the revision prompt's wording."""
    instruction: str = ""
    """What the annotator asked of this revision beside the template's wording, such as "shorter"."""
    decoding: Decoding
    finish: Finish
    created: Moment


class Edit(Record):
    """One hunk as the person left it."""

    op: Literal["insert", "delete", "replace"]
    old: str
    new: str
    accepted: bool


class Decision(Record):
    """A person's ruling on one revision; a later one supersedes, none is ever changed."""

    id: str
    prompt_id: str
    draft_id: str
    revision_id: str
    ruling: Ruling
    """`withdrawn` takes an earlier decision back, so that the item waits again."""
    final_text: str
    """The text that stands: the revision as the person left it, or the draft where the draft is better."""
    edits: tuple[Edit, ...] = ()
    annotator: str = Field(min_length=1)
    reasons: tuple[str, ...] = ()
    comment: str = ""
    started: Moment
    decided: Moment
    ratings: dict[str, Rating] = {}
    """From 1 to 5, by the name of the dimension."""
    revision_side: Side = "right"
    """Where the revision stood on the screen."""
    blind: bool = False
    """The person did not know which of the two texts was the revision."""
    active_ms: int = Field(0, ge=0)
    """Time the person worked on the item, in milliseconds."""
    supersedes: str | None = None
    schema_version: int = SCHEMA_VERSION


class Work(Record):
    """What a person has done with a revision so far."""

    refused: tuple[int, ...] = ()
    """Indices of the refused hunks."""
    final_text: str = ""
    reasons: tuple[str, ...] = ()
    comment: str = ""
    ratings: dict[str, Rating] = {}


class Unfinished(Work):
    """Work that is kept while its person has not decided; no decision is ever changed by it."""

    decision_id: str
    """The id the decision will carry; once that is stored, nothing more is kept under it."""
    prompt_id: str
    revision_id: str
    annotator: str = Field(min_length=1)
    saved: Moment


class Preference(Record):
    """A person's choice between two drafts of one prompt; a later one supersedes, none is ever changed."""

    id: str
    prompt_id: str
    left_id: str
    """The draft that stood on the left."""
    right_id: str
    preferred: Literal["left", "right", "tie"] | None
    """None: the person passed it over, which is no verdict and never a tie."""
    annotator: str = Field(min_length=1)
    reasons: tuple[str, ...] = ()
    comment: str = ""
    started: Moment
    decided: Moment
    active_ms: int = Field(0, ge=0)
    supersedes: str | None = None
    schema_version: int = SCHEMA_VERSION


class Decided(NamedTuple):
    """One decision with the texts it ruled on: the native record."""

    prompt: Prompt
    draft: Draft
    revision: Revision
    decision: Decision


class Item(NamedTuple):
    """What the curation screen shows: a prompt with whatever was written for it so far."""

    prompt: Prompt
    draft: Draft | None
    revision: Revision | None
    decision_id: str
    """The id the decision will carry, so that sending it twice stores it once."""
    started: datetime
    superseded: Decision | None
    """The live decision this item already has, when a person came back to it."""
    revisions: tuple[Revision, ...] = ()
    """Every revision of the draft that can be looked at instead, oldest first."""


class TwoDrafts(NamedTuple):
    """Two drafts of one prompt, of which a person picks the better; `left` and `right` are sides by chance."""

    prompt: Prompt
    left: Draft | None
    right: Draft | None
    decision_id: str
    started: datetime
    superseded: Preference | None


class Undone(NamedTuple):
    """An item that is in front of a person again, and the decision that was taken back."""

    item: Item
    decision: Decision


class Pair(Record):
    """One preference: given `prompt`, `chosen` is better than `rejected`."""

    kind: PairKind
    """`plain` and `on_policy` answer the person's prompt; `revision` answers the request to improve the draft."""
    relation: Relation
    """What was compared with what."""
    prompt: Chat
    chosen: str
    rejected: str
    prompt_hash: str
    """Hash of the person's prompt, also where `prompt` is a revision prompt: splits go by it."""
    decision_id: str | None = None
    origin: str = ""
    """The annotator, ranker or file this preference came from."""


class Promotion(Record):
    """From now on this model is the policy or the reviser in use."""

    id: str
    actor: Actor
    run: str | None
    """The run whose adapter is used; none goes back to the base."""
    annotator: str
    created: Moment


class Game(Record):
    """One prompt answered by two models, as a judge sees it; `first` and `second` are sides, not models."""

    id: str
    run: str
    prompt: Chat
    category: str | None = None
    first: str
    second: str
    first_is_model: bool
    """Which side the model under test is on; the other side is the baseline."""
    reference_text: str = ""


class Verdict(Record):
    """What a judge said of one game; no verdict is never a tie."""

    id: str
    game_id: str
    judge: str
    preferred: Literal["first", "second", "tie"] | None
    """None: the judge gave no readable answer; such a game is counted as unjudged."""
    words: str = ""
    created: Moment


class Score(Record):
    """One benchmark result with everything needed to judge what it is worth."""

    id: str
    run: str
    benchmark: str
    model: str
    baseline: str
    judge: str
    win_rate: float
    """Percent; a tie counts one half."""
    lower: float
    upper: float
    level: float = 0.95
    n: int
    n_unjudged: int
    decoding: Decoding
    created: Moment
