"""What the notes state in Section 3, Optimization."""

from ..claim import Claim

OPTIMISATION = (
    Claim(
        "cohen-p3",
        place="Proposition 3",
        title="The origin is a non-strict saddle from three layers on; with two it is strict exactly if ∇ℓ(0) ≠ 0",
        statement=(
            r"n\ge3:\ \nabla\phi(0)=0,\ \nabla^2\phi(0)=0,\ \inf_{\|(W_1,\ldots,W_n)\|<r}\phi<\phi(0)\ \forall r>0"
        ),
        words=(
            r"A stationary point that is no local minimum is a non-strict saddle if the Hessian there has no negative "
            r"eigenvalue. If the loss $\ell$ has no local minimum at the zero map and the network has $n\ge3$ layers, "
            r"the objective $\phi$ has such points. The proof shows it of the origin, where all layers are zero: "
            r"gradient and Hessian of $\phi$ vanish, and yet $\phi$ is lower at some layers within every distance $r$."
        ),
        meaning=(
            "Deep networks have plateaus that second derivatives do not see through: guarantees for strict saddles do "
            "not apply to them."
        ),
        paper_setting={
            "loss": "any analytic ℓ without a local minimum at 0",
            "network": "n ≥ 3 layers",
        },
        check="lineament.claims.cohen.proposition_3:check",
        quick="6 s",
        full="60 s",
    ),
    Claim(
        "cohen-e1",
        place="Example 1, Exercise 3",
        title="On whitened data a map has deficiency margin δ exactly within σ_min − δ of the global minimiser",
        statement=(
            r"\min\{\|W'-\Lambda_{yx}\|_F:\sigma_{\min}(W')\le\delta\}=\max\{0,\sigma_{\min}(\Lambda_{yx})-\delta\},"
            r"\qquad \|W-\Lambda_{yx}\|_F<\sigma_{\min}(\Lambda_{yx})-\delta"
        ),
        words=(
            r"A map $W$ has deficiency margin $\delta>0$ (Definition 3) if its loss is below that of every map $W'$ "
            r"whose least singular value $\sigma_{\min}(W')$ is at most $\delta$. For the square loss on whitened "
            r"instances, $\frac12\|W-\Lambda_{yx}\|_F^2$ up to a constant with the cross-covariance $\Lambda_{yx}$ of "
            r"labels and instances, the nearest such $W'$ is $\max\{0,\sigma_{\min}(\Lambda_{yx})-\delta\}$ away from "
            r"$\Lambda_{yx}$. So $W$ has the margin exactly if "
            r"$\|W-\Lambda_{yx}\|_F<\sigma_{\min}(\Lambda_{yx})-\delta$. With one output, about half of all "
            r"small random maps have a margin."
        ),
        meaning="When a start is near enough to the solution for the convergence guarantee of Theorem 2 to apply.",
        paper_setting={
            "loss": "square loss on whitened instances",
            "map": "any",
            "measure": "proof",
        },
        check="lineament.claims.cohen.example_1:check",
        quick="1 s",
        full="2 min",
    ),
    Claim(
        "cohen-t2",
        place="Theorem 2",
        title="From a balanced start with a deficiency margin, gradient flow converges within the guaranteed time",
        statement=(
            r"\phi(t)-\phi^*\le\epsilon\qquad\forall\,t\ge\frac{\ln\left((\phi(0)-\phi^*)/\epsilon\right)}"
            r"{2\alpha\delta^{2(n-1)/n}}"
        ),
        words=(
            r"Let the loss $\ell$ be $\alpha$-strongly convex, and let a linear network of depth $n$ start balanced, "
            r"its map having deficiency margin $\delta>0$. Write $\phi(t)$ for the objective at time $t$ of gradient "
            r"flow and $\phi^*$ for its global minimum. Then for every $\epsilon>0$ the objective is within $\epsilon$ "
            r"of $\phi^*$ from the time $\ln((\phi(0)-\phi^*)/\epsilon)/(2\alpha\delta^{2(n-1)/n})$ on."
        ),
        meaning=(
            "A deep linear network that starts balanced and close enough reaches the global minimum exponentially "
            "fast, at a rate known in advance."
        ),
        paper_setting={
            "loss": "any analytic, α-strongly convex ℓ",
            "network": "n layers, hidden widths at least min(d₀, d_n)",
            "start": "balanced, with deficiency margin δ",
            "training": "gradient flow",
            "measure": "φ(t) − φ* ≤ ε from the guaranteed time on, for every ε",
        },
        check="lineament.claims.cohen.theorem_2:check",
        quick="25 s",
        full="2 min",
    ),
    Claim(
        "cohen-r2",
        place="Remark 2",
        title="Nearly balanced gradient descent with a small enough step converges within the guaranteed iterations",
        statement=(
            r"\eta\le\frac{\delta^{(4n-2)/n}}{6144n^3\|\Lambda_{yx}\|_F^{(6n-4)/n}},\quad "
            r"\max_j\|W_{j+1}^\top W_{j+1}-W_jW_j^\top\|_F\le\frac{\delta^2}{256n^3\|\Lambda_{yx}\|_F^{2(n-1)/n}}"
            r"\ \Rightarrow\ \phi(t)-\phi^*\le\epsilon\quad\forall\,"
            r"t\ge\frac{\ln(\phi(0)/\epsilon)}{\eta\delta^{2(n-1)/n}}"
        ),
        words=(
            r"For the square loss on whitened instances with cross-covariance $\Lambda_{yx}$, let gradient descent start "
            r"at layers whose map has deficiency margin $\delta>0$ and whose unbalancedness magnitude is at most "
            r"$\delta^2/(256n^3\|\Lambda_{yx}\|_F^{2(n-1)/n})$, with a step size $\eta$ of at most "
            r"$\delta^{(4n-2)/n}/(6144n^3\|\Lambda_{yx}\|_F^{(6n-4)/n})$, where $n$ is the depth. Then for every "
            r"$\epsilon>0$ the objective $\phi(t)$ is within $\epsilon$ of its minimum $\phi^*$ from iteration "
            r"$t=\ln(\phi(0)/\epsilon)/(\eta\delta^{2(n-1)/n})$ on."
        ),
        meaning="Theorem 2 for the algorithm one runs: steps of finite size, layers balanced only nearly.",
        paper_setting={
            "loss": "square loss on whitened instances",
            "network": "n layers, hidden widths at least min(d₀, d_n)",
            "start": "deficiency margin δ; unbalancedness as bounded",
            "step size": "as bounded",
            "training": "gradient descent",
            "measure": "φ(t) − φ* ≤ ε from the guaranteed iteration on, for every ε",
        },
        check="lineament.claims.cohen.remark_2:check",
        quick="8 s",
        full="10 min",
    ),
    Claim(
        "cohen-claim1",
        place="Claim 1",
        title="On ℓp regression, depth can be arbitrarily faster than gradient descent, each at its best step size",
        statement=(
            r"\forall c>0,\ p\in\{4,6,8,\ldots\}\ \exists\,\ell(W)=\frac1m\sum_i\|Wx_i-y_i\|_p^p:\quad "
            r"\min_{\eta}t_{\ell,\eta}>c\,\min_{\zeta}t_{\phi,\zeta}"
        ),
        words=(
            r"Let $t_{\ell,\eta}$ be the first iteration at which gradient descent on the loss $\ell$ with step size "
            r"$\eta$ is within a given $\epsilon>0$ of the minimum, and $t_{\phi,\zeta}$ the same for the end-to-end "
            r"dynamics of a linear network, stepped with size $\zeta$. For every even power $p\ge4$ and every number "
            r"$c$, however large, there are linear regressions with the $\ell_p$ loss (examples $x_i$, labels $y_i$, "
            r"$i=1,\ldots,m$) on which, from a start near zero, the best $t_{\ell,\eta}$ exceeds $c$ times the best "
            r"$t_{\phi,\zeta}$."
        ),
        meaning="Replacing a linear model by a product of layers can speed up even convex training, by any factor.",
        paper_setting={
            "loss": "ℓp regression, p = 4, 6, 8, …; cases exist",
            "network": "end-to-end dynamics of any depth, discretised",
            "start": "near zero",
            "step size": "best for each",
            "measure": "the first iteration within ε of the minimum",
        },
        check="lineament.claims.cohen.claim_1:check",
        quick="20 s",
        full="5 min",
    ),
    Claim(
        "cohen-f1l",
        place="Figure 1, left",
        title="On ℓ4 regression, linear networks of two or three layers train faster than the linear model",
        statement=r"\ell(w)=\frac1{4m}\sum_{i=1}^m(w^\top x_i-y_i)^4,\qquad w=W_n\cdots W_1,\quad n=1,2,3",
        words=(
            r"Gradient descent on the $\ell_4$ loss of a linear regression with examples $x_i$ and labels $y_i$, "
            r"$i=1,\ldots,m$, is compared with gradient descent on the layers $W_1,\ldots,W_n$ of a linear network that "
            r"computes the same vector of weights $w$. With two or three layers the loss falls faster than with one."
        ),
        meaning="The speed-up by depth of Claim 1 is seen on measured data.",
        paper_setting={
            "data": "UCI gas sensor array drift, ethanol, 2565 × 128 (Arora et al. 2018); preparation not printed",
            "loss": "ℓ4",
            "network": "depths 1, 2, 3, hidden widths 1",
            "start": "near zero; not stated further",
            "optimiser": "gradient descent",
            "step size": "not printed; in Arora et al. (2019a) the best of a grid, for each depth",
            "measure": "training loss over iterations",
        },
        check="lineament.claims.cohen.figure_1_left:check",
        kind="experiment",
        quick="15 s",
        full="10 min",
    ),
    Claim(
        "cohen-f1r",
        place="Figure 1, right",
        title="At its tutorial's step size, a convolutional network with doubled dense layers trains faster",
        statement=(
            r"W\ \to\ W_2W_1\ \mathrm{in\ every\ dense\ layer:}\quad "
            r"L_{\mathrm{expanded}}(s)<L_{\mathrm{plain}}(s)\ \mathrm{after\ equally\ many\ steps}\ s"
        ),
        words=(
            r"Every dense layer's matrix $W$ of a convolutional network is replaced by a product $W_2W_1$ of two. "
            r"Trained alike, by stochastic gradient descent with momentum, the expanded network has the lower training "
            r"loss $L$ after equally many steps $s$, though it can compute nothing that the plain one cannot."
        ),
        meaning=(
            "Doubling the dense layers of a network can make it train faster at a given step size. At each network's "
            "own best step size the gain need not remain."
        ),
        paper_setting={
            "data": "MNIST",
            "network": "TensorFlow's tutorial: two convolutions with pooling, dense 512–10; expanded: each dense "
            "matrix a product of two",
            "start": "truncated normal, deviation 0.1; of the added layers not stated",
            "loss": "cross-entropy",
            "optimiser": "stochastic gradient descent, momentum 0.9, batches of 64, dropout 0.5, penalty 5e-4 on "
            "dense layers",
            "step size": "0.01 × 0.95 per epoch",
            "repeats": "not stated",
            "measure": "training loss over 10 epochs",
        },
        check="lineament.claims.cohen.figure_1_right:check",
        kind="experiment",
        quick="25 s",
        full="7 min on an H200",
    ),
)
