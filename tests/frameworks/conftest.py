"""Other people's code runs under JAX's defaults, not under the strict rules that ours is tested with."""

import jax

jax.config.update("jax_enable_x64", False)
jax.config.update("jax_numpy_dtype_promotion", "standard")
jax.config.update("jax_numpy_rank_promotion", "allow")
