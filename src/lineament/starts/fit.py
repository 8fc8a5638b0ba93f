"""Which models a start fits."""

from typing import NoReturn

from ..core.model import AbstractModel, require_model
from ..models.chain import AbstractChain
from ..models.layered import AbstractAffine
from ..models.mirrored import Mirrored


def refuse(start: str, models: str, model: object) -> NoReturn:
    """Refuse a model that a start does not fit, naming both."""
    raise ValueError(f"model must be {models} for starts.{start}; got {model!r}")


def is_ntk(model: AbstractModel) -> bool:
    """Whether the model divides its products by √fan_in itself."""
    plain = model.plain if isinstance(model, Mirrored) else model
    return isinstance(plain, AbstractAffine) and plain.parameterisation == "ntk"


def require_standard(start: str, model: AbstractModel) -> None:
    """Refuse the NTK parameterisation, whose weights start standard normal."""
    require_model(model)
    if is_ntk(model):
        refuse(start, "in standard parameterisation (in the NTK one, take starts.gaussian with deviation=1)", model)


def require_chain(start: str, model: AbstractModel) -> AbstractChain:
    """Return a chain of matrices in standard parameterisation, and refuse anything else."""
    if not isinstance(model, AbstractChain) or is_ntk(model):
        refuse(start, "a chain of matrices in standard parameterisation, such as DeepLinear", model)
    return model
