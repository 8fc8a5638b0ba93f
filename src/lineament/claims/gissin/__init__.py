"""Gissin, Shalev-Shwartz & Daniely (2020): the implicit bias of depth, or how learning becomes incremental."""

from ..claim import Claim

CLAIMS = (
    Claim(
        "gissin-f1",
        place="Figure 1",
        title="Four deep models learn their values one after the other",
        statement=(
            r"\mathrm{sensing,\ quadratic,\ diagonal,\ convolutional\ networks}:\quad "
            r"\sigma_{i+1}\ll\sigma_{i+1}^*\ \mathrm{when}\ \sigma_i\ \mathrm{is\ learnt}"
        ),
        check="lineament.claims.gissin.figure_1:check",
        words=(
            r"Four models are trained by gradient descent from a small start on few examples; $\sigma$ is the vector "
            "of values of the model they induce: singular values of the product (a, matrix sensing at depth 4) and "
            r"of $W^\top W$ (b, quadratic network), weights (c, diagonal classifier of depth 3) and amplitudes in the "
            "frequency domain (d, convolutional classifier of depth 3). In each, the five largest values are learnt "
            r"at different rates, larger ones first, which leads to sparse solutions. Here: when a value $\sigma_i$ "
            r"is half learnt, the next one, $\sigma_{i+1}$, is still small against what it is to be, "
            r"$\sigma_{i+1}^*$."
        ),
        meaning=(
            "A deep network from a small start fits its data with as few parts as it can, and adds them one by one. "
            "Stopping early then means a simpler model, not just a worse fit."
        ),
        paper_setting={
            "(a) matrix sensing": "depth 4, 50 × 50, m = 1000 (script), rank 4, σ0 = 1e-4, step 0.001 (script)",
            "(b) quadratic network": "with a bias, d = 20, n = 100, σ0 = 1e-4, step 0.001 (script); rank 4",
            "(c) diagonal network": (
                "depth 3, d = 100, n = 200, exponential loss, σ0 = 0.01, step 0.01 (loss and both of the script)"
            ),
            "(d) convolutional network": (
                "depth 3, d = 100, n = 200, exponential loss, σ0 = 0.01, step 0.001 (loss and both of the script)"
            ),
            "repeats": "one of each drawn; how many were run is not stated",
            "measure": "five largest values of the induced model",
        },
        kind="experiment",
        quick="9 s",
        full="6 min",
    ),
    Claim(
        "gissin-t1",
        place="Theorem 1",
        title="The toy model has a closed solution at every depth",
        statement=(
            r"\dot\sigma = \sigma^{2-2/N}(\sigma^*-\sigma),\;\sigma(0)=\sigma_0:\quad "
            r"N=1:\ \sigma^*+(\sigma_0-\sigma^*)e^{-t};\quad "
            r"N=2:\ \frac{\sigma_0\sigma^*e^{\sigma^*t}}{\sigma_0(e^{\sigma^*t}-1)+\sigma^*};\quad "
            r"N\to\infty:\ t=\frac{1}{\sigma^{*2}}\ln\frac{\sigma(\sigma^*-\sigma_0)}{\sigma_0(\sigma^*-\sigma)}"
            r"+\frac{1}{\sigma^*}\left(\frac1{\sigma_0}-\frac1\sigma\right)"
        ),
        check="lineament.claims.gissin.theorem_1:check",
        words=(
            r"The toy model predicts $\langle\sigma, x\rangle$ with non-negative weights $\sigma_i = w_i^N$; $N$ is "
            r"its depth, and the data are labelled by $\sigma^*$. On the squared loss over Gaussian inputs, divided "
            r"by $N^2$, gradient flow from $\sigma(0) = \sigma_0$ moves every weight on its own, by $\dot\sigma = "
            r"\sigma^{2-2/N}(\sigma^*-\sigma)$. Its solution over the time $t$ is given in closed form for $N = 1$, "
            r"$N = 2$ and $N \to \infty$."
        ),
        meaning=(
            "How long a feature takes to be learnt is a formula of its size, the depth and the start. In a deep "
            "model a feature waits long, then rises at once."
        ),
        paper_setting={
            "model": "toy model σ = w^N, one value at a time",
            "loss": "depth-normalised squared loss over Gaussian inputs",
            "optimiser": "gradient flow",
            "depth": "1, 2 and infinity; for 3 ≤ N < ∞ “similar in structure”",
            "start": "σ0 > 0, σ* > 0",
        },
        quick="3 s",
        full="40 s",
    ),
    Claim(
        "gissin-f2",
        place="Figure 2",
        title="Depth and a small start separate the learning of large and small values",
        statement=r"\sigma_i^*\in\{12,6,4,3\},\quad N\in\{1,2,3,4\},\quad\sigma_0\in\{0.1,\,0.001\}",
        check="lineament.claims.gissin.figure_2:check",
        words=(
            r"The closed solutions $\sigma_i(t)$ of Theorem 1 for four targets $\sigma_i^*$, at depths $N$ from 1 to "
            r"4 and from two starts $\sigma_0$. At depth 1 all values converge at the same rate; the deeper the model "
            "and the smaller the start, the more distinct are the phases in which the values are learnt, larger ones "
            "first."
        ),
        meaning=(
            "The same four features, learnt all at once by a shallow model and one by one by a deep one: depth and a "
            "small start, nothing else, make the difference."
        ),
        paper_setting={
            "model": "toy model",
            "targets": "12, 6, 4, 3",
            "depth": "1, 2, 3, 4",
            "start": "σ0 = 0.1 and 0.001",
            "what is drawn": "the closed solutions of Theorem 1",
        },
        kind="experiment",
        quick="5 s",
        full="15 s",
    ),
    Claim(
        "gissin-d1",
        place="Definition 1",
        title="Whether two values are learnt one after the other is decided exactly by the closed forms",
        statement=(
            r"\exists t:\ \sigma_j(t)\le s\,\sigma_j^*<f\,\sigma_i^*\le\sigma_i(t),\qquad "
            r"s\in(0,\tfrac14),\ f\in(\tfrac34,1),\ \sigma_0<\sigma_j^*<\sigma_i^*"
        ),
        check="lineament.claims.gissin.definition_1:check",
        words=(
            r"Two values with targets $\sigma_i^* > \sigma_j^* > 0$ start at the same $\sigma_0 < \sigma_j^*$. Their "
            "learning is $(s, f)$-incremental if at some time $t$ the first has come at least to the share $f$ of "
            "its target while the second has come at most to the share $s$ of its own. Checked is that the closed "
            "solutions decide this exactly."
        ),
        meaning=(
            "A yes-or-no definition of “learnt one after the other”, which can be decided for any pair of features "
            "without training."
        ),
        paper_setting={
            "fractions": "s in (0, 1/4), f in (3/4, 1)",
            "targets": "σi* > σj* > 0",
            "start": "σ0 < σj*, the same for both",
            "depth": "any",
            "optimiser": "gradient flow",
        },
        quick="4 s",
        full="45 s",
    ),
    Claim(
        "gissin-t2",
        place="Theorem 2, Appendix A",
        title="The largest incremental start is exponentially small at depth two and polynomially small beyond",
        statement=(
            r"N=2:\ s\sigma_j^*\left(\frac{s}{rf}\right)^{\frac{1}{(1-f)(r-1)}}\le\sigma_0^{th}\le "
            r"s\sigma_j^*\left(\frac{s}{rf}\right)^{\frac{1-s}{r-1}};\quad "
            r"N\ge3:\ s\sigma_j^*\left(\frac{(1-f)(r-1)}{1+(1-f)(r-1)}\right)^{\frac{N}{N-2}}\le\sigma_0^{th}\le "
            r"s\sigma_j^*\left(\frac{r-1}{r-s}\right)^{\frac{N}{N-2}}"
        ),
        check="lineament.claims.gissin.theorem_2:check",
        words=(
            r"$\sigma_0^{th}$ is the largest start $\sigma_0$ from which the learning of two values with targets "
            r"$\sigma_i^* = r\sigma_j^*$, $r > 1$, is $(s, f)$-incremental (Definition 1) under gradient flow at "
            "depth $N$. The theorem bounds it from below and above. At $N = 2$ both bounds are exponentially small "
            r"in $1/(r-1)$, at $N \ge 3$ they are powers of $r-1$: that is the depth separation."
        ),
        meaning=(
            "With two layers, features of similar size separate only from absurdly small starts; with three or more, "
            "ordinary small starts are enough."
        ),
        paper_setting={
            "depth": "2, and 3 or more",
            "targets": "r = σi*/σj* > 1",
            "fractions": "s in (0, 1/4), f in (3/4, 1)",
            "start": "the same σ0 for both values",
            "optimiser": "gradient flow",
        },
        quick="8 s",
        full="30 s",
    ),
    Claim(
        "gissin-t3",
        place="Theorem 3, Appendix B",
        title="By gradient descent at depth two, too, the largest incremental start is exponentially small",
        statement=(
            r"\eta\le\frac{c}{\sigma_1^*},\ c<2(\sqrt2-1),\ R=\frac{\sigma^*}{\sigma_1^*}:\quad "
            r"\frac12\frac{s}{1-s}\sigma_j^*\left(\frac{1-f}{2rf}\frac{s}{1-s}\right)^{\frac1{A-1}}\le\sigma_0^{th}\le "
            r"\frac{s}{1-s}\sigma_j^*\left(\frac{1-f}{f}\frac{s}{1-s}\right)^{\frac1{B-1}},\quad "
            r"A=\frac{\ln(1-cR_i+c^2R_i^2)}{\ln(1-cR_j-c^2R_j^2/4)},\ "
            r"B=\frac{\ln(1-cR_i-c^2R_i^2/4)}{\ln(1-cR_j+c^2R_j^2)}"
        ),
        check="lineament.claims.gissin.theorem_3:check",
        words=(
            r"As Theorem 2, at depth 2 and for gradient descent with step $\eta \le c/\sigma_1^*$, where $\sigma_1^*$ "
            r"is the largest target, $c < 2(\sqrt2-1)$, and $R_i = \sigma_i^*/\sigma_1^*$, $R_j = "
            r"\sigma_j^*/\sigma_1^*$. $\sigma_0^{th}$, the largest start from which the pair is $(s, f)$-incremental, "
            "lies between two bounds whose exponents hold the numbers $A$ and $B$; both tend to $r = "
            r"\sigma_i^*/\sigma_j^*$ as $c \to 0$."
        ),
        meaning=(
            "Finite steps do not change the picture of the flow at depth two, as long as they are small enough "
            "against the gap between the two features: that condition is missing in the paper."
        ),
        paper_setting={
            "depth": "2",
            "targets": "r = σi*/σj* > 1, σ1* the largest",
            "fractions": "s in (0, 1/4), f in (3/4, 1)",
            "step size": "η ≤ c/σ1*, c < 2(√2 − 1)",
            "start": "the same σ0 for both values, σj* ≥ 2σ0",
            "optimiser": "gradient descent",
        },
        quick="6 s",
        full="40 s",
    ),
    Claim(
        "gissin-t4",
        place="Theorem 4",
        title="Deep matrix sensing moves each singular value as one scalar mode",
        statement=(
            r"W_i(0)=\sqrt[N]{\sigma_0}\,I,\ W^*\succeq0,\ \ell=\tfrac1{2N}\|W_N\cdots W_1-W^*\|_F^2"
            r"\ \Rightarrow\ \dot\sigma_i=\sigma_i^{2-2/N}(\sigma_i^*-\sigma_i)"
        ),
        check="lineament.claims.gissin.theorem_4:check",
        words=(
            r"A matrix $W = W_N\cdots W_1$ of $N$ square layers is trained by gradient flow on $\ell = "
            r"\frac{1}{2N}\|W - W^*\|_F^2$, where $W^*$ is positive semi-definite, from layers that are all the same "
            r"multiple of the identity, $\sqrt[N]{\sigma_0}I$. Then each singular value $\sigma_i$ of $W$ obeys the "
            r"toy model's equation with the singular value $\sigma_i^*$ of $W^*$ as its target, and the singular "
            "vectors stay those of $W^*$."
        ),
        meaning=(
            "A deep linear network learns the directions of its target independently, each on the toy model's curve: "
            "sparse becomes low rank."
        ),
        paper_setting={
            "model": "product of N square matrices",
            "target": "positive semi-definite",
            "start": "a multiple of the identity in every layer",
            "loss": "depth-normalised squared loss over all Gaussian measurements",
            "optimiser": "gradient flow",
            "depth": "any",
        },
        quick="10 s",
        full="60 s",
    ),
    Claim(
        "gissin-t5",
        place="Theorem 5, Appendix F",
        title="Quadratic networks move by the modes of depth 2, coupled through the trace and the bias",
        statement=(
            r"W_0^\top W_0=\sigma_0I:\quad\mathrm{variance\ loss:}\ \dot\sigma_i=\sigma_i(\sigma_i^*-\sigma_i);\quad "
            r"\mathrm{squared\ loss:}\ \dot\sigma_i=\sigma_i\left(\sigma_i^*-\sigma_i+\tfrac12u\right),"
            r"\ u=\sum_j(\sigma_j^*-\sigma_j)+b^*-b;\quad\mathrm{with\ a\ bias:}\ \dot b=u"
        ),
        check="lineament.claims.gissin.theorem_5:check",
        words=(
            r"A quadratic network $f(x) = x^\top W^\top Wx$ learns from one with weights $W^*$, from $W_0^\top W_0 = "
            r"\sigma_0I$, by gradient flow over Gaussian inputs. On the variance loss (the variance of the error, "
            r"over 16) the singular values $\sigma_i$ follow the toy model of depth 2. On the squared loss (over 16) "
            r"they are coupled through $u = \sum_j(\sigma_j^*-\sigma_j) + b^* - b$, where $b$ is a global bias, $b^*$ "
            r"its target, and $b = b^* = 0$ if there is none; a trainable bias moves by $\dot b = u$. As printed, "
            r"$\sigma_i$ and $\sigma_i^*$ are singular values of $W$ and $W^*$."
        ),
        meaning=(
            "Adding a bias lets a quadratic network learn its directions one by one instead of all together. The "
            "bias does so eight times more slowly than the paper's equation says."
        ),
        paper_setting={
            "network": "quadratic activations, d × d weights; without a bias, and with one that is trained",
            "target": "any W*",
            "start": "WᵀW = σ0 I",
            "inputs": "Gaussian",
            "loss": "variance loss and squared loss, both over 16",
            "optimiser": "gradient flow",
        },
        quick="9 s",
        full="60 s",
    ),
    Claim(
        "gissin-lc",
        place="Lemma 1, Appendix C",
        title=(
            "Small enough steps never overshoot, and depth widens the gap between the first steps of large and small"
        ),
        statement=(
            r"N\ge2,\ \sigma_i(0)<\sigma_i^*,\ \eta\le\left(\frac1{\sigma_1^*}\right)^{2-2/N}\ \Rightarrow\ "
            r"\forall t:\ \sigma_i(t)\le\sigma_i^*;\qquad "
            r"r_i=\frac{\sigma_i}{\sigma_i^*}:\ \frac{r_i(1)-r_i(0)}{r_j(1)-r_j(0)}\approx "
            r"\left(\frac{\sigma_i^*}{\sigma_j^*}\right)^{\frac{N-1}N}"
        ),
        check="lineament.claims.gissin.lemma_1:check",
        words=(
            r"Gradient descent on the toy model's normalised loss, $\sigma_1^*$ being the largest target. Lemma 1: "
            r"with depth $N \ge 2$ and a step $\eta \le (1/\sigma_1^*)^{2-2/N}$ no value that starts below its target "
            r"$\sigma_i^*$ ever passes it. Appendix C: let $r_i = \sigma_i/\sigma_i^*$ and let both values start at "
            r"the same small $\sigma_0$; then the first update of $r_i$ is larger than that of $r_j$ by the factor "
            r"$(\sigma_i^*/\sigma_j^*)^{(N-1)/N}$, so that depth favours the large value."
        ),
        meaning=(
            "The lemma gives the largest safe step. The early advantage of large features, however, does not show in "
            "the first step of what is learnt, only in that of the weights."
        ),
        paper_setting={
            "model": "toy model, one value at a time",
            "loss": "depth-normalised squared loss over Gaussian inputs",
            "optimiser": "gradient descent",
            "depth": "2 or more",
            "step size": "Lemma 1: up to (1/σ1*)^(2−2/N); Appendix C: small",
            "start": "Lemma 1: σ0 < σ*; Appendix C: small",
        },
        quick="2 s",
        full="20 s",
    ),
    Claim(
        "gissin-f3",
        place="Appendix D, Figure 3",
        title="The deep toy model first chooses the features that orthogonal matching pursuit chooses",
        statement=(
            r"\sigma=w_+^5-w_-^5:\quad\frac{|\{\mathrm{first}\ s\ \mathrm{of\ the\ toy\ model}\}\cap "
            r"\{\mathrm{first}\ s\ \mathrm{of\ OMP}\}|}{s}\approx1\ \mathrm{for\ small}\ s"
        ),
        check="lineament.claims.gissin.figure_3:check",
        words=(
            r"The toy model with weights of both signs, $\sigma = w_+^5 - w_-^5$, fits an example that is a "
            "combination of $s$ atoms of a random dictionary, from a small start. The features whose weights first "
            "exceed a threshold are compared with those that orthogonal matching pursuit (OMP) picks greedily: the "
            "share of the first $s$ features that is in both sets is near 1 for small $s$ and falls as $s$ grows."
        ),
        meaning=(
            "A deep model from a small start selects features much like a greedy sparse solver does, without being "
            "told to."
        ),
        paper_setting={
            "data": (
                "dictionary of 1000 atoms, dimension 80; hidden vector of s values (1 + exponential of mean 10 in "
                "the authors' script)"
            ),
            "model": "σ = w₊^N − w₋^N, N = 5",
            "start": "1e-4",
            "loss": "squared",
            "optimiser": (
                "gradient descent, step 0.003 (until the mean square is below 0.01, at most 100000 steps, in the "
                "authors' script)"
            ),
            "sparsity": "about 1 to 25",
            "repeats": "100",
            "measure": (
                "share of the first s features in both; chosen when |σ| exceeds a small threshold (0.1 in the "
                "authors' script)"
            ),
        },
        kind="experiment",
        quick="5 s",
        full="25 min",
    ),
    Claim(
        "gissin-f4",
        place="Figure 4",
        title="Depth recovers a low-rank matrix from few measurements, one singular value after the other",
        statement=(
            r"y_k=\langle A_k,W^*\rangle,\ k\le m<d^2,\ \sigma(W^*)=(12,6,4,3,0,\ldots):\quad "
            r"\mathrm{depth}\ 1\ \mathrm{fails},\ \mathrm{deeper\ networks\ recover}\ W^*"
        ),
        check="lineament.claims.gissin.figure_4:check",
        words=(
            r"A $d\times d$ matrix $W^*$ of rank 4 is to be found from $m < d^2$ noise-free numbers $y_k = \langle "
            r"A_k, W^*\rangle$ with Gaussian $A_k$, by gradient descent on a product of $N$ matrices from small "
            "Gaussian layers. At depth $N = 1$ all five of the largest singular values become non-zero, so that "
            r"recovery fails; deeper products learn the four of the target, $\sigma(W^*)$, one after the other and "
            "recover it."
        ),
        meaning=(
            "Over-parameterising a matrix as a product of matrices, with a small start, acts as a low-rank prior "
            "without any penalty."
        ),
        paper_setting={
            "data": (
                "Gaussian measurements of a 50 × 50 matrix; two sizes of the set, not stated (m = 1000 in the "
                "authors' script)"
            ),
            "target": "rank 4 (singular values 12, 6, 4, 3 in the authors' script)",
            "network": "product of square matrices, several depths, 1 among them (1, 2, 3, 4 in the authors' script)",
            "start": "Gaussian layers, singular values of the product about 1e-4",
            "loss": "mean square",
            "optimiser": "gradient descent (step 0.001, until the mean square is below 0.01, in the authors' script)",
            "repeats": "one drawn",
            "measure": "five largest singular values of the product",
        },
        kind="experiment",
        quick="9 s",
        full="40 min",
    ),
    Claim(
        "gissin-f5",
        place="Figure 5",
        title="A trainable bias makes a quadratic network learn its values in turn, and at low rank",
        statement=(
            r"f(x)=\langle W^\top W,xx^\top\rangle+b,\quad "
            r"\sigma(W^{*\top}W^*)=(1,\tfrac12,\tfrac13,\tfrac14,0,\ldots)"
        ),
        check="lineament.claims.gissin.figure_5:check",
        words=(
            r"A quadratic network $f(x) = \langle W^\top W, xx^\top\rangle + b$ learns from one whose $W^{*\top}W^*$ "
            "has rank 4, from $n$ Gaussian examples, by gradient descent from a small start; the global bias $b$ is "
            "trained or absent, the set large (one solution) or small (many). Without a bias the singular values are "
            "learnt together, the first overshoots, and the small set gives a larger rank. With a bias they are "
            "learnt in turn, and the solution found from the small set is the optimal one of low rank."
        ),
        meaning=(
            "One extra scalar, a trainable bias, turns joint learning into incremental learning and lets few "
            "examples determine the right low-rank answer, if one trains long enough."
        ),
        paper_setting={
            "network": "f(x) = xᵀWᵀWx, with and without a global bias; W is d × d (d = 20 in the authors' script)",
            "target": "rank 4 (eigenvalues of W*ᵀW* 1, 1/2, 1/3, 1/4, b* = 0, in the authors' script)",
            "data": "Gaussian inputs; a small and a large set, not stated (n = 100 in the authors' script)",
            "start": "W orthogonal, WᵀW = 1e-4 I (script); b at its optimum",
            "loss": "squared",
            "optimiser": "gradient descent (step 0.001, until the mean square is below 0.01, in the authors' script)",
            "repeats": "one drawn",
            "measure": "five largest singular values of WᵀW",
        },
        kind="experiment",
        quick="8 s",
        full="6 min",
    ),
    Claim(
        "gissin-f6",
        place="Figure 6",
        title="Deep diagonal classifiers find the sparse truth, the better the smaller the start",
        statement=(
            r"\sigma=w_+^N-w_-^N,\quad\ell=\frac1n\sum_je^{-y_j\langle\sigma,x_j\rangle},\quad "
            r"y_j=\mathrm{sign}\langle\sigma^*,x_j\rangle,\quad\sigma^*\propto(8,4,2,1,0,\ldots)"
        ),
        check="lineament.claims.gissin.figure_6:check",
        words=(
            r"Classifiers $\langle\sigma, x\rangle$ with $\sigma = w_+^N - w_-^N$ (depth $N$) learn from $n$ examples "
            r"$x_j$ whose labels $y_j = \pm1$ come from a vector $\sigma^*$ with four non-zero weights, by gradient "
            r"descent on the exponential loss $\ell$. The correlation is the cosine of $\sigma$ with $\sigma^*$. "
            "Depth 1 reaches a correlation similar to that of the max-margin separator; deeper models are highly "
            r"correlated with the sparse truth, the more so the smaller the start $\sigma_0$."
        ),
        meaning=(
            "With more parameters than examples need, a deep diagonal classifier still picks the few features that "
            "matter; a shallow one spreads its weights like a support vector machine."
        ),
        paper_setting={
            "data": "200 Gaussian examples, d = 100",
            "target": "4 non-zero weights (∝ 8, 4, 2, 1 in the authors' script)",
            "network": "diagonal, σ = w₊^N − w₋^N, depths 1, 2, 3, 4, 5",
            "start": "equal weights, several scales, not stated",
            "loss": "exponential",
            "optimiser": (
                "gradient descent (step 0.01, until the loss is below 0.01, at most 100000 steps, in the authors' "
                "script)"
            ),
            "repeats": "100",
            "baseline": "max-margin SVM (scikit-learn's LinearSVC with its defaults in the authors' script)",
            "measure": "cosine with the truth; mean and standard deviation over repeats",
        },
        kind="experiment",
        quick="6 s",
        full="6 min",
    ),
    Claim(
        "gissin-lemma",
        place="Appendix G, Lemma",
        title="A circular convolutional network is a diagonal network in the frequency domain",
        statement=r"\hat\sigma=\mathrm{diag}(\hat w_1)\cdots\mathrm{diag}(\hat w_{N-1})\,\hat w_N",
        check="lineament.claims.gissin.appendix_g_lemma:check",
        words=(
            "A linear network of $N-1$ circular convolutions over the whole length and a dense last layer, with "
            r"weight vectors $w_1, \dots, w_N$, computes $\langle\sigma, x\rangle$. Then the discrete Fourier "
            r"transform of $\sigma$ (a hat marks the transform) is the product, entry by entry, of the transforms of "
            "all weight vectors."
        ),
        meaning=(
            "In the frequency domain a convolutional linear network is a diagonal one: what holds for sparse weights "
            "there holds for few frequencies here."
        ),
        paper_setting={
            "network": "circular convolutions of full length and a dense layer, any depth and length",
            "weights": "any",
            "transform": "Fourier coefficients, normalisation not stated",
        },
        quick="2 s",
        full="30 s",
    ),
    Claim(
        "gissin-f7",
        place="Figure 7",
        title="Deep convolutional classifiers find the few frequencies of the truth",
        statement=(
            r"\hat\sigma=\hat w_1\circ\cdots\circ\hat w_N,\quad "
            r"\ell=\frac1n\sum_je^{-y_j\langle\sigma,x_j\rangle},\quad|\hat\sigma^*|\propto(3,4,6,12,0,\ldots)"
        ),
        check="lineament.claims.gissin.figure_7:check",
        words=(
            r"Circular convolutional classifiers of depth $N$ learn from $n$ examples $x_j$ with labels $y_j = \pm1$ "
            r"given by a vector $\sigma^*$ with four non-zero frequencies, from random Gaussian weights $w_1, \dots, "
            r"w_N$, by gradient descent on the exponential loss $\ell$; a hat marks the Fourier transform and $\circ$ "
            "the product entry by entry. Depth 1 reaches a correlation with the truth similar to that of the "
            "max-margin separator; deeper models are highly correlated with the sparse truth, and learn its "
            "frequencies one by one."
        ),
        meaning=(
            "A deep convolutional classifier prefers few frequencies, even from random weights far from the toy model."
        ),
        paper_setting={
            "data": "200 Gaussian examples, d = 100",
            "target": "4 non-zero frequencies (amplitudes ∝ 3, 4, 6, 12 in the authors' script)",
            "network": "circular convolutions of full length and a dense layer, depths 1, 2, 3",
            "start": "Gaussian weights, several scales, not stated",
            "loss": "exponential",
            "optimiser": (
                "gradient descent (step 0.001, until the loss is below 0.01, at most 500000 steps, in the authors' "
                "script)"
            ),
            "repeats": "9",
            "baseline": "max-margin SVM (scikit-learn's LinearSVC with its defaults in the authors' script)",
            "measure": "cosine with the truth; mean and standard deviation over repeats",
        },
        kind="experiment",
        quick="6 s",
        full="12 min",
    ),
)
