"""How fast revisions and drafts are written, against the unmodified model of transformers, in one alternating run.

    python tests/perf/decode.py [--n 40] [--precision bf16|fp32] [--cache FOLDER]

A ratio is tokens per second of ours over those of plain `generate`; above 1 we are faster. Texts that differ because
bf16 rounds otherwise in other batches are counted and scored by the unmodified model. Not a test: it takes minutes.
"""

import argparse
import gc
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))

import peft
import psutil
import torch
import transformers
from transformers import GenerationConfig

from realign.generation import Answer, Backend, ModelShelf
from realign.generation.templates import DEFAULT_TEMPLATE, revision_prompt
from realign.models.catalog import ModelSpec
from realign.models.loading import choose_dtype, load
from realign.records import Chat, Decoding, Message
from realign.settings import EMBEDDED

DRAFTING = Decoding(temperature=0, top_p=1, max_new_tokens=200)
REVISING = Decoding(temperature=0, top_p=1, max_new_tokens=300)
SAMPLING = Decoding(temperature=0.8, top_p=0.95, max_new_tokens=100)
BRIEF = Decoding(temperature=0, top_p=1, max_new_tokens=4)
GREETING: Chat = (Message(role="user", content="Hello"),)
N_DRAFTS = 8
"""Drafts also written by the plain model."""

PROMPTS = (
    "Write a short email to my landlord: the heating in the bedroom has not worked since Monday.",
    "Explain to a ten-year-old why the sky is blue.",
    "Write a Python function that returns the n-th Fibonacci number, and explain how it works.",
    "Give me a packing list for a weekend of hiking in the rain.",
    "What is the difference between a virus and a bacterium?",
    "Write a polite message that declines an invitation to a wedding.",
    "How do I cook rice so that it does not stick?",
    "Summarise the story of Romeo and Juliet in five sentences.",
    "Schreibe eine kurze Absage für einen Termin beim Zahnarzt am Donnerstag.",
    "List five ways to save electricity in a small flat.",
    "Explain what an interest rate is and how it affects a mortgage.",
    "Write a cover letter for a job as a librarian.",
    "¿Cuáles son las tres ciudades más grandes de España?",
    "Describe how a bicycle stays upright when it moves.",
    "Write a SQL query that counts the orders of each customer in 2024.",
    "What should I do when I burn my hand on a pan?",
    "Write a haiku about the first snow, then explain its image.",
    "Give me three arguments for and three against working from home.",
    "Explain photosynthesis in simple words.",
    "Write a product description for a wooden chess set.",
    "How can I learn to touch-type in a month?",
    "Écris un petit message pour remercier mes voisins de leur aide.",
    "What are the main causes of the First World War?",
    "Write a bash command that finds all files larger than 100 MB.",
    "Plan a birthday party for a six-year-old who likes dinosaurs.",
    "How does a refrigerator keep food cold?",
    "Write a complaint about a parcel that arrived damaged.",
    "Explain the difference between weather and climate.",
    "Give me a week of simple vegetarian dinners.",
    "What is a neural network?",
    "Write a short speech for a colleague who retires after thirty years.",
    "How do I remove a red wine stain from a carpet?",
    "Explain how vaccines work and why some need a booster.",
    "Write a JavaScript function that checks whether a word is a palindrome.",
    "What are the benefits of walking every day?",
    "Spiegami come si prepara un buon caffè con la moka.",
    "Write instructions for changing a flat bicycle tyre.",
    "Tell me about the life of Marie Curie.",
    "Write a job advert for a part-time gardener in a public park.",
    "What is inflation, and what can a family do about it?",
)


class Timed(NamedTuple):
    """A text with the time it took."""

    text: str
    n_tokens: int
    seconds: float

    @property
    def rate(self) -> float:
        """Tokens a second."""
        return self.n_tokens / self.seconds


