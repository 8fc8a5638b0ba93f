"""Beyond the five documents: exact solutions that contain their statements."""

from ..claim import Claim

CLAIMS = (
    Claim(
        "beyond-jumps",
        place="Pesme & Flammarion 2023",
        title="As its start vanishes, a diagonal network jumps from saddle to saddle at times that are known",
        statement=(
            r"\beta_\alpha\!\left(\tfrac12\ln(1/\alpha)\,t\right)\to\beta_p,\ t\in(t_p,t_{p+1}),\qquad "
            r"t_{p+1}=t_p+\min\{\delta>0:\ |s_p-\delta\nabla L(\beta_p)|_i=1\}"
        ),
        check="lineament.claims.beyond.jump_times:check",
        words=(
            r"A diagonal network $\beta=w_+^2-w_-^2$ follows gradient flow on "
            r"$L(\beta)=\tfrac12\,\mathrm{mean}\,(y-X\beta)^2$ from $w_\pm=\alpha$. As $\alpha\to0$, in time divided by "
            r"$\tfrac12\ln(1/\alpha)$, it rests at saddles $\beta_p$ and jumps between them at times $t_p$. A "
            r"coordinate $i$ can move when the integral $s$ of $-\nabla L$ has come to $\pm1$ there; each saddle "
            r"minimises $L$ over those coordinates, with the signs of $s$."
        ),
        meaning="Which feature a network learns next, and how long it waits, follow from the data before it is trained.",
        paper_setting={
            "network": "two-layer diagonal, any width",
            "data": "any regression in general position",
            "start": "vanishing",
            "optimiser": "gradient flow",
        },
        quick="5 s",
        full="60 s",
    ),
    Claim(
        "beyond-silent-alignment",
        place="Atanasov, Bordelon & Pehlevan 2022",
        title="A small network turns to its target before its loss moves",
        statement=(
            r"\frac{\|W(t)b\|^2}{\|W(t)\|^2}=\frac{\|\cosh(st)W_0b+\sinh(st)a_0\|^2}"
            r"{\|\cosh(st)W_0b+\sinh(st)a_0\|^2+\|W_0(I-bb^\top)\|^2}"
        ),
        check="lineament.claims.beyond.silent_alignment:check",
        words=(
            r"Two linear layers $a^\top Wx$ learn $\langle\beta,x\rangle$ on white inputs from a small start $W_0,a_0$. "
            r"Until the loss moves, the share of the first layer $W$ that lies along $b=\beta/\|\beta\|$ is the one "
            r"stated, with $s=\|\beta\|$: it goes to 1 before the loss has fallen, and from a large start it does not."
        ),
        meaning="What looks like a plateau is the time in which a network finds its features.",
        paper_setting={
            "network": "two linear layers of any width, and others",
            "data": "white inputs, one output",
            "start": "small",
            "optimiser": "gradient flow",
        },
        quick="5 s",
        full="30 s",
    ),
    Claim(
        "beyond-lazy-rich",
        place="Kunin et al. 2024; Dominé et al. 2025",
        title="One closed form draws the whole map from lazy to rich training",
        statement=(
            r"\dot\sigma=\sqrt{\lambda^2+4\sigma^2}\,(\sigma^*-\sigma),\qquad\sigma(0)=0,\qquad "
            r"\sigma(W_1^\infty)^2=\sqrt{\sigma^{*2}+\lambda^2/4}-\lambda/2"
        ),
        check="lineament.claims.beyond.lazy_rich:check",
        words=(
            r"Two linear layers on white inputs, $W_2^\top W_2 - W_1W_1^\top = \lambda I$ on the hidden units that "
            r"matter, learn a mode of strength $\sigma$ and target $\sigma^*$ from zero. The mode then moves by the "
            "equation stated, whose solution is closed, and the singular value of the first layer $W_1$ that belongs "
            "to it is known at the end. So are the time of learning, how much is learnt before the tangent kernel "
            r"changes (laziness), and the rank of $W_1$, all over the plane of $\lambda$ and $\sigma^*$."
        ),
        meaning=(
            "How large a start is against the target, and which layer holds it, decides between feature learning and "
            "kernel regression: a map to read one's own start off."
        ),
        paper_setting={
            "network": "two linear layers of any widths",
            "data": "white inputs; any target",
            "start": "λ-balanced with zero product",
            "optimiser": "gradient flow",
            "measure": "closed forms of Kunin et al. and Dominé et al.",
        },
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
        check="lineament.claims.beyond.two_layer:check",
        words=(
            "Two linear layers $W_1$ and $W_2$ learn the target $Y$ on white inputs by gradient flow from any start "
            r"with $W_2^\top W_2 - W_1W_1^\top = \lambda\Pi$, where $\lambda$ is a number and $\Pi$ a projection of "
            "the hidden units. With $Q$ the two layers stacked, $Q_0$ at the start, and $F$ the matrix stated, "
            r"$QQ^\top$ at every time $t$ is the given function of $F$ and $Q_0$; the product $W_2W_1$ is a block of "
            "it."
        ),
        meaning=(
            "Training of a two-layer linear network need not be simulated: one formula gives the network at any "
            "time, however late."
        ),
        paper_setting={
            "network": "two linear layers of any widths",
            "data": "white inputs; any target",
            "start": "λ-balanced: W2ᵀW2 − W1W1ᵀ = λΠ",
            "optimiser": "gradient flow",
        },
        quick="20 s",
        full="8 min",
    ),
)
