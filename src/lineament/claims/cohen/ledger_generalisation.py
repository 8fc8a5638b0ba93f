"""What the notes state in Section 4, Generalization, and Section 5, Arithmetic Neural Networks."""

from ..claim import Claim

_COMPLETION = {
    "data": "completion of a random 100×100 matrix of rank 5 with mean square 1 (Arora et al. 2019b)",
    "optimiser": "gradient descent, the gradient divided by a running mean of its norm (in the authors' code)",
}
_TENSORS = {
    "optimiser": "gradient descent, the gradient divided by a running mean of its norm (in the authors' code)",
    "step size": "0.01 in the authors' code",
    "start": "Gaussian, near zero (0.005 in the authors' code)",
}

GENERALISATION = (
    Claim(
        "cohen-f2",
        place="Figure 2",
        title="From few observations deep networks find the low-rank truth, not the least nuclear norm",
        statement=(
            r"\min\|W\|_*\ \ \mathrm{s.t.}\ \ W_{ij}=W^*_{ij},\ (i,j)\in\Omega\quad\mathrm{against}\quad "
            r"W_n\cdots W_1\ \mathrm{trained\ on}\ \sum_{(i,j)\in\Omega}(W_{ij}-W^*_{ij})^2"
        ),
        words=(
            r"Entries $(i,j)\in\Omega$ of a matrix $W^*$ of low rank are observed. One method takes, among all matrices "
            r"$W$ that agree with them, the one of least nuclear norm $\|W\|_*$, the sum of its singular values. "
            r"Another trains a linear network $W_n\cdots W_1$ of depth 2 or 3 from a small start on the squared errors. "
            r"From many observations all find $W^*$. From few, the networks, the deeper one above all, come nearer to "
            r"$W^*$ than the least nuclear norm, whose norm is lower."
        ),
        meaning="What gradient descent prefers in deep linear networks is low rank, not a small norm.",
        paper_setting=_COMPLETION
        | {
            "network": "depths 2 and 3, full width, Gaussian start; product of scale 1e-3 … 1e-6",
            "step size": "1e-3",
            "measure": "least nuclear norm by a convex solver; mean squared error; nuclear norm",
            "repeats": "one truth",
        },
        check="lineament.claims.cohen.figure_2:check",
        kind="experiment",
        quick="15 s",
        full="21 min",
    ),
    Claim(
        "cohen-p4",
        place="Proposition 4",
        title="The end-to-end matrix has an analytic singular value decomposition along the flow",
        statement=r"W_{n:1}(t)=U(t)\,S(t)\,V(t)^\top,\qquad U,\,S,\,V\ \mathrm{analytic\ in}\ t",
        words=(
            r"Along gradient flow the end-to-end matrix $W_{n:1}(t)=W_n(t)\cdots W_1(t)$ can be written as "
            r"$U(t)S(t)V(t)^\top$ at all times $t$, with orthonormal columns in $U$ and $V$ and diagonal $S$, such that "
            r"all three are analytic functions of $t$. The entries of $S$, the singular values up to sign, may then "
            r"cross each other and need not be sorted."
        ),
        meaning="Singular values and vectors of a network can be followed through training as smooth curves.",
        paper_setting={
            "loss": "any analytic ℓ",
            "network": "n layers, hidden widths at least min(d₀, d_n)",
            "start": "balanced (Assumption 1)",
            "training": "gradient flow",
        },
        check="lineament.claims.cohen.proposition_4:check",
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
        words=(
            r"Let $\sigma_r(t)$, $u_r(t)$ and $v_r(t)$ be the $r$-th singular value and vectors of the map $W$ of a "
            r"balanced linear network of depth $n$ in an analytic decomposition. Along gradient flow $\sigma_r$ moves "
            r"with the speed $n(\sigma_r^2)^{1-1/n}$ times the descent of the loss along its component, the inner "
            r"product of $-\nabla\ell(W)$ with $u_rv_r^\top$."
        ),
        meaning=(
            "From two layers on small singular values move slowly and large ones fast: they are learnt one after the "
            "other, the more so the deeper the network."
        ),
        paper_setting={
            "loss": "any analytic ℓ",
            "network": "n layers, hidden widths at least min(d₀, d_n)",
            "start": "balanced (Assumption 1)",
            "training": "gradient flow",
        },
        check="lineament.claims.cohen.theorem_3:check",
        quick="15 s",
        full="4 min",
    ),
    Claim(
        "cohen-l2",
        place="Lemma 2",
        title="The sign of the determinant never changes",
        statement=r"\mathrm{sign}\,\det W_{n:1}(t)=\mathrm{sign}\,\det W_{n:1}(0)\quad(d_0=d_n,\ n\ge2)",
        words=(
            r"Let a balanced linear network of depth $n\ge2$ have as many outputs as inputs, $d_n=d_0$. Along gradient "
            r"flow the determinant of its map $W_{n:1}(t)=W_n(t)\cdots W_1(t)$ keeps the sign (positive, negative or "
            r"zero) that it had at the start."
        ),
        meaning=(
            "A deep linear network can approach maps of the other orientation, but never reach them: what it can learn "
            "depends on a sign at its start."
        ),
        paper_setting={
            "loss": "any analytic ℓ",
            "network": "n ≥ 2 layers, as many outputs as inputs",
            "start": "balanced (Assumption 1)",
            "training": "gradient flow",
        },
        check="lineament.claims.cohen.lemma_2:check",
        quick="25 s",
        full="4 min",
    ),
    Claim(
        "cohen-p5",
        place="Proposition 5, Exercise 4",
        title="Fitting the observed entries drives every norm of the map to infinity",
        statement=(
            r"\det W_{n:1}(0)>0\ \Rightarrow\ \|W_{n:1}(t)\|\ge c\left(\ell(W_{n:1}(t))-\ell^*\right)^{-1/2}+c',"
            r"\qquad t\ge0"
        ),
        words=(
            r"There are matrix sensing tasks, among them the completion of a $d\times d$ matrix of which all entries "
            r"but one are observed, whose loss $\ell$ attains its minimum $\ell^*=0$, and yet: for every norm "
            r"$\|\cdot\|$ there are constants $c>0$ and $c'$ such that from every balanced start with a map of positive "
            r"determinant the map $W_{n:1}(t)$ of a network of $n\ge2$ layers obeys "
            r"$\|W_{n:1}(t)\|\ge c(\ell(W_{n:1}(t))-\ell^*)^{-1/2}+c'$ at all times $t$ of gradient flow. So every norm "
            r"diverges as the loss vanishes. Exercise 4 asks for the same with a negative determinant."
        ),
        meaning="No norm whatsoever is what gradient descent keeps small: here it fits the data by growing for ever.",
        paper_setting={
            "data": "the proof's completion task, d ≥ 2, and that of Exercise 4 for the other sign",
            "loss": "mean squared error over the observed entries (Equation 9)",
            "network": "n ≥ 2 layers, hidden widths at least d",
            "start": "balanced, det W(0) > 0 (Exercise 4: < 0)",
            "training": "gradient flow",
        },
        check="lineament.claims.cohen.proposition_5:check",
        quick="25 s",
        full="4 min",
    ),
    Claim(
        "cohen-f3",
        place="Figure 3",
        title="Deeper networks learn singular values more sharply, one by one, and reconstruct better",
        statement=(
            r"W_j(0)=(10^{-3})^{1/n}I,\quad n\in\{1,2,3\}:\quad\sigma_r(W_n\cdots W_1)\ \mathrm{over\ descent}"
        ),
        words=(
            r"Linear networks of depth $n=1,2,3$ whose layers $W_j$ start as multiples of the identity, so that their "
            r"product is $10^{-3}I$, are trained by gradient descent on measurements of a matrix of low rank. With one "
            r"layer all singular values $\sigma_r$ of the map rise together. With two, and more sharply with three, "
            r"they rise one after the other, and the truth is reconstructed with less error."
        ),
        meaning="Depth makes learning greedy: strong directions first, weak ones not at all if training ends.",
        paper_setting=_COMPLETION
        | {
            "data": "completion of a random 100×100 matrix of rank 5, 2000 entries observed (Arora et al. 2019b)",
            "network": "depths 1, 2, 3, full width",
            "start": "identities, product 0.001 I",
            "optimiser": "gradient descent, full batch",
            "step size": "0.01 in the authors' code; their plot fits 0.1",
            "measure": "singular values over steps; mean squared error over all entries at the end",
        },
        check="lineament.claims.cohen.figure_3:check",
        kind="experiment",
        quick="15 s",
        full="15 min",
    ),
    Claim(
        "cohen-s44",
        place="Section 4.4",
        title="Linear layers added to an autoencoder lower the rank of its code, so that it can be cut down",
        statement=(
            r"W\ \to\ W_n\cdots W_1:\ \mathrm{lower\ effective\ rank\ after\ training,}"
            r"\ \mathrm{less\ lost\ at\ equal\ size}"
        ),
        words=(
            r"Replacing a linear transformation $W$ inside a non-linear network by a product $W_n\cdots W_1$ encourages "
            r"solutions of low rank, which can be compressed: fewer parameters fit the data as well. The notes cite "
            r"three works that use this; the one followed here, Jing et al. (2020), puts linear layers between the "
            r"encoder and the decoder of an autoencoder. Effective rank is the exponential of the entropy of the "
            r"singular values."
        ),
        meaning=(
            "Extra linear layers, merged after training, are a way to a smaller model. How much it brings depends on "
            "where they are put: an autoencoder's code loses most of its rank, a classifier's dense layer little of it."
        ),
        paper_setting={
            "data": "MNIST and others (Jing et al. 2020)",
            "network": "convolutional autoencoder, code of 128; 8 linear layers behind the encoder, against none",
            "loss": "mean squared error",
            "optimiser": "Adam",
            "step size": "1e-4",
            "repeats": "not stated",
            "measure": "singular values of the covariance of codes",
        },
        check="lineament.claims.cohen.section_4_4:check",
        kind="experiment",
        quick="25 s",
        full="8 min on a GPU",
    ),
    Claim(
        "cohen-s5cp",
        place="Section 5",
        title="A tensor factorisation learns components one by one and finds tensors of low CP rank",
        statement=(
            r"T=\sum_{r=1}^{R}w_r^1\otimes\cdots\otimes w_r^N,\quad w_r^n(0)\approx0:\quad "
            r"\|w_r^1\otimes\cdots\otimes w_r^N\|\ \mathrm{rise\ one\ by\ one}"
        ),
        words=(
            r"A tensor $T$ of $N$ axes is written as a sum of $R$ components, each the outer product "
            r"$w_r^1\otimes\cdots\otimes w_r^N$ of $N$ vectors; the least $R$ that suffices is its CP rank. Trained from "
            r"a small start on some entries of a tensor, with as many components as any tensor may need, such a "
            r"factorisation is biased to low rank: the norms of its components rise one by one."
        ),
        meaning="The preference for low rank is not special to linear networks: networks that multiply have it too.",
        paper_setting=_TENSORS
        | {
            "data": "completion of random tensors of low CP rank and norm 1: order 4, axes of 10, rank 5, 2000 entries "
            "(Razin et al. 2021)",
            "network": "CP factorisation with enough components for any tensor",
            "repeats": "not stated in the notes",
        },
        check="lineament.claims.cohen.section_5_cp:check",
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
        words=(
            r"A hierarchical factorisation builds a tensor along a tree: at each node $\nu$ with children $a$ and $b$ "
            r"the tensors $T^\nu_q$ are sums over $r=1,\ldots,R$ of outer products $T^a_r\otimes T^b_r$ with weights "
            r"$V^\nu_{qr}$. Its hierarchical rank at a node is the rank of the matricisation $[T]_\nu$, which puts the "
            r"axes below the node in rows and the others in columns. Trained from a small start, it is biased to low "
            r"hierarchical rank: local components rise one by one."
        ),
        meaning="Networks whose layers multiply what they join, like deep convolutional ones, prefer low rank too.",
        paper_setting=_TENSORS
        | {
            "data": "completion of random tensors of low hierarchical rank (Razin et al. 2022); sizes not in the notes",
            "network": "tree factorisation, more weights than entries are seen",
            "repeats": "not stated in the notes",
        },
        check="lineament.claims.cohen.section_5_tree:check",
        kind="experiment",
        quick="15 s",
        full="10 min on a GPU",
    ),
)
