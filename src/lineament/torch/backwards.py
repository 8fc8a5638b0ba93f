"""The way from all outputs of a model back to the places where its parameters enter."""

import warnings
from collections.abc import Callable

import torch
from torch import Tensor
from torch.autograd.graph import get_gradient_edge as edge
from torch.func import vmap

from .batched import of_all
from .derivatives import Derivative, joined, together
from .taps import Tap

Kept = dict[int, dict[str, Derivative]]  # what each place gave


class Backwards:
    """The way from all outputs back to all places; examples do not see each other.

    With `free` what the forward pass left is given up on the way, as it will not be needed again; with `bounded` every
    derivative knows a bound on what it is the sum of.
    """

    def __init__(self, out: Tensor, taps: list[Tap], dtype: torch.dtype, free: bool, bounded: bool = False) -> None:
        self.out, self.taps, self.dtype, self.free, self.bounded = out, taps, dtype, free, bounded
        self.at_once = True

    def derivatives(self) -> dict[str, Derivative]:
        """The derivatives by each parameter, over all the places where it enters."""
        if not self.taps or not self.out.requires_grad:
            return {}
        c = self.out.shape[1]
        several = c
        if self.out.device.type == "cpu":
            several = max(1, min(_OUTPUTS, _FEW // max(tap.z.numel() for tap in self.taps)))
        pieces: list[Kept] = []
        for begin in range(0, c, several):
            pieces += self._some(begin, min(c, begin + several))
        found: dict[str, list[Derivative]] = {}
        for k in range(len(self.taps)):
            parts = [piece.pop(k) for piece in pieces if k in piece]
            for name in parts[0] if parts else ():
                found.setdefault(name, []).append(joined([part[name] for part in parts], 1, self.bounded))
        return {name: together(parts) for name, parts in found.items()}

    def _some(self, begin: int, end: int) -> list[Kept]:
        """What places give of some outputs: in one pass, or in one for each output."""
        n, c = self.out.shape
        every = torch.eye(c, dtype=self.out.dtype, device=self.out.device)[begin:end, None].expand(end - begin, n, c)
        if end - begin > 1:
            kept: Kept = {}
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # a function that is not batched runs output by output
                    vmap(lambda v: self._pull(v, end - begin, kept, end == c))(every)
                return [kept]
            except RuntimeError:  # a function that cannot be batched at all
                if self.free:
                    raise
                self.at_once = False
        pieces: list[Kept] = []
        for k, v in enumerate(every):
            pieces.append({})
            self._pull(v, 1, pieces[-1], begin + k + 1 == c)
        return pieces

    def _pull(self, v: Tensor, size: int, kept: Kept, last: bool) -> Tensor:
        """Differentiate `⟨v, out⟩` for `size` outputs; what is written out early is so on the way."""
        keep = not (self.free and last)
        hooks = [tap.z.register_hook(self._taking(k, size, kept, keep)) for k, tap in enumerate(self.taps)]
        try:
            # Those asked for, and whatever lies on the way there: all behind the first place, in nearly every model.
            # One that another stands for may be seen by what is behind no other place.
            # An edge of the graph is asked for, not a tensor, which would be held by that.
            begin = next((k for k, tap in enumerate(self.taps) if not tap.spare), 0)
            first = [edge(tap.z) for k, tap in enumerate(self.taps) if k == begin or not tap.early or tap.spare]
            torch.autograd.grad(self.out, first, v, retain_graph=keep, allow_unused=True)
            if left := [tap.z for k, tap in enumerate(self.taps) if k not in kept and not tap.spare]:
                self.at_once = False
                torch.autograd.grad(self.out, left, v, retain_graph=True, allow_unused=True)
        finally:
            for hook in hooks:
                hook.remove()
        for k, tap in enumerate(self.taps):  # zero where there is no way from a place to the outputs
            if k not in kept and not tap.spare:
                nothing = self.out.new_zeros((), dtype=self.dtype).expand(size, *tap.z.shape)
                kept[k] = tap.taken(nothing, len(self.out), self.bounded)
        return v.sum()

    def _taking(self, k: int, size: int, kept: Kept, keep: bool) -> Callable[[Tensor], None]:
        def hook(d: Tensor) -> None:
            whole = of_all(d).to(self.dtype)
            kept[k] = self.taps[k].taken(whole.expand(size, *whole.shape[1:]), len(self.out), self.bounded)
            if not keep:  # the graph gives up what it held on the way, and so does this
                self.taps[k] = Tap(self.out, lambda d: {})

        return hook


# Outputs of one pass, and numbers in the largest derivative at a place; a GPU takes all outputs in one.
_OUTPUTS, _FEW = 16, 2**23
