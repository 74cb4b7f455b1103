"""The layers of a model made quick for the few rows that writing computes at a time, on the CPU.

A step of decoding multiplies one to some dozen rows by every weight, so that reading the weights takes the time. Left
as they are stored, oneDNN copies them block by block on every call; `quicken` has it do so once. The blocks take the
place of the weights: no second copy is kept, and the model can no longer be saved or trained.
"""

import contextlib
import ctypes
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

if TYPE_CHECKING:
    from transformers import PreTrainedModel

ROWS_HINT = 8
"""Rows that the blocks are laid out for; fp32 is slower by half if laid out for one, bf16 takes no notice."""

FEW = 64
"""Rows up to which the query heads of a key head are computed as one."""

GROUPED = "grouped"


def quicken(model: "PreTrainedModel") -> None:
    """Lay out the linear layers of `model` for oneDNN and group its attention; do nothing where that cannot help."""
    if model.device.type != "cpu" or not _onednn_takes(model.dtype):
        return
    # What the embedding reads too, row by row, stays as it is.
    kept = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    for module in list(model.modules()):
        if type(module) is nn.Linear:
            module.__class__ = _OneDnnLinear
            if id(module.weight) not in kept:
                blocks = torch.ops.mkldnn._reorder_linear_weight(module.weight.detach(), ROWS_HINT)
                module.weight = nn.Parameter(blocks, requires_grad=False)
    _let_go(model)
    if model.config._attn_implementation == "sdpa":
        model.set_attn_implementation(GROUPED)


def _let_go(model: "PreTrainedModel") -> None:
    """Give back the memory of the weights that were laid out anew."""
    # The file of weights stays in memory as a whole while one tensor still lies in it.
    for parameter in model.parameters():
        if parameter.layout is torch.strided:
            parameter.data = parameter.data.clone()
    # The C library keeps what is freed in pieces of a megabyte or two; nothing but glibc has to be told.
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _onednn_takes(dtype: torch.dtype) -> bool:
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    return dtype == torch.float32 or (dtype == torch.bfloat16 and torch.ops.mkldnn._is_mkldnn_bf16_supported())


class _OneDnnLinear(nn.Linear):
    """A linear layer whose weight may lie in oneDNN's blocks. PEFT wraps it as it does any other."""

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return `rows` times the weight."""
        out: torch.Tensor = torch.ops.mkldnn._linear_pointwise(rows, self.weight, self.bias, "none", [], "")
        return out


def _grouped_attention(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """Attention of few rows: the query heads that share a key head count as rows of one head.

    transformers would copy keys and values for every query head instead, at each step and layer.
    """
    batch, heads, rows, width = query.shape
    other_mask = rows > 1 if attention_mask is None else attention_mask.shape[1] > 1
    if rows > FEW or other_mask or any(kwargs.get(name) is not None for name in ("position_bias", "softcap")):
        done: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **kwargs
        )
        return done
    share = heads // key.shape[1]
    query = query.reshape(batch, key.shape[1], share * rows, width)
    if attention_mask is not None and rows > 1:
        attention_mask = attention_mask.repeat(1, 1, share, 1)
    out = scaled_dot_product_attention(query, key, value, attn_mask=attention_mask, scale=scaling)
    return out.reshape(batch, heads, rows, width).transpose(1, 2), None


AttentionInterface.register(GROUPED, _grouped_attention)
AttentionMaskInterface.register(GROUPED, sdpa_mask)
