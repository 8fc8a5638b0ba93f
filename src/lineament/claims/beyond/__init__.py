"""Beyond the five documents: exact solutions that contain their statements."""

from ..claim import Claim

CLAIMS = (
    Claim(
        "beyond-lazy-rich",
        place="Kunin et al. 2024; Dominé et al. 2025",
        title="One closed form draws the whole map from lazy to rich training",
        statement=(
            r"\dot\sigma=\sqrt{\lambda^2+4\sigma^2}\,(\sigma^*-\sigma),\qquad\sigma(0)=0,\qquad "
            r"\sigma(W_1^\infty)^2=\sqrt{\sigma^{*2}+\lambda^2/4}-\lambda/2"
        ),
        check="lineament.claims.beyond.lazy_rich:lazy_and_rich",
        quick="10 s",
        full="60 s",
    ),
    Claim(
        "beyond-two-layer",
        place="Fukumizu 1998; Braun et al. 2022; Dominé et al. 2025",
        title="Two-layer flow from any λ-balanced start has an exact solution at every time",
        statement=(
            r"W_2^\top W_2-W_1W_1^\top=\lambda\Pi\ \Rightarrow\ QQ^\top(t)=e^{Ft}Q_0\left[I+Q_0^\top"
            r"\frac{e^{2Ft}-I}{2F}Q_0\right]^{-1}Q_0^\top e^{Ft},\quad Q=\left(W_1^\top;\,W_2\right),\quad "
            r"F=\left(-\tfrac\lambda2,\,Y^\top;\,Y,\,\tfrac\lambda2\right)"
        ),
        check="lineament.claims.beyond.two_layer:exact_solution",
        quick="20 s",
        full="8 min",
    ),
)
