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
        check="lineament.claims.varre.theorem:convergence",
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
        check="lineament.claims.varre.theorem:least_norm",
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
        check="lineament.claims.varre.parameters:minimisers",
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
        check="lineament.claims.varre.parameters:singular_values",
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
        check="lineament.claims.varre.regimes:regimes",
        kind="experiment",
        quick="10 s",
        full="60 s",
    ),
    Claim(
        "varre-lngd",
        place="Going beyond small γ",
        title="Label noise aligns the neurons even from a large start",
        statement=(
            r"dW=a\left(X^\top(Y-XW^\top a)\right)^\top dt+a(X^\top dB_t)^\top,\qquad "
            r"da=WX^\top(Y-XW^\top a)\,dt+WX^\top dB_t"
        ),
        check="lineament.claims.varre.label_noise:alignment",
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
        check="lineament.claims.varre.relu:recovery",
        kind="experiment",
        quick="8 s",
        full="3 min",
    ),
)
