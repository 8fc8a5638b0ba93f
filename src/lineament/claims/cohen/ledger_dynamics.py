"""What the notes state in Section 2, Dynamical Analysis."""

from ..claim import Claim

_FLOW = {
    "loss": "any analytic ℓ",
    "network": "n layers, hidden widths at least min(d₀, d_n)",
    "training": "gradient flow",
}

DYNAMICS = (
    Claim(
        "cohen-p1",
        place="Proposition 1",
        title="The overparameterised objective is non-convex unless the loss is constant",
        statement=(
            r"\ell(0)\neq\min\ell\ \Rightarrow\ \phi(W_1,\ldots,W_n)=\ell(W_n\cdots W_1)\ \mathrm{is\ not\ convex}"
        ),
        words=(
            r"A linear network of $n\ge2$ layers with weight matrices $W_1,\ldots,W_n$ computes the linear map "
            r"$W_n\cdots W_1$. Its training objective is $\phi(W_1,\ldots,W_n)=\ell(W_n\cdots W_1)$, where $\ell$ is the "
            r"loss of a linear map. If $\ell$ is not least at the zero map, $\phi$ is not convex, even where $\ell$ is. "
            r"What happens where $\ell$ is least at zero, the notes leave open."
        ),
        meaning=(
            "Writing a linear layer as a product of two makes a convex problem non-convex: no argument from convexity "
            "can explain why such networks train well."
        ),
        paper_setting={
            "loss": "any analytic ℓ that is not least at 0",
            "network": "n ≥ 2 layers, hidden widths at least min(d₀, d_n)",
        },
        check="lineament.claims.cohen.proposition_1:check",
        quick="1 s",
        full="10 s",
    ),
    Claim(
        "cohen-l1",
        place="Lemma 1",
        title="Gradient flow conserves the difference of neighbouring layers' Gram matrices",
        statement=r"\frac{d}{dt}\left[W_{j+1}(t)^\top W_{j+1}(t)-W_j(t)W_j(t)^\top\right]=0,\qquad j=1,\ldots,n-1",
        words=(
            r"Let the layers $W_1(t),\ldots,W_n(t)$ of a linear network follow gradient flow at times $t\ge0$: each "
            r"moves against the gradient of the objective $\phi$ with respect to itself. Then the matrix "
            r"$W_{j+1}^\top W_{j+1}-W_jW_j^\top$ of every two neighbouring layers stays what it was at the start."
        ),
        meaning=(
            "With small steps, layers grow together: what one layer gains, its neighbours gain too. How unevenly the "
            "layers begin is how unevenly they end."
        ),
        paper_setting=_FLOW | {"start": "any"},
        check="lineament.claims.cohen.lemma_1:check",
        quick="20 s",
        full="90 s",
    ),
    Claim(
        "cohen-p2",
        place="Proposition 2",
        title="The unbalancedness magnitude is constant along gradient flow",
        statement=r"\max_{j}\left\|W_{j+1}(t)^\top W_{j+1}(t)-W_j(t)W_j(t)^\top\right\|_F=\mathrm{const}",
        words=(
            r"The unbalancedness magnitude of layers $W_1,\ldots,W_n$ (Definition 1) is the largest Frobenius norm "
            r"$\|W_{j+1}^\top W_{j+1}-W_jW_j^\top\|_F$ over neighbouring layers $j$ and $j+1$. Along gradient flow it "
            r"has the same value at every time $t$ as at the start."
        ),
        meaning="A start near zero is nearly balanced, and remains so, relative to its growing layers ever more.",
        paper_setting=_FLOW | {"start": "any"},
        check="lineament.claims.cohen.proposition_2:check",
        quick="15 s",
        full="60 s",
    ),
    Claim(
        "cohen-a1",
        place="Assumption 1",
        title="Every map has a balanced factorisation of any depth and admissible widths",
        statement=r"\forall W\ \exists\,(W_1,\ldots,W_n):\ W_n\cdots W_1=W,\quad W_{j+1}^\top W_{j+1}=W_jW_j^\top",
        words=(
            r"The notes assume starts of unbalancedness magnitude zero, $W_{j+1}^\top W_{j+1}=W_jW_j^\top$ for all "
            r"neighbouring layers, and note that this limits nothing: every linear map $W$ is a product "
            r"$W_n\cdots W_1$ of such layers, for every depth $n$ and all hidden widths of at least "
            r"$\min\{d_0,d_n\}$, where $d_0$ and $d_n$ count inputs and outputs."
        ),
        meaning="Any linear layer can be split into a balanced product that computes the same: how an expansion begins.",
        paper_setting={
            "map": "any linear map",
            "network": "any depth, hidden widths at least min(d₀, d_n)",
            "construction": "Procedure 1 of Arora et al. (2019a)",
        },
        check="lineament.claims.cohen.assumption_1:check",
        quick="10 s",
        full="60 s",
    ),
    Claim(
        "cohen-t1",
        place="Theorem 1, Equation (3)",
        title="From a balanced start the end-to-end matrix obeys an equation of its own",
        statement=r"\dot W=-\sum_{j=1}^{n}[WW^\top]^{\frac{j-1}{n}}\,\nabla\ell(W)\,[W^\top W]^{\frac{n-j}{n}}",
        words=(
            r"Let the layers of a linear network of depth $n$ start balanced (Assumption 1) and follow gradient flow. "
            r"Then the end-to-end matrix $W=W_n\cdots W_1$ moves by an equation in which the layers no longer appear: "
            r"its velocity $\dot W$ is minus the sum over $j$ of the gradient $\nabla\ell(W)$ of the loss, multiplied "
            r"from the left by the power $\frac{j-1}n$ of $WW^\top$ and from the right by the power $\frac{n-j}n$ of "
            r"$W^\top W$."
        ),
        meaning=(
            "Depth without non-linearity changes how a linear model learns in one definite way, which depends on depth "
            "but not on width."
        ),
        paper_setting=_FLOW | {"start": "balanced (Assumption 1)"},
        check="lineament.claims.cohen.theorem_1:check",
        quick="15 s",
        full="8 min",
    ),
    Claim(
        "cohen-c1",
        place="Corollary 1",
        title="The end-to-end dynamics are gradient flow with an implicit preconditioner of known eigenvalues",
        statement=(
            r"\mathrm{vec}(\dot W)=-\mathcal{P}(W)\,\mathrm{vec}(\nabla\ell(W)),\qquad "
            r"\mathcal{P}(W)\,\mathrm{vec}(u_rv_{r'}^\top)"
            r"=\sum_{j=1}^{n}\sigma_r^{2\frac{n-j}{n}}\sigma_{r'}^{2\frac{j-1}{n}}\ \mathrm{vec}(u_rv_{r'}^\top)"
        ),
        words=(
            r"Written as vectors (vec stacks columns), the end-to-end dynamics are gradient flow on $\ell$ multiplied "
            r"by a positive semidefinite matrix $\mathcal P(W)$. With the singular values $\sigma_r$ of the map $W$ and "
            r"its left and right singular vectors $u_r$, $v_{r'}$ (values beyond the rank being zero), the eigenvectors "
            r"of $\mathcal P(W)$ are the matrices $u_rv_{r'}^\top$, and the eigenvalue of each is the sum over the $n$ "
            r"layers of products of powers of $\sigma_r$ and $\sigma_{r'}$."
        ),
        meaning=(
            "A deep linear network learns faster in directions in which its map is already large: an effect like "
            "momentum, built in by depth."
        ),
        paper_setting={"map": "any", "network": "any depth, balanced", "gradient": "of any analytic ℓ"},
        check="lineament.claims.cohen.corollary_1:check",
        quick="1 s",
        full="30 s",
    ),
    Claim(
        "cohen-r1",
        place="Remark 1",
        title="The end-to-end dynamics are no gradient flow, under mild conditions; there are at least four exceptions",
        statement=(
            r"\oint\left\langle\sum_{j=1}^{n}[WW^\top]^{\frac{j-1}{n}}\nabla\ell(W)[W^\top W]^{\frac{n-j}{n}},dW"
            r"\right\rangle\neq0"
        ),
        words=(
            r"Under mild conditions, which the remark does not spell out, there is no objective $f$ of the map $W$ "
            r"whose gradient is the field $\sum_j[WW^\top]^{(j-1)/n}\nabla\ell(W)[W^\top W]^{(n-j)/n}$ of the "
            r"end-to-end dynamics. For the integral of that field along some closed curves of maps does not vanish, as "
            r"it would for a gradient."
        ),
        meaning="What depth does to a linear model cannot be had by adding any regulariser to its loss.",
        paper_setting={
            "loss": "any analytic ℓ, under mild conditions",
            "network": "n layers, balanced",
            "measure": "line integrals along closed curves",
        },
        check="lineament.claims.cohen.remark_1:check",
        quick="4 s",
        full="60 s",
    ),
)
