"""What `torch.func` does not replace for a call: parameters that a model also holds elsewhere, as in a plain list."""

from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode


def refuse_unreached(name: str, module: nn.Module, run: Callable[[], Any], replaced: Iterable[str]) -> None:
    """Refuse a module that uses parameters of its own in a call that should have others in their places.

    Args:
        name: Of the argument that the module was given as.
        module: It.
        run: The call.
        replaced: The names of the parameters that have others in their places.
    """
    replaced = set(replaced)
    with _Watch({id(parameter): name for name, parameter in module.named_parameters() if name in replaced}) as watch:
        run()
    if watch.used:
        raise ValueError(
            f"{name} must use its parameters from where they are registered; {', '.join(sorted(watch.used))} "
            "is also held elsewhere, as in a plain list, and cannot be moved there: nn.ParameterList and nn.ModuleList "
            "are such lists that register what they hold"
        )


class _Watch(TorchFunctionMode):
    """Notes which of some tensors functions are given."""

    def __init__(self, names: dict[int, str]) -> None:
        super().__init__()
        self.names, self.used = names, set[str]()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        parts = out if isinstance(out, tuple) else (out,)
        if any(isinstance(part, Tensor) for part in parts):  # and not a shape or a type
            self._look((*args, *kwargs.values()))
        return out

    def _look(self, values: Iterable[Any]) -> None:
        for value in values:
            if isinstance(value, (list, tuple)):
                self._look(value)
            elif id(value) in self.names:
                self.used.add(self.names[id(value)])
