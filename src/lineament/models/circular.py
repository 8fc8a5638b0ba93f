r"""Circular convolutional networks, which are diagonal networks in the frequency domain.

Layers 1 … N−1 convolve, the last is dense (Gissin et al. 2020, Appendix G, eq. 11, after Gunasekar et al. 2018):

    h_n[i] = Σ_k w_n[k] h_{n−1}[(i+k) mod d],    h_0 = x,    f(x) = ⟨h_{N−1}, w_N⟩ = ⟨σ, x⟩.

With ŵ[j] = Σ_k w[k] e^{−2πijk/d}, the transform without any prefactor, each convolution multiplies by the *conjugate*,
ĥ_n = conj(ŵ_n) ĥ_{n−1}. By Parseval f(x) = d⁻¹ Σ_j ĥ_{N−1}[j] conj(ŵ_N[j]), while ⟨σ, x⟩ = d⁻¹ Σ_j x̂[j] conj(σ̂[j]).
The conjugations agree, so that the Lemma holds as printed, σ̂ = ŵ_1 ∘ ··· ∘ ŵ_N. The prefactor matters: with the
unitary transform the right side gains d^{(N−1)/2} (Gunasekar et al. put 1/√d into each convolution instead).
"""

from functools import partial

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float

from ..core import checks
from ..core.model import AbstractModel, Parameter


class Circular(AbstractModel):
    """N−1 circular convolutions with full-length kernels, then a dense layer to one output.

    The parameters are the array of layers (w_1, …, w_N), of shape (depth, length). On the loss `½‖σ − σ*‖²` a start
    whose ŵ_n all have the modulus |σ̂|^{1/N}, with σ̂ in phase with σ̂*, obeys `dσ̂/dt = N |σ̂|^{2−2/N}(σ̂* − σ̂)`.

    Attributes:
        length: The number d of inputs, and of weights in each layer.
        depth: The number N of layers.
    """

    length: int = eqx.field(static=True, converter=partial(checks.whole, "length"))
    depth: int = eqx.field(static=True, converter=partial(checks.whole, "depth"))

    @property
    def shape(self) -> tuple[int, int]:
        """Outputs and inputs."""
        return 1, self.length

    def layout(self) -> Parameter:
        """One array, a row for each layer."""
        return Parameter((self.depth, self.length), fan_in=self.length, fan_out=self.length)

    def spectrum(self, parameters: Float[Array, "depth length"]) -> Complex[Array, " frequency"]:
        """The Fourier coefficients σ̂[0 … ⌊d/2⌋]; the others are their conjugates."""
        return jnp.prod(jnp.fft.rfft(parameters, axis=1), axis=0)

    def frequencies(self, parameters: Float[Array, "depth length"]) -> Float[Array, " frequency"]:
        """The amplitudes |σ̂|, what Figures 1(d) and 7 of Gissin et al. (2020) show."""
        return jnp.abs(self.spectrum(parameters))

    def end_to_end(self, parameters: Float[Array, "depth length"]) -> Float[Array, "1 length"]:
        """The row vector σᵀ."""
        return jnp.fft.irfft(self.spectrum(parameters), n=self.length)[None, :]