class Plain:
    """The model as transformers has it: one row, `generate`, nothing changed."""

    def __init__(self, spec: ModelSpec) -> None:
        loaded = load(spec, lambda message: None)
        self.model, self.tokenizer = loaded.model, loaded.tokenizer
        self.end_id = loaded.tokenizer.eos_token_id
        self.model.generation_config = GenerationConfig()

    def encode(self, chat: Chat) -> torch.Tensor:
        """Return the tokens of a conversation that awaits its answer."""
        messages = [{"role": message.role, "content": message.content} for message in chat]
        encoded = self.tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        return encoded["input_ids"]

    def write(self, chat: Chat, decoding: Decoding) -> Timed:
        """Answer a conversation greedily."""
        started = time.perf_counter()
        ids = self.encode(chat)
        with torch.inference_mode():
            out = self.model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                do_sample=False,
                max_new_tokens=decoding.max_new_tokens,
                eos_token_id=self.end_id,
                pad_token_id=self.end_id,
            )
        new = out[0, ids.shape[1] :].tolist()
        text = self.tokenizer.decode(new, skip_special_tokens=True).strip()
        return Timed(text, len(new) - (self.end_id in new), time.perf_counter() - started)

    def log_probability(self, chat: Chat, text: str) -> float:
        """Return the mean log-probability of the tokens of `text` as the answer."""
        before = self.encode(chat)
        ids = self.tokenizer(text, add_special_tokens=False, return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            logits = self.model(torch.cat([before, ids], dim=1), logits_to_keep=ids.shape[1] + 1).logits[0, :-1]
            scores = logits.float().log_softmax(dim=-1).gather(1, ids[0, :, None])
        return float(scores.mean())


def ours(backend: Backend, chat: Chat, decoding: Decoding, guess: str = "") -> Timed:
    """Answer a conversation as the app does while a person waits."""
    started = time.perf_counter()
    *_, last = backend.stream(chat, decoding, guess)
    assert isinstance(last, Answer)
    return Timed(last.text, last.n_tokens, time.perf_counter() - started)


def in_turn(n: int) -> Iterator[tuple[str, str]]:
    """Say who goes first, each as often as the other."""
    for i in range(n):
        yield ("plain", "ours") if i % 2 else ("ours", "plain")


def compare(plain: Plain, backend: Backend, chats: list[Chat], decoding: Decoding, guesses: list[str]) -> list[Any]:
    """Write each answer both ways; return pairs of plain and ours."""
    pairs = []
    for (first, _), chat, guess in zip(in_turn(len(chats)), chats, guesses, strict=True):
        done: dict[str, Timed] = {}
        for who in (first, "plain" if first == "ours" else "ours"):
            done[who] = plain.write(chat, decoding) if who == "plain" else ours(backend, chat, decoding, guess)
        pairs.append((done["plain"], done["ours"]))
        if guess:
            ratio = done["ours"].rate / done["plain"].rate
            same = "" if done["ours"].text == done["plain"].text else "  differs"
            print(
                f"{len(pairs):3}  {done['plain'].n_tokens:4} tokens  plain {done['plain'].rate:6.1f}/s  "
                f"ours {done['ours'].rate:6.1f}/s  ratio {ratio:5.2f}{same}",
                flush=True,
            )
    return pairs


def candidates(backend: Backend, chats: list[Chat]) -> float:
    """Return what eight samples of one prompt cost, in times of one sample (plain prompt, 100 tokens)."""
    ratios = []
    for chat in chats:
        seconds = []
        for k in (1, 8):
            started = time.perf_counter()
            answers = backend.generate([chat] * k, SAMPLING)
            steps = max(answer.n_tokens for answer in answers)
            seconds.append((time.perf_counter() - started) / steps)
        ratios.append(seconds[1] / seconds[0])
    return statistics.median(ratios)


class Memory(NamedTuple):
    """What a process holds beyond its libraries, in MB."""

    weights: float
    resident: float


def memory_of_one(spec: ModelSpec) -> Memory:
    """Measure one unmodified model in use, in a process of its own."""
    before = psutil.Process().memory_info().rss
    plain = Plain(spec)
    plain.write(GREETING, BRIEF)
    return _memory(plain.model, before)


def memory_of_three(spec: ModelSpec, folder: Path) -> Memory:
    """Measure policy, reviser and reference in use on one shelf, the first two with an adapter each."""
    before = psutil.Process().memory_info().rss
    shelf = ModelShelf(lambda message: None)
    specs = [spec, *(spec.model_copy(update={"adapter": folder / name}) for name in ("policy", "reviser"))]
    backends = [shelf.backend(one) for one in specs]
    for backend in backends:
        ours(backend, GREETING, BRIEF)
    return _memory(backends[0]._base._model, before)  # type: ignore[attr-defined]


def _memory(model: Any, before: int) -> Memory:
    gc.collect()
    weights = sum(p.numel() * p.element_size() for p in model.parameters())
    return Memory(weights / 1e6, (psutil.Process().memory_info().rss - before) / 1e6)


def save_adapters(spec: ModelSpec, folder: Path) -> None:
    """Save two adapters of the size that training makes."""
    for name in ("policy", "reviser"):
        config = peft.LoraConfig(r=16, target_modules="all-linear", task_type="CAUSAL_LM", init_lora_weights=False)
        model = peft.get_peft_model(load(spec, lambda message: None).model, config)
        model.save_pretrained(str(folder / name))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=len(PROMPTS))
    parser.add_argument("--precision", choices=["bf16", "fp32"], default="bf16")
    parser.add_argument("--cache", type=Path, default=Path(os.environ.get("REALIGN_MODEL_CACHE", "models")))
    asked = parser.parse_args()
    spec = ModelSpec(source=EMBEDDED, cache=asked.cache, device="cpu", precision=asked.precision)
    chats: list[Chat] = [(Message(role="user", content=prompt),) for prompt in PROMPTS[: asked.n]]

    plain, backend = Plain(spec), ModelShelf(lambda message: None).backend(spec)
    for warm in (lambda: plain.write(chats[0], SAMPLING), lambda: ours(backend, chats[0], SAMPLING)):
        warm()
    drafts = compare(plain, backend, chats[:N_DRAFTS], DRAFTING, [""] * len(chats[:N_DRAFTS]))
    texts = [pair[1].text for pair in drafts] + [answer.text for answer in backend.generate(chats[N_DRAFTS:], DRAFTING)]
    asking = [revision_prompt(DEFAULT_TEMPLATE, chat, text) for chat, text in zip(chats, texts, strict=True)]
    pairs = compare(plain, backend, asking, REVISING, texts)
    with (
        tempfile.TemporaryDirectory() as name,
        ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as pool,
    ):
        save_adapters(spec, Path(name))
        one = pool.submit(memory_of_one, spec).result()
        three = pool.submit(memory_of_three, spec, Path(name)).result()

    print()
    print(f"draft tokens/s: plain {total_rate(drafts, 0):.1f}, ours {total_rate(drafts, 1):.1f}", end=", ")
    print(f"ratio {statistics.median(mine.rate / theirs.rate for theirs, mine in drafts):.2f}")
    print(f"eight candidates cost {candidates(backend, chats[:4]):.2f} times one, step by step")
    print(f"revision tokens/s: plain {total_rate(pairs, 0):.1f}, ours {total_rate(pairs, 1):.1f}")
    differ = [i for i, (theirs, mine) in enumerate(pairs) if theirs.text != mine.text]
    print(f"{len(differ)} of {len(pairs)} texts differ in {asked.precision}", end="; ")
    scores = [
        statistics.mean(plain.log_probability(chat, pair[who].text) for chat, pair in zip(asking, pairs, strict=True))
        for who in (0, 1)
    ]
    print(f"mean log-probability per token: plain {scores[0]:.4f}, ours {scores[1]:.4f}")
    print(
        f"weights {one.weights:.0f} MB alone, {three.weights:.0f} MB for policy, reviser and reference; "
        f"resident {one.resident:.0f} and {three.resident:.0f} MB"
    )
    print(f"memory {max(three.weights / one.weights, three.resident / one.resident):.2f} times one model")
    print(
        f"{cpu_name()}, {torch.get_num_threads()} threads, {choose_dtype('cpu', asked.precision)}; Python "
        f"{platform.python_version()}, torch {torch.__version__}, transformers {transformers.__version__}, "
        f"peft {peft.__version__}"
    )
    ratios = sorted(mine.rate / theirs.rate for theirs, mine in pairs)
    print(f"min {ratios[0]:.2f}, median {statistics.median(ratios):.2f}, max {ratios[-1]:.2f}")
    print(f"ratio {statistics.median(ratios):.2f}")


def total_rate(pairs: list[Any], who: int) -> float:
    """Return tokens a second over all texts of one side."""
    return sum(pair[who].n_tokens for pair in pairs) / sum(pair[who].seconds for pair in pairs)


def cpu_name() -> str:
    """Return what the processor calls itself."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    named = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return named or platform.processor() or platform.machine()


if __name__ == "__main__":
    main()
