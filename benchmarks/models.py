"""What expand, collapse, truncate and ntk do to models that people have: `python -m benchmarks.models` writes a page.

Models are built from their configurations, with random weights: nothing is downloaded. They come from transformers (the
extra `models`), and from timm where it imports: that needs torchvision, whose newer wheels do not load beside a torch
without CUDA, while 0.16.2 does (`make test-frameworks` installs both without their dependencies). For each operation the
outputs are compared with the model's own. In half precision the bar is the model's own rounding: by how much its outputs
in float32 change when nothing but its weights and arithmetic go to half precision.
"""

import argparse
import copy
import importlib
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from lineament.torch import collapse, expand, ntk, truncate

PAGE = Path("docs/models.md")
HALF = torch.bfloat16
SMALL = {"num_labels": 5}
# Without zeros in the last normalisation of each block, which would leave nothing of the block at the start.
TIMM: dict[str, dict[str, Any]] = {
    "resnet18": {"zero_init_last": False},
    "mobilenetv2_050": {},
    "tf_efficientnet_b0": {},
    "convnext_atto": {},
    "vit_tiny_patch16_224": {"img_size": 64},
}


class Case(NamedTuple):
    """A model and its input."""

    name: str
    make: Callable[[], nn.Module]
    inputs: Callable[[], Tensor]


def pictures(side: int = 32) -> Tensor:
    """Two pictures."""
    return torch.randn(2, 3, side, side)


def tokens() -> Tensor:
    """Two texts of sixteen tokens."""
    return torch.randint(1, 100, (2, 16))


def cases() -> list[Case]:
    """Every model that can be built here."""
    own = Case("LSTM", Recurrent, lambda: torch.randn(2, 12, 8))
    return [*of_transformers(), own, *of_timm()]


def installed(package: str) -> Any:
    """A package, or None with the reason why it cannot be imported."""
    try:
        return importlib.import_module(package)
    except (ImportError, RuntimeError) as error:
        print(f"without {package}: {str(error).splitlines()[0]}")
        return None


def of_transformers() -> list[Case]:
    """Small models of transformers, if that is installed."""
    t = installed("transformers")
    if t is None:
        return []
    text: dict[str, Any] = {"vocab_size": 100, **SMALL}
    bert = {
        "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64,
        "max_position_embeddings": 16,
    }  # fmt: skip
    vit = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    return [
        Case("ResNet-18", lambda: t.ResNetForImageClassification(t.ResNetConfig(
            embedding_size=64, hidden_sizes=[64, 128, 256, 512], depths=[2, 2, 2, 2], layer_type="basic", **SMALL)),
            pictures),
        Case("MobileNetV2", lambda: t.MobileNetV2ForImageClassification(t.MobileNetV2Config(
            depth_multiplier=0.35, image_size=32, **SMALL)), pictures),
        Case("ConvNeXt", lambda: t.ConvNextForImageClassification(t.ConvNextConfig(
            hidden_sizes=[16, 32, 64, 128], depths=[1, 1, 2, 1], image_size=32, **SMALL)), pictures),
        Case("ViT", lambda: t.ViTForImageClassification(t.ViTConfig(
            image_size=32, patch_size=8, **vit, **SMALL)), pictures),
        Case("GPT-2", lambda: t.GPT2ForSequenceClassification(t.GPT2Config(
            n_positions=16, n_embd=32, n_layer=2, n_head=2, pad_token_id=0, bos_token_id=0, eos_token_id=0,
            **text)), tokens),
        Case("BERT", lambda: t.BertForSequenceClassification(t.BertConfig(**bert, **text)), tokens),
        Case("DistilBERT", lambda: t.DistilBertForSequenceClassification(t.DistilBertConfig(
            dim=32, n_layers=2, n_heads=2, hidden_dim=64, max_position_embeddings=16, **text)), tokens),
        Case("T5 encoder", lambda: Pooled(t.T5EncoderModel(t.T5Config(
            vocab_size=100, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4))), tokens),
    ]  # fmt: skip


def of_timm() -> list[Case]:
    """Models of timm, if that is installed, with a torchvision that loads."""
    timm = installed("timm")
    if timm is None:
        return []
    found = []
    for name, options in TIMM.items():
        made = lambda name=name, o=options: timm.create_model(name, pretrained=False, num_classes=5, **o)  # noqa: E731
        found.append(Case(f"timm {name}", made, lambda: pictures(64)))
    return found


