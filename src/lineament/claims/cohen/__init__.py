"""Cohen & Razin (2024): lecture notes on linear neural networks."""

from ..claim import Claim

CLAIMS = (
    Claim(
        "cohen-p1",
        place="Proposition 1",
        title="The overparameterised objective is non-convex unless the loss is constant",
        statement=(
            r"\ell(0)\neq\min\ell\ \Rightarrow\ \phi(W_1,\ldots,W_n)=\ell(W_n\cdots W_1)\ \mathrm{is\ not\ convex}"
        ),
        check="lineament.claims.cohen.landscape:nonconvexity",
        quick="2 s",
        full="30 s",
    ),
    Claim(
        "cohen-l1",
        place="Lemma 1",
        title="Gradient flow conserves the difference of neighbouring layers' Gram matrices",
        statement=r"\frac{d}{dt}\left[W_{j+1}(t)^\top W_{j+1}(t)-W_j(t)W_j(t)^\top\right]=0,\qquad j=1,\ldots,n-1",
        check="lineament.claims.cohen.balance:conservation",
        quick="20 s",
        full="90 s",
    ),
    Claim(
        "cohen-p2",
        place="Proposition 2",
        title="The unbalancedness magnitude is constant along gradient flow",
        statement=r"\max_{j}\left\|W_{j+1}(t)^\top W_{j+1}(t)-W_j(t)W_j(t)^\top\right\|_F=\mathrm{const}",
        check="lineament.claims.cohen.balance:constant_unbalancedness",
        quick="15 s",
        full="60 s",
    ),
    Claim(
        "cohen-a1",
        place="Assumption 1",
        title="Every map has a balanced factorisation of any depth and admissible widths",
        statement=r"\forall W\ \exists\,(W_1,\ldots,W_n):\ W_n\cdots W_1=W,\quad W_{j+1}^\top W_{j+1}=W_jW_j^\top",
        check="lineament.claims.cohen.balance:balanced_factorisation",
        quick="10 s",
        full="60 s",
    ),
    Claim(
        "cohen-t1",
        place="Theorem 1, Equation (3)",
        title="From a balanced start the end-to-end matrix obeys an equation of its own",
        statement=r"\dot W=-\sum_{j=1}^{n}[WW^\top]^{\frac{j-1}{n}}\,\nabla\ell(W)\,[W^\top W]^{\frac{n-j}{n}}",
        check="lineament.claims.cohen.dynamics:end_to_end_dynamics",
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
        check="lineament.claims.cohen.dynamics:implicit_preconditioner",
        quick="2 s",
        full="30 s",
    ),
    Claim(
        "cohen-r1",
        place="Remark 1",
        title="The end-to-end dynamics are no gradient flow, except in four special cases",
        statement=(
            r"\oint\left\langle\sum_{j=1}^{n}[WW^\top]^{\frac{j-1}{n}}\nabla\ell(W)[W^\top W]^{\frac{n-j}{n}},dW"
            r"\right\rangle\neq0"
        ),
        check="lineament.claims.cohen.line_integrals:no_gradient_field",
        quick="4 s",
        full="60 s",
    ),
    Claim(
        "cohen-p3",
        place="Proposition 3",
        title="The origin is a non-strict saddle from three layers on; with two it is strict exactly if ∇ℓ(0) ≠ 0",
        statement=(
            r"n\ge3:\ \nabla\phi(0)=0,\ \nabla^2\phi(0)=0,\ \inf_{\|(W_1,\ldots,W_n)\|<r}\phi<\phi(0)\ \forall r>0"
        ),
        check="lineament.claims.cohen.landscape:origin_is_a_saddle",
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
        check="lineament.claims.cohen.margins:deficiency_margin",
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
        check="lineament.claims.cohen.certificates:guaranteed_time",
        quick="11 s",
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
        check="lineament.claims.cohen.certificates_descent:guaranteed_iterations",
        quick="7 s",
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
        check="lineament.claims.cohen.acceleration:arbitrary_acceleration",
        quick="13 s",
        full="3 min",
    ),
    Claim(
        "cohen-f1l",
        place="Figure 1, left",
        title="On ℓ4 regression, linear networks of two or three layers train faster than the linear model",
        statement=r"\ell(w)=\frac1{4m}\sum_{i=1}^m(w^\top x_i-y_i)^4,\qquad w=W_n\cdots W_1,\quad n=1,2,3",
        check="lineament.claims.cohen.figure_one:faster_with_depth",
        kind="experiment",
        quick="13 s",
        full="1 h",
    ),
    Claim(
        "cohen-f1r",
        place="Figure 1, right",
        title="A convolutional network whose dense layers are each replaced by two trains faster",
        statement=(
            r"W\ \to\ W_2W_1\ \mathrm{in\ every\ dense\ layer:}\quad "
            r"L_{\mathrm{expanded}}(s)<L_{\mathrm{plain}}(s)\ \mathrm{after\ equally\ many\ steps}\ s"
        ),
        check="lineament.claims.cohen.expansion:expanded_network_trains_faster",
        kind="experiment",
        quick="25 s",
        full="5 min on a GPU",
    ),
    Claim(
        "cohen-f2",
        place="Figure 2",
        title="From few observations deep networks find the low-rank truth, not the least nuclear norm",
        statement=(
            r"\min\|W\|_*\ \ \mathrm{s.t.}\ \ W_{ij}=W^*_{ij},\ (i,j)\in\Omega\quad\mathrm{against}\quad "
            r"W_n\cdots W_1\ \mathrm{trained\ on}\ \sum_{(i,j)\in\Omega}(W_{ij}-W^*_{ij})^2"
        ),
        check="lineament.claims.cohen.completion:least_nuclear_norm_or_low_rank",
        kind="experiment",
        quick="15 s",
        full="21 min",
    ),
    Claim(
        "cohen-p4",
        place="Proposition 4",
        title="The end-to-end matrix has an analytic singular value decomposition along the flow",
        statement=r"W_{n:1}(t)=U(t)\,S(t)\,V(t)^\top,\qquad U,\,S,\,V\ \mathrm{analytic\ in}\ t",
        check="lineament.claims.cohen.singular_values:analytic_decomposition",
        quick="8 s",
        full="60 s",
    ),
    Claim(
        "cohen-t3",
        place="Theorem 3",
        title="Each singular value moves by its own power times the descent along its component",
        statement=(
            r"\dot\sigma_r=n\left(\sigma_r^2\right)^{1-\frac1n}\left\langle-\nabla\ell(W),u_rv_r^\top\right\rangle"
        ),
        check="lineament.claims.cohen.singular_values:singular_value_dynamics",
        quick="15 s",
        full="4 min",
    ),
    Claim(
        "cohen-l2",
        place="Lemma 2",
        title="The sign of the determinant never changes",
        statement=r"\mathrm{sign}\,\det W_{n:1}(t)=\mathrm{sign}\,\det W_{n:1}(0)\quad(d_0=d_n,\ n\ge2)",
        check="lineament.claims.cohen.singular_values:determinant_keeps_its_sign",
        quick="20 s",
        full="3 min",
    ),
    Claim(
        "cohen-p5",
        place="Proposition 5, Exercise 4",
        title="Fitting the observed entries drives every norm of the map to infinity",
        statement=(
            r"\det W_{n:1}(0)>0\ \Rightarrow\ \|W_{n:1}(t)\|\ge c\left(\ell(W_{n:1}(t))-\ell^*\right)^{-1/2}+c',"
            r"\qquad t\ge0"
        ),
        check="lineament.claims.cohen.norms:norms_diverge",
        quick="17 s",
        full="2 min",
    ),
    Claim(
        "cohen-f3",
        place="Figure 3",
        title="Deeper networks learn singular values more sharply, one by one, and reconstruct better",
        statement=(
            r"W_j(0)=(10^{-3})^{1/n}I,\quad n\in\{1,2,3\}:\quad\sigma_r(W_n\cdots W_1)\ \mathrm{over\ descent}"
        ),
        check="lineament.claims.cohen.completion:singular_values_one_by_one",
        kind="experiment",
        quick="15 s",
        full="15 min",
    ),
    Claim(
        "cohen-s44",
        place="Section 4.4",
        title="Expanded layers end with lower effective rank and survive truncation better",
        statement=(
            r"W\ \to\ W_n\cdots W_1\ \mathrm{in\ every\ dense\ layer:\ lower\ effective\ rank\ after\ training,}"
            r"\ \mathrm{higher\ accuracy\ at\ equal\ size}"
        ),
        check="lineament.claims.cohen.expansion:expanded_network_compresses",
        kind="experiment",
        quick="25 s",
        full="5 min on a GPU",
    ),
    Claim(
        "cohen-s5cp",
        place="Section 5",
        title="A tensor factorisation learns components one by one and finds tensors of low CP rank",
        statement=(
            r"T=\sum_{r=1}^{R}w_r^1\otimes\cdots\otimes w_r^N,\quad w_r^n(0)\approx0:\quad "
            r"\|w_r^1\otimes\cdots\otimes w_r^N\|\ \mathrm{rise\ one\ by\ one}"
        ),
        check="lineament.claims.cohen.tensors:cp_components",
        kind="experiment",
        quick="15 s",
        full="10 min on a GPU",
    ),
    Claim(
        "cohen-s5ht",
        place="Section 5",
        title="A hierarchical tensor factorisation learns components one by one and finds low hierarchical rank",
        statement=(
            r"T^{\nu}_q=\sum_{r=1}^{R}V^{\nu}_{qr}\,T^{a}_r\otimes T^{b}_r,\quad V^\nu(0)\approx0:\quad "
            r"\mathrm{rank}\,[T]_\nu\ \mathrm{stays\ low}"
        ),
        check="lineament.claims.cohen.tensors:tree_components",
        kind="experiment",
        quick="15 s",
        full="10 min on a GPU",
    ),
    Claim(
        "cohen-x1",
        place="Exercise 1",
        title="With one output, the gradient along the map counts n-fold",
        statement=r"\dot w=-\|w\|^{2-\frac2n}\left(\nabla\ell(w)+(n-1)\,\frac{ww^\top}{\|w\|^2}\nabla\ell(w)\right)",
        check="lineament.claims.cohen.exercises:one_output",
        quick="2 s",
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
        check="lineament.claims.cohen.exercises:symmetric_network",
        quick="10 s",
        full="60 s",
    ),
    Claim(
        "cohen-x5",
        place="Exercise 5",
        title="Under constant alignment the ratios of singular values grow exponentially at two layers",
        statement=r"\sigma_r(t)=\epsilon\,e^{2c_rt},\qquad\frac{\sigma_r(t)}{\sigma_{r'}(t)}=e^{2(c_r-c_{r'})t}",
        check="lineament.claims.cohen.exercises:constant_alignment_ratios",
        quick="12 s",
        full="40 s",
    ),
)
