"""The notes' exercises that no statement before them uses: 1, 2 and 5."""

from ..claim import Claim

EXERCISES = (
    Claim(
        "cohen-x1",
        place="Exercise 1",
        title="With one output, the gradient along the map counts n-fold",
        statement=r"\dot w=-\|w\|^{2-\frac2n}\left(\nabla\ell(w)+(n-1)\,\frac{ww^\top}{\|w\|^2}\nabla\ell(w)\right)",
        words=(
            r"Simplify the end-to-end dynamics of Theorem 1 for a single output, where the map is a vector $w$ and the "
            r"network has depth $n$. The answer: $w$ moves against the gradient $\nabla\ell(w)$ of the loss, of which "
            r"the part along $w$ itself counts $n$ times, all of it multiplied by $\|w\|^{2-2/n}$."
        ),
        meaning="Depth speeds a model up as it grows, and favours the direction in which it already points.",
        paper_setting={
            "map": "any vector (one output)",
            "network": "any depth, balanced",
            "gradient": "of any analytic ℓ",
        },
        check="lineament.claims.cohen.exercise_1:check",
        quick="1 s",
        full="5 s",
    ),
    Claim(
        "cohen-x2",
        place="Exercise 2",
        title="The symmetric product has dynamics of its own, without any balance",
        statement=(
            r"\dot W_s=-\left(\nabla\ell+\nabla\ell^\top\right)W_s-W_s\left(\nabla\ell+\nabla\ell^\top\right),"
            r"\qquad W_s=WW^\top"
        ),
        words=(
            r"For the symmetric network $x\mapsto WW^\top x$ with a matrix $W$ that follows gradient flow, derive how "
            r"$W_s=WW^\top$ moves without reference to $W$. The answer: $\dot W_s=-(\nabla\ell+\nabla\ell^\top)W_s-"
            r"W_s(\nabla\ell+\nabla\ell^\top)$, where $\nabla\ell$ is the gradient of the loss at $W_s$."
        ),
        meaning="Networks that share a layer with its transpose, as some autoencoders do, obey a law of their own too.",
        paper_setting={
            "loss": "any analytic ℓ",
            "network": "x ↦ WWᵀx, W square",
            "start": "any",
            "training": "gradient flow",
        },
        check="lineament.claims.cohen.exercise_2:check",
        quick="10 s",
        full="60 s",
    ),
    Claim(
        "cohen-x5",
        place="Exercise 5",
        title="Under constant alignment the ratios of singular values grow exponentially at two layers",
        statement=r"\sigma_r(t)=\epsilon\,e^{2c_rt},\qquad\frac{\sigma_r(t)}{\sigma_{r'}(t)}=e^{2(c_r-c_{r'})t}",
        words=(
            r"Let all singular values $\sigma_r$ of a network of two layers start at $\epsilon$, and let the descent of "
            r"the loss along the $r$-th component, the inner product of $-\nabla\ell$ with $u_rv_r^\top$, be a constant "
            r"$c_r$ for some time. Then, by Theorem 3, $\sigma_r(t)=\epsilon e^{2c_rt}$ in that time, and the ratio of "
            r"two values grows or falls exponentially in time $t$ at the rate $2(c_r-c_{r'})$."
        ),
        meaning="Small differences in how much components matter become large differences in how much is learnt.",
        paper_setting={
            "loss": "any, with constant alignments until a time t_e",
            "network": "two layers",
            "start": "σ_r(0) = ε for every r",
            "training": "gradient flow",
        },
        check="lineament.claims.cohen.exercise_5:check",
        quick="12 s",
        full="40 s",
    ),
)