class Recurrent(nn.Module):
    """An LSTM with a head."""

    def __init__(self) -> None:
        super().__init__()
        self.cells, self.head = nn.LSTM(8, 16, batch_first=True), nn.Linear(16, 5)

    def forward(self, x: Tensor) -> Tensor:
        """Outputs (example, class)."""
        return self.head(self.cells(x)[0][:, -1])


class Pooled(nn.Module):
    """The mean over the tokens of what an encoder gives."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, x: Tensor) -> Tensor:
        """Outputs (example, feature)."""
        return self.encoder(x).last_hidden_state.mean(1)


def outputs(found: Any) -> Tensor:
    """The tensor in what a model returned."""
    return found if isinstance(found, Tensor) else found.logits


def gap(a: Tensor, b: Tensor) -> float:
    """The relative distance of a from b."""
    return float((a.double() - b.double()).norm() / b.double().norm())


def told(work: Callable[[], str]) -> str:
    """What an operation found, or why it was refused."""
    try:
        return work()
    except (ValueError, RuntimeError, NotImplementedError) as error:
        return f"refused: {str(error).splitlines()[0][:60]}"


def row(case: Case) -> dict[str, str]:
    """One line of the table."""
    torch.manual_seed(0)
    model, x = case.make().eval(), case.inputs()

    def ask(net: nn.Module, given: Tensor = x) -> Tensor:
        with torch.no_grad():
            return outputs(net(given))

    reference = ask(model)
    begun = time.process_time()
    expanded, report = expand(model, 2)
    spent = time.process_time() - begun
    found = {
        "model": case.name,
        "parameters": f"{sum(p.numel() for p in model.parameters()):,}",
        "layers expanded": f"{len(report.done)} of {len(report.done) + len(report.skipped)}",
        "left alone": ", ".join(sorted({one.kind for one in report.skipped})) or "–",
        "seconds": f"{spent:.2g}",
        "expand": f"{gap(ask(expanded), reference):.0e}",
        "collapse": told(lambda: f"{gap(ask(collapse(expanded)), reference):.0e}"),
        "truncate to half": told(lambda: f"{gap(ask(truncate(model, parameters=0.5)[0]), reference):.0%}"),
        "ntk": told(lambda: kernel_gap(model, x)),
    }
    half = copy.deepcopy(model).to(HALF)
    given = x.to(HALF) if x.is_floating_point() else x
    own = ask(half, given)
    moved = told(lambda: f"{gap(ask(expand(half, 2)[0], given), own):.1%}")
    return found | {"own rounding, bf16": f"{gap(own, reference):.1%}", "expand, bf16": moved}


def kernel_gap(model: nn.Module, x: Tensor) -> str:
    """The distance of the tangent kernel from the product of Jacobians, by autograd, one output at a time."""
    kernel = ntk(model, x)
    parameters = [p for p in model.parameters() if p.requires_grad]
    values = outputs(model(x)).reshape(len(x), -1)
    if kernel.shape != (len(x), len(x), values.shape[1], values.shape[1]):
        return f"shape {tuple(kernel.shape)}"
    rows = []
    for value in values.flatten():
        slopes = torch.autograd.grad(value, parameters, retain_graph=True, allow_unused=True)
        rows.append(torch.cat([s.flatten() for s in slopes if s is not None]).double())
    J = torch.stack(rows).reshape(len(x), values.shape[1], -1)
    return f"{gap(kernel, torch.einsum('xip,yjp->xyij', J, J)):.0e}"


def page(rows: list[dict[str, str]]) -> str:
    """The table as a page of the documentation."""
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "| " + " | ".join("---" for _ in names) + " |"]
    lines += ["| " + " | ".join(one[name] for name in names) + " |" for one in rows]
    return HEAD + "\n".join(lines) + "\n"


HEAD = """# Models and what can be done with them

Written by `python -m benchmarks.models`, over models built from their configurations with random weights; small ones, so
that the table takes a minute. Numbers are relative distances of the outputs from those of the model itself: expanding
and collapsing must not change what it computes beyond single precision. The tangent kernel is compared with the product
of Jacobians by autograd. What is left alone is named by its kind. Random weights have full rank, so that truncation to
half the parameters, without fine-tuning, is at its worst here.

The last two columns are for bfloat16. Own rounding is by how much the outputs change when the model goes from float32 to
bfloat16 with nothing else done to it: the precision that the type has on this model. Expanding rounds each weight once
more, as a product of two factors.

"""


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="model", help="models to run; default: all")
    parser.add_argument("--out", type=Path, default=PAGE)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    rows = []
    for case in cases():
        if not asked.names or case.name in asked.names:
            rows.append(row(case))
            print(rows[-1], flush=True)
    asked.out.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
