"""Varre, Vladarean, Pillaud-Vivien & Flammarion (2023): the spectral bias of two-layer linear networks."""

from ..claim import Claim

CLAIMS = (
    Claim(
        "varre-a",
        place="Theorem (a)",
        title="From the isotropic start the loss goes to zero at every scale",
        statement=(
            r"W_1(0)=\sqrt{2\gamma}\,P,\ PP^\top=I_d,\ W_2(0)=0\ \Rightarrow\ "
            r"\lim_{t\to\infty}L(W_1(t),W_2(t))=0"
        ),
        check="lineament.claims.varre.theorem_a:check",
        words=(
            r"A two-layer linear network $f(x) = W_2^\top W_1^\top x$ with $d$ inputs, $l \ge d$ hidden units and $k$ "
            r"outputs learns by gradient flow on the loss $L = \frac12\|Y - XW_1W_2\|^2$, where $X$ and $Y$ hold the "
            r"inputs and the labels of $n$ examples, from $W_1 = \sqrt{2\gamma}P$ with orthonormal rows of $P$ "
            r"($PP^\top = I_d$) and $W_2 = 0$. Whatever the scale $\gamma$, the loss tends to zero as the time $t$ "
            "grows."
        ),
        meaning=(
            "Two linear layers from this start always fit data that can be fitted; a smaller start only makes it "
            "take longer."
        ),
        paper_setting={
            "data": "any X and labels Y = XU∗",
            "network": "two linear layers, W1 ∈ R^{d×l}, W2 ∈ R^{l×k}, l ≥ d",
            "loss": "½‖Y − XW1W2‖²",
            "start": "W1 = √(2γ)P, PPᵀ = I, W2 = 0, any scale γ > 0",
            "optimiser": "gradient flow",
        },
        quick="12 s",
        full="2 min",
    ),
    Claim(
        "varre-b",
        place="Theorem (b)",
        title="What is learnt is the interpolator of least norm, whatever the scale",
        statement=(
            r"\beta_\infty=\lim_{t\to\infty}W_1(t)W_2(t)=\mathrm{argmin}\,\|\beta\|_F\ \ \mathrm{s.t.}\ \ X\beta=Y,"
            r"\qquad\gamma>0"
        ),
        check="lineament.claims.varre.theorem_b:check",
        words=(
            r"In the setting of part (a), the end-to-end map $\beta = W_1W_2$ tends to $\beta_\infty$, the solution "
            r"of $X\beta = Y$ with the least Frobenius norm, for every scale $\gamma > 0$ of the start."
        ),
        meaning=(
            "The function that is learnt does not depend on the scale of the start; what depends on it is how the "
            "layers represent it."
        ),
        paper_setting={
            "data": "any X and labels Y = XU∗",
            "network": "two linear layers, W1 ∈ R^{d×l}, W2 ∈ R^{l×k}, l ≥ d",
            "loss": "½‖Y − XW1W2‖²",
            "start": "W1 = √(2γ)P, PPᵀ = I, W2 = 0, any scale γ > 0",
            "optimiser": "gradient flow",
        },
        quick="12 s",
        full="75 s",
    ),
    Claim(
        "varre-params",
        place="Theorem (b), parameters",
        title="The layers minimise their norm less 2γ times a log-determinant, among interpolators",
        statement=(
            r"(W_1^\infty,W_2^\infty)=\mathrm{argmin}\ \|W_1\|_F^2+\|W_2\|_F^2-2\gamma\log\det W_1^\top W_1"
            r"\ \ \mathrm{s.t.}\ \ XW_1W_2=Y"
        ),
        check="lineament.claims.varre.theorem_b_parameters:check",
        words=(
            r"In the setting of part (a), the layers tend to a pair $(W_1^\infty, W_2^\infty)$ that minimises, among "
            r"all pairs with $XW_1W_2 = Y$, the sum of their squared Frobenius norms less $2\gamma$ times the "
            r"logarithm of a determinant. The poster prints the determinant of the $l\times l$ matrix $W_1^\top W_1$."
        ),
        meaning=(
            "A large start acts like a reward for a first layer of full rank, a small one like plain weight decay: "
            "the scale of the start is a regulariser."
        ),
        paper_setting={
            "data": "any X and labels Y = XU∗",
            "network": "two linear layers, W1 ∈ R^{d×l}, W2 ∈ R^{l×k}, l ≥ d",
            "loss": "½‖Y − XW1W2‖²",
            "start": "W1 = √(2γ)P, PPᵀ = I, W2 = 0, any scale γ > 0",
            "optimiser": "gradient flow",
        },
        quick="12 s",
        full="2 min",
    ),
    Claim(
        "varre-sv",
        place="Corollary",
        title="The first layer's singular values are known at the end",
        statement=(
            r"\sigma_i(W_1^\infty)=\left(\sqrt{\sigma_i(\beta_*)+\gamma^2}+\gamma\right)^{1/2}\ (1\le i\le k),"
            r"\qquad\sigma_i(W_1^\infty)=(2\gamma)^{1/2}\ (k<i\le d)"
        ),
        check="lineament.claims.varre.corollary:check",
        words=(
            r"In the setting of part (a), with $\beta_*$ the map that is learnt and $k$ outputs, the singular values "
            r"$\sigma_i$ of the first layer at the end are a function of those of $\beta_*$ and of the scale $\gamma$ "
            r"for $i \le k$; the other $d - k$ stay where they began, at $(2\gamma)^{1/2}$."
        ),
        meaning="One can say in advance how strongly each direction will be represented in the trained first layer.",
        paper_setting={
            "data": "any X and labels Y = XU∗",
            "network": "two linear layers, W1 ∈ R^{d×l}, W2 ∈ R^{l×k}, l ≥ d",
            "loss": "½‖Y − XW1W2‖²",
            "start": "W1 = √(2γ)P, PPᵀ = I, W2 = 0, any scale γ > 0",
            "optimiser": "gradient flow",
        },
        quick="12 s",
        full="2 min",
    ),
    Claim(
        "varre-regimes",
        place="Corollary, figure",
        title=(
            "A small start leaves a first layer of rank k, a large one a layer of full rank, and the shape counts too"
        ),
        statement=(
            r"\gamma\to0:\ \mathrm{rank}(W_1^\infty)=k,\qquad \gamma\to\infty:\ "
            r"\sigma_i(W_1^\infty)\approx\sigma_i(W_1(0)),\ \mathrm{rank}\ d"
        ),
        check="lineament.claims.varre.corollary_figure:check",
        words=(
            r"The singular values of the first layer $W_1$ along training, for several scales $\gamma$ and shapes of "
            r"the start. At small $\gamma$ gradient flow ends with a first layer of low rank, the number $k$ of "
            r"outputs (rich regime); at large $\gamma$ the layer hardly moves and keeps its high rank $d$ (lazy "
            r"regime). The shape $H$ of the start, $W_1W_1^\top = 2\gamma H$, matters too."
        ),
        meaning=(
            "Small starts learn features, large ones keep random features: the trained layer shows which has happened."
        ),
        paper_setting={
            "network": "two linear layers; d, l, k not stated",
            "data": "not stated",
            "start": "several scales γ and shapes, not stated",
            "optimiser": "gradient flow",
            "measure": "singular values of W1 along training",
        },
        kind="experiment",
        quick="10 s",
        full="60 s",
    ),
    Claim(
        "varre-lngd",
        place="Going beyond small γ",
        title="Label noise that is weak against the signal aligns the neurons even from a large start",
        statement=(
            r"dW=a\left(X^\top(Y-XW^\top a)\right)^\top dt+a(X^\top dB_t)^\top,\qquad "
            r"da=WX^\top(Y-XW^\top a)\,dt+WX^\top dB_t"
        ),
        check="lineament.claims.varre.going_beyond_small_gamma:check",
        words=(
            "A two-layer linear network with one output, first layer $W$ and output weights $a$, is trained on fresh "
            "label noise in every step: in the limit of small steps the diffusion stated, with inputs $X$, labels "
            "$Y$ and an $n$-dimensional Brownian motion $B_t$. It aligns the neurons (the rows of $W$) even from a "
            r"large start. Checked for noise of the printed strength against signals of several sizes $\|\beta_*\|$, "
            r"where $Y = X\beta_*$: complete where the noise is weak against the signal."
        ),
        meaning=(
            "Noise in the labels, as in stochastic gradient descent, does what a small start does: it makes the "
            "network learn features even when it is initialised large."
        ),
        paper_setting={
            "data": "not stated, one output",
            "network": "two linear layers, not stated",
            "start": "a large scale, not stated",
            "signal": "not stated",
            "optimiser": "label-noise gradient descent, the diffusion with unit noise",
            "repeats": "not stated",
            "measure": "directions of neurons along training",
        },
        kind="experiment",
        quick="15 s",
        full="3 min",
    ),
    Claim(
        "varre-relu",
        place="Non-linear ReLU activation",
        title="From a small start ReLU neurons recover the teacher's two directions, from a large one they do not",
        statement=(
            r"y_i=\sigma(u^\top x_i)+\sigma(v^\top x_i),\quad u\perp v,\quad x_i\sim\mathcal{N}(0,I),\quad"
            r"\hat y=\sum_{j=1}^{20}a_j\,\sigma(w_j^\top x)"
        ),
        check="lineament.claims.varre.relu_activation:check",
        words=(
            "Labels come from a teacher with two ReLU neurons along orthogonal unit vectors $u$ and $v$, $y_i = "
            r"\sigma(u^\top x_i) + \sigma(v^\top x_i)$ with $\sigma(z) = \max(z, 0)$ and Gaussian inputs $x_i$. A "
            r"student $\hat y$ of 20 ReLU neurons with weights $w_j$ and outputs $a_j$ is trained from starts of "
            "several scales. From a small start its neurons recover the two directions; from a large one they do "
            "not."
        ),
        meaning=(
            "What linear networks show carries over to ReLU networks: only from a small start does the hidden layer "
            "find the features behind the labels."
        ),
        paper_setting={
            "data": "x ~ N(0, I), d and n not stated",
            "teacher": "relu(u·x) + relu(v·x), u ⟂ v",
            "student": "20 ReLU neurons",
            "loss": "square loss",
            "start": "several scales, not stated",
            "optimiser": "not stated",
            "repeats": "not stated",
            "measure": "singular values of W along training",
        },
        kind="experiment",
        quick="8 s",
        full="3 min",
    ),
)
