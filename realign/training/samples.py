"""A few answers before and after training, so that a person sees what changed."""

from collections.abc import Sequence
from typing import Any

import torch

from realign.records import Record
from realign.training.rows import Row

N_SAMPLES = 3
NEW_TOKENS = 64


class Sample(Record):
    """One line of `output/samples.jsonl`."""

    prompt: str
    before: str
    after: str


def sample_prompts(rows: Sequence[Row]) -> list[list[int]]:
    """Return the token ids of the first few different prompts that were trained on."""
    different = {tuple(row.prompt_ids): row.prompt_ids for row in rows}
    return list(different.values())[:N_SAMPLES]


def write_answers(model: Any, tokenizer: Any, prompts: Sequence[list[int]]) -> list[str]:
    """Return the likeliest answer of `model` to each prompt, at most `NEW_TOKENS` tokens each."""
    model.eval()
    answers = []
    for prompt in prompts:
        ids = torch.tensor([prompt], device=model.device)
        with torch.no_grad():
            written = model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=NEW_TOKENS,
                do_sample=False,
                pad_token_id=tokenizer.pad_token_id,
                eos_token_id=tokenizer.eos_token_id,
            )
        answers.append(str(tokenizer.decode(written[0, len(prompt) :], skip_special_tokens=True)).strip())
    return answers
