"""The theoretical statements of Hacohen & Weinshall (2022), in the paper's order."""

from ..claim import Claim

_LINEAR = (
    r"$W=W_L\cdots W_1$ is the map of a linear network of $L$ layers, trained by gradient descent with step size $\mu$"
)
_SCALES = (
    r"$A_l=(W_L\cdots W_{l+1})(W_L\cdots W_{l+1})^\top$ and $B_l=(W_{l-1}\cdots W_1)^\top(W_{l-1}\cdots W_1)$ are the "
    "gradient scale matrices of layer $l$"
)
_DEFINITION_3 = (
    "Definition 3: independent entries of mean 0 with variance $1/m_1$ in the first layer, $1/m_{L-1}$ in the last "
    "and $2/(m_{l-1}+m_l)$ between"
)
_START = "independent entries of mean 0; variances 1/m₁, 1/m_{L−1}, else 2/(m_{l−1} + m_l) (Definition 3)"

THEOREMS = (
    Claim(
        "hacohen-t1",
        place="Theorem 1, eq. 6",
        title="One step of descent moves the map by the scaled error, up to the square of the step",
        statement=(
            r"W^{s+1}=W^s-\mu\sum_{l=1}^L A_l\,\mathrm{Er}\,B_l+O(\mu^2),\quad \mathrm{Er}=W\Sigma_{XX}-\Sigma_{YX}"
        ),
        check="lineament.claims.hacohen.theorem_1:check",
        words=(
            f"{_LINEAR} on the square loss $\\frac12\\|WX-Y\\|_F^2$, where the columns of $X$ are the inputs and "
            f"those of "
            r"$Y$ the labels. $\Sigma_{XX}=XX^\top$, $\Sigma_{YX}=YX^\top$, and $\mathrm{Er}$ is the error matrix. "
            f"{_SCALES}. Then one step $s$ changes the map by $-\\mu$ times the sum over layers of "
            f"$A_l\\,\\mathrm{{Er}}\\,B_l$, "
            r"and what is left over is of the order of $\mu^2$."
        ),
        meaning=(
            "To first order, depth only multiplies the gradient of a one-layer model from both sides. How fast each "
            "direction is learnt can be read off these factors."
        ),
        paper_setting={
            "network": "linear, any depth and widths",
            "data": "any",
            "loss": "½‖WX − Y‖²",
            "step size": "infinitesimal",
            "start": "any",
        },
        quick="2 s",
        full="3 s",
    ),
    Claim(
        "hacohen-t2",
        place="Theorem 2, Corollary 2.1",
        title="In wide networks the gradient scale matrices stay at the identity",
        statement=r"\forall s,l:\quad A_l^s\to I,\ B_l^s\to I\quad (m\to\infty)",
        check="lineament.claims.hacohen.theorem_2:check",
        words=(
            f"{_LINEAR}; {_SCALES}, at step $s$. The start is that of {_DEFINITION_3}. As the least hidden width $m$ "
            f"goes "
            r"to infinity, $A_l^s$ and $B_l^s$ converge in probability to $I+O(\mu^2)$, and by the corollary to $I$, "
            r"for "
            "every step and layer; $A$ leaves $I$ at a rate of $q/m$ and $B$ at a rate of $K/m$, with $q$ inputs and "
            "$K$ classes."
        ),
        meaning=(
            "If it were so to the end of training, a very wide linear network would learn each principal component on "
            "its own, like one layer. It is so only while the learnt map is small."
        ),
        paper_setting={
            "network": "linear, L layers, hidden widths near m → ∞",
            "data": "any, q inputs and K classes, K ≪ q",
            "loss": "square loss",
            "start": _START,
            "step size": "infinitesimal",
            "time": "every step s",
        },
        quick="5 s",
        full="70 s on one core",
    ),
    Claim(
        "hacohen-eq10",
        place="Equations 4 and 10",
        title="Each principal component converges on its own, at a rate of depth times its eigenvalue",
        statement=r"w_j^{s+1}=\lambda_j^s w_j^0+(1-\lambda_j^s)\frac{m_j}{d_j},\quad\lambda_j=1-\mu Ld_j",
        check="lineament.claims.hacohen.equation_10:check",
        words=(
            f"{_LINEAR}, in coordinates in which $\\Sigma_{{XX}}=XX^\\top$ is diagonal with entries $d_1\\ge "
            f"d_2\\ge\\cdots$. "
            r"$w_j^s$ is column $j$ of $W$ at step $s$ and $m_j$ that of $YX^\top$, so that $m_j/d_j$ is the optimum. "
            r"If "
            "the hidden layers are wide, what is left of the start and what is missing of the optimum both fall "
            r"geometrically with ratio $\lambda_j$."
        ),
        meaning=(
            "Directions in which the data vary most are learnt first, whatever the labels are, and deeper networks "
            "learn all of them faster, by a factor of the depth."
        ),
        paper_setting={
            "network": "linear, L layers, wide enough to neglect 1/m",
            "data": "any, in principal coordinates",
            "loss": "square loss",
            "start": _START,
            "step size": "infinitesimal",
            "time": "while A and B are near I",
        },
        quick="6 s",
        full="70 s on one core",
    ),
    Claim(
        "hacohen-b2",
        place="§2.5 and Appendix B.2",
        title="The first update of a paired ReLU network on symmetric data is that of a linear one",
        statement=r"W^{s+1}-W^s\approx-\frac{\mu}{2}\left[aa^\top W^s\Sigma_{XX}-\tilde M^s\right]",
        check="lineament.claims.hacohen.appendix_b_2:check",
        words=(
            r"$f(x)=a^\top\sigma(Wx)$ with $\sigma$ the ReLU; only $W$ is trained, by gradient descent with step size "
            r"$\mu$ on $\frac12\sum_i(f(x_i)-y_i)^2$, $y_i=\pm1$. Inputs $x$ and $-x$ are equally likely, and $W$ and "
            r"$a$ begin in opposite pairs. $\Sigma_{XX}=\sum_i x_ix_i^\top$; row $r$ of $\tilde M^s$ is $a_r$ times "
            r"the sum of $y_ix_i$ over the half-space $w_r\cdot x\ge0$. With many examples and for small $s$ the "
            r"update of $W$ is as "
            "stated."
        ),
        meaning=(
            "A simple ReLU network, too, begins to learn at rates that the principal components of the data set, "
            "though only in one direction of its weights."
        ),
        paper_setting={
            "network": "two layers, ReLU, only the first layer trains",
            "data": "a symmetric distribution, n large",
            "labels": "±1",
            "loss": "½Σ(f(x) − y)²",
            "start": "opposite pairs (w, −w) and (a, −a)",
            "time": "the beginning of training",
        },
        quick="2 s",
        full="80 s on one core",
    ),
    Claim(
        "hacohen-t3",
        place="Theorem 3, Corollary 3.1",
        title="At a random start the gradient scale matrices are multiples of the identity in the mean",
        statement=(
            r"B^l=\mathbf{Q}^l\mathbf{Q}^{l\top},\ \mathbb{E}\,B^l=\beta_l I,\ \beta_l=\prod_{n<l}m_n\sigma_n^2;\quad "
            r"\mathbb{E}\,A^l=\alpha_l I,\ \alpha_l=\prod_{n>l}m_{n-1}\sigma_n^2"
        ),
        check="lineament.claims.hacohen.theorem_3:check",
        words=(
            r"$Q_n\in\mathbb{R}^{m_n\times m_{n-1}}$, $n=1,\ldots,N$, have independent entries of mean 0, variance "
            r"$\sigma_n^2$ and bounded kurtosis. $B^l$ is made of $\mathbf{Q}^l=Q_{l-1}\cdots Q_1$ and $A^l$ of "
            r"$Q_N\cdots Q_{l+1}$. Their means are multiples $\beta_l$ and $\alpha_l$ of the identity. Corollary 3.1: "
            r"with "
            f"{_DEFINITION_3}, both factors are $1+O(1/m)$, $m$ the least hidden width."
        ),
        meaning=(
            "Definition 3 starts a deep linear network so that, on average, every layer sees the gradient of a "
            "one-layer model unchanged. Glorot's start does not, where input and hidden widths differ."
        ),
        paper_setting={
            "network": "linear, any widths",
            "start": "independent entries of mean 0, variance σ_n² and bounded kurtosis; Definition 3 for the "
            "corollary",
            "measure": "the mean over random starts",
        },
        quick="1 s",
        full="50 s on one core",
    ),
    Claim(
        "hacohen-t4",
        place="Theorem 4",
        title="Under Definition 3 the spread of the gradient scale matrices falls as one over the width",
        statement=r"\mathrm{var}(B_l)=O\left(\frac1m\right),\quad\mathrm{var}(A_l)=O\left(\frac1m\right)",
        check="lineament.claims.hacohen.theorem_4:check",
        words=(
            f"{_SCALES}, of a network at its random start by {_DEFINITION_3}, with bounded kurtosis. The variance "
            f"over "
            "starts of every entry of $A_l$ and $B_l$ is at most of the order of $1/m$, $m$ the least hidden width."
        ),
        meaning="In one wide network, and not only on average over many, the scale matrices begin near the identity.",
        paper_setting={
            "network": "linear, hidden widths within a constant of m",
            "start": f"{_START}, bounded kurtosis",
            "measure": "the variance over random starts of every entry",
        },
        quick="5 s",
        full="3 min on one core",
    ),
)
