"""Hu, Xiao, Adlam & Pennington (2020): the surprising simplicity of the early-time learning of neural networks."""

from ..claim import Claim

_NETWORK = (
    r"$f(x)=v^\top\phi(Wx/\sqrt d)/\sqrt m$ is a two-layer network of width $m$ with activation $\phi$ and inputs "
    r"$x\in\mathbb{R}^d$, trained by gradient descent on the mean square loss over $n$ examples from the mirrored "
    r"start "
    "(equation 3)"
)
_INPUTS = "independent subgaussian entries times Σ^½, Tr Σ = d, ‖Σ‖ = O(1) (Assumption 3.1)"
_ACTIVATION = "bounded first and second derivative, or piecewise linear (Assumption 3.2)"
_LABELS = "any with |y| ≤ 1"

CLAIMS = (
    Claim(
        "hu-i",
        place="Equation 3",
        title="The mirrored start is the zero function with the tangent kernel of half the width",
        statement=(
            r"w_{r+m/2}=w_r,\ v_{r+m/2}=-v_r\ \Longrightarrow\ f(x;W,v)=0,\quad "
            r"\Theta_m(W,v)=\Theta_{m/2}\left(W_{1:m/2},v_{1:m/2}\right)"
        ),
        check="lineament.claims.hu.equation_3:check",
        words=(
            r"A two-layer network of width $m$ has first-layer weights $w_r$ and second-layer weights $v_r$ of its "
            r"neurons $r=1,\ldots,m$. The first half is drawn at random ($w_r$ normal, $v_r=\pm1$), the second half "
            r"repeats $w_r$ with $-v_r$. Then the output $f(x)$ is 0 for every input $x$, and the tangent kernel "
            r"$\Theta$, the inner "
            "product of the gradients of two outputs, is that of the first half alone."
        ),
        meaning=(
            "Training can begin at the zero function without giving up the random features that a network learns "
            "with; the price is that only half of its neurons are different."
        ),
        paper_setting={
            "network": "two layers of width m; any network as the difference of two copies",
            "start": "w ~ N(0, I), v = ±1; the second half repeats w with −v (equation 3)",
            "second layer": "±1; N(0, 1) is said to do as well",
        },
        quick="5 s",
        full="20 s",
    ),
    Claim(
        "hu-c31",
        place="Claim 3.1",
        title="Norms and inner products of high-dimensional inputs concentrate",
        statement=(
            r"\frac{\|x_i\|^2}{d}=1\pm O\left(\sqrt{\frac{\log n}{d}}\right),\quad"
            r"\frac{|\langle x_i,x_j\rangle|}{d}=O\left(\sqrt{\frac{\log n}{d}}\right)\ (i\ne j),"
            r"\quad\|XX^\top\|=\Theta(n)"
        ),
        check="lineament.claims.hu.claim_3_1:check",
        words=(
            r"$x_1,\ldots,x_n\in\mathbb{R}^d$ are independent inputs $x=\Sigma^{1/2}\bar x$ with independent "
            r"subgaussian entries of $\bar x$, $\mathrm{Tr}\,\Sigma=d$ and $\|\Sigma\|=O(1)$; $X$ has them as rows, "
            r"and $n\gg d$. Then all squared norms over $d$ are near 1, all inner products of different examples over "
            r"$d$ are near 0, both up to a constant times $\sqrt{\log n/d}$, and the largest eigenvalue of $XX^\top$ "
            r"is of the order of $n$."
        ),
        meaning=(
            "In high dimension all inputs look alike in length and are nearly at right angles. That is why a "
            "network's kernel can be replaced by a linear one."
        ),
        paper_setting={
            "inputs": _INPUTS,
            "examples": "n ≫ d, n ≤ d^O(1)",
            "dimension": "d sufficiently large",
        },
        quick="5 s",
        full="4 min on one core",
    ),
    Claim(
        "hu-k",
        place="Equations 5 and 9",
        title="Four Gaussian constants of the activation fix the linear twin",
        statement=(
            r"\zeta=E\,\phi'(g),\quad\vartheta_0=E\,\phi(g),\quad\vartheta_1=E\,g\phi'(g),"
            r"\quad\vartheta_2=E\left(\frac{1}{2}g^3-g\right)\phi'(g)"
        ),
        check="lineament.claims.hu.equations_5_and_9:check",
        words=(
            r"$\phi$ is the activation, $g$ a standard normal number and $E$ its expectation. $\zeta$ weighs the "
            r"inputs among the features of the linear model, $\vartheta_1$ the constant feature, and "
            r"$\vartheta_0+\vartheta_1\rho+\vartheta_2\rho^2$ is the feature of the norm, $\rho=\|x\|/\sqrt d-1$. The "
            r"constants "
            "are checked for nine activations in use and for random functions with kinks."
        ),
        meaning="Four numbers, which take a millisecond to compute, say all that matters of an activation early on.",
        paper_setting={
            "activations": "ReLU, leaky ReLU, erf, tanh, sigmoid, softplus, etc. (Assumption 3.2)",
            "law of g": "standard normal",
        },
        quick="3 s",
        full="30 s",
    ),
    Claim(
        "hu-t32",
        place="Theorem 3.2",
        title="Training the first layer, network and twin agree up to T, and better as d grows",
        statement=(
            r"\psi_1(x)=\frac{1}{\sqrt d}(\zeta x,\nu),\quad \max_{t\le T}\frac1n\sum_i"
            r"(f^1_t(x_i)-f^{lin1}_t(x_i))^2\lesssim d^{-\Omega(\alpha)},\quad T=c\,\frac{d\log d}{\eta_1},\quad "
            r"m,n\gtrsim d^{1+\alpha},\ \eta_1\ll d"
        ),
        check="lineament.claims.hu.theorem_3_2:check",
        words=(
            _NETWORK + r"; only $W$ is trained, with step size $\eta_1$. $f^1_t$ is the network after $t$ steps, "
            r"$f^{lin1}_t$ the linear model on the features $\psi_1$ trained by the same descent from zero, with "
            r"$\zeta=E\phi'(g)$ and $\nu=E[g\phi'(g)]\sqrt{\mathrm{Tr}\Sigma^2/d}$ for inputs of covariance $\Sigma$. "
            r"For a fixed $\alpha\in(0,1/4)$ the mean square of their difference up to time $T$ is at most of the "
            r"order of $d^{-\Omega(\alpha)}$ on the training examples, and on fresh ones too, there truncated at 1."
        ),
        meaning=(
            "Early on, a network whose first layer trains does what linear regression on its inputs does, and the "
            "better the more inputs there are; a width somewhat above the number of inputs is enough."
        ),
        paper_setting={
            "inputs": _INPUTS,
            "labels": _LABELS,
            "activation": _ACTIVATION,
            "width": "m ≳ d^(1 + α), α in (0, 1/4)",
            "examples": "n ≳ d^(1 + α)",
            "step size": "η1 ≪ d, η2 = 0",
            "time": "t ≤ T = c d log d/η1, c some constant",
        },
        quick="6 s",
        full="3 min",
    ),
    Claim(
        "hu-c33",
        place="Corollary 3.3",
        title="On well-conditioned data the network at T is close to the optimal linear model",
        statement=(
            r"\lambda_{\min}(\Sigma)=\Omega(1)\;\Rightarrow\;\frac1n\sum_i(f^1_T(x_i)-f^{lin1}_*(x_i))^2"
            r"\lesssim d^{-\Omega(\alpha)},\quad T=c\,\frac{d\log d}{\eta_1}"
        ),
        check="lineament.claims.hu.corollary_3_3:check",
        words=(
            r"The setting is that of Theorem 3.2, and the least eigenvalue of the covariance $\Sigma$ of the inputs "
            r"is bounded from below. $f^{lin1}_*$ is the linear model to which descent on the features $\psi_1$ "
            r"converges. After $T=c\,d\log d/\eta_1$ steps with some constant $c$ the network $f^1_T$ is within "
            r"$d^{-\Omega(\alpha)}$ of it "
            "in mean square, on training and (truncated) fresh examples."
        ),
        meaning=(
            "On data without weak directions a network passes through the best linear model before it learns anything "
            "else."
        ),
        paper_setting={
            "inputs": f"{_INPUTS}, λ_min(Σ) = Ω(1)",
            "labels": _LABELS,
            "activation": _ACTIVATION,
            "width": "m ≳ d^(1 + α), α in (0, 1/4)",
            "examples": "n ≳ d^(1 + α)",
            "step size": "η1 ≪ d, η2 = 0",
            "time": "T = c d log d/η1, c some constant",
        },
        quick="6 s",
        full="4 min",
    ),
    Claim(
        "hu-p34",
        place="Proposition 3.4, Figure 5",
        title="The first layer's kernel is near its twin's in spectral norm, not in Frobenius norm",
        statement=(
            r"\left\|\Theta_1(W(0))-\Theta^{lin1}\right\|\lesssim\frac{n}{d^{1+\alpha}},\qquad "
            r"\left\|\Theta_1(W(0))-\Theta^{lin1}\right\|_F\gtrsim\frac{n}{d}"
        ),
        check="lineament.claims.hu.proposition_3_4:check",
        words=(
            r"$\Theta_1(W(0))$ is the tangent kernel of the first layer at the mirrored start on $n$ examples, and "
            r"$\Theta^{lin1}=(\zeta^2XX^\top+\nu^2\mathbf{1}\mathbf{1}^\top)/d$ that of the linear model, with "
            r"$\zeta$ and $\nu$ as in Theorem 3.2. Their difference is smaller than $n/d$ by $d^{-\alpha}$ in "
            r"spectral norm; in Frobenius norm it is said to be at least of the order of $n/d$."
        ),
        meaning=(
            "Kernels that differ in almost every entry can still drive learning alike: what counts is the largest "
            "eigenvalue of the difference."
        ),
        paper_setting={
            "inputs": _INPUTS,
            "activation": _ACTIVATION,
            "examples": "n ≳ d^(1 + α)",
            "width": "m ≳ d^(1 + α)",
            "α": "in (0, 1/4)",
        },
        quick="6 s",
        full="5 min on one core",
    ),
    Claim(
        "hu-t35",
        place="Theorem 3.5",
        title="Training the second layer, network and twin agree up to T if the width is as asked",
        statement=(
            r"\psi_2(x)=\left(\frac{\zeta x}{\sqrt d},\frac{\nu}{\sqrt{2d}},\vartheta_0+\vartheta_1\rho+"
            r"\vartheta_2\rho^2\right),\quad m\gtrsim d^{1+\alpha},\ \eta_2\ll d/\log n\ (\vartheta_0=0);\quad "
            r"m\gtrsim d^{2+\alpha},\ \eta_2\ll 1\ (\vartheta_0\neq 0)"
        ),
        check="lineament.claims.hu.theorem_3_5:check",
        words=(
            _NETWORK
            + r"; only $v$ is trained, with step size $\eta_2$. The linear model has the features $\psi_2$, where "
            r"$\rho=\|x\|/\sqrt d-1$, and $\zeta,\nu,\vartheta_0,\vartheta_1,\vartheta_2$ are the constants of "
            r"equations 5 and 9. Up to $T=c\,d\log d/\eta_2$ the mean square of network $-$ model is at most of the "
            r"order of $d^{-\Omega(\alpha)}$ on training and fresh examples. If $\vartheta_0=E\phi(g)\ne0$ this asks "
            r"for a width of $d^{2+\alpha}$ and small steps."
        ),
        meaning=(
            "Training only the last layer is linear regression on the inputs and their norm. Activations with a mean, "
            "such as ReLU, need much wider networks for that."
        ),
        paper_setting={
            "inputs": _INPUTS,
            "labels": _LABELS,
            "activation": _ACTIVATION,
            "width": "m ≳ d^(1 + α) if ϑ0 = 0, else d^(2 + α); α in (0, 1/4)",
            "examples": "n ≳ d^(1 + α)",
            "step size": "η1 = 0, η2 ≪ d/log n if ϑ0 = 0, else η2 ≪ 1",
            "time": "t ≤ T = c d log d/η2, c some constant",
        },
        quick="8 s",
        full="70 s",
    ),
    Claim(
        "hu-td1",
        place="Section 3.3, Theorem D.1",
        title="Training both layers, network and twin agree up to T, and better as d grows",
        statement=(
            r"\psi(x)=\left(\sqrt{\frac2d}\,\zeta x,\sqrt{\frac{3}{2d}}\,\nu,\vartheta_0+\vartheta_1\rho+"
            r"\vartheta_2\rho^2\right),\quad "
            r"\max_{t\le T}\frac1n\sum_i(f_t(x_i)-f^{lin}_t(x_i))^2\lesssim d^{-\Omega(\alpha)}"
        ),
        check="lineament.claims.hu.theorem_d_1:check",
        words=(
            _NETWORK
            + r"; both layers are trained with one step size $\eta$. The linear model has the features $\psi$, "
            r"whose kernel is the sum of those of $\psi_1$ and $\psi_2$ (equations 5 and 9). Up to $T=c\,d\log "
            r"d/\eta$ the mean square of network $-$ model is at most of the order of $d^{-\Omega(\alpha)}$. With "
            r"different steps $\eta_1\ne\eta_2$ the two kernels are weighed accordingly."
        ),
        meaning=(
            "A two-layer network trained as usual begins as a linear model of its inputs and their norm, which can be "
            "solved without training anything."
        ),
        paper_setting={
            "inputs": _INPUTS,
            "labels": _LABELS,
            "activation": _ACTIVATION,
            "width": "as in Theorem 3.5; the formal statement is in Appendix D",
            "examples": "n ≳ d^(1 + α)",
            "step size": "η1 = η2 = η; different ones are allowed",
            "time": "t ≤ T = c d log d/η, c some constant",
        },
        quick="8 s",
        full="6 min",
    ),
    Claim(
        "hu-f1",
        place="Figure 1",
        title="Until linear learning is over, network and twin are indistinguishable",
        statement=(
            r"y=\mathrm{sign}(f^*(x)),\quad x\sim\mathcal{N}(0,I_{d}):\quad f_t(x)\approx f^{lin}_t(x)\ (t\le T),\ \ "
            r"\mathbb{E}(f_t-f^{lin}_t)^2\ \mathrm{smaller\ as}\ d\ \mathrm{increases},\quad\phi=\mathrm{erf},\ m=256"
        ),
        check="lineament.claims.hu.figure_1:check",
        words=(
            r"A two-layer network $f_t$ with erf activation and width $m=256$ learns the sign of a random network "
            r"$f^*$ of width 5 on normal inputs of dimension $d=50$; $f^{lin}_t$ is its linear model (equation 11). "
            r"(a) Training and "
            "test losses and (b) five single outputs are indistinguishable in the first 1000 steps, when linear "
            "learning "
            r"ends. (c) The mean square of $f_t-f^{lin}_t$ becomes smaller as $d$ increases."
        ),
        meaning=(
            "The first thousand steps of this network could be computed without training it. That the match improves "
            "with the dimension needs a width that grows as well."
        ),
        paper_setting={
            "data": "x ~ N(0, I), d = 50, y = sign of a two-layer erf network of width 5",
            "examples": "20,000 to train, 2,000 to test",
            "network": "two layers, erf, width 256, mirrored start, both layers train",
            "loss": "square loss",
            "optimiser": "full-batch gradient descent",
            "step size": "not stated; the linear phase ends at about 1000 steps",
            "d in 1c": "not stated",
            "width in 1c": "256: no other is mentioned",
            "repeats": "not stated",
        },
        kind="experiment",
        quick="8 s",
        full="5 min on an H200",
    ),
    Claim(
        "hu-f2",
        place="Figure 2",
        title="The feature that depends on the norm is necessary",
        statement=(
            r"y=\frac{\|x\|}{\sqrt d}+\mathrm{ReLU}(a^\top x),\quad x\sim\mathcal{N}(0,I):\quad "
            r"\|f_t-f^{lin}_t\|\ll\|f_t-f^{naive}_t\|,\quad f^{naive}:\ \vartheta_1=\vartheta_2=0"
        ),
        check="lineament.claims.hu.figure_2:check",
        words=(
            r"A two-layer ReLU network $f_t$ learns labels $y$ that depend on the norm of the input $x$, with a fixed "
            r"vector $a$. $f^{lin}_t$ is its linear model with the feature "
            r"$\vartheta_0+\vartheta_1\rho+\vartheta_2\rho^2$ of the norm, $\rho=\|x\|/\sqrt d-1$; $f^{naive}_t$ is "
            r"the same with $\vartheta_1=\vartheta_2=0$. The first is a much better approximation to the network than "
            r"the second."
        ),
        meaning=(
            "With ReLU the early function is linear in the inputs and their length. Leave the length out and part of "
            "what the network learns is missed."
        ),
        paper_setting={
            "data": "x ~ N(0, I), y = ‖x‖/√d + ReLU(aᵀx), ‖a‖ = O(1); d is not stated",
            "network": "two layers, ReLU, mirrored start, both layers train",
            "width": "not stated",
            "loss": "square loss",
            "optimiser": "full-batch gradient descent",
            "step size": "not stated",
            "examples": "not stated",
            "measure": "test losses over time",
            "repeats": "not stated",
        },
        kind="experiment",
        quick="7 s",
        full="3 min",
    ),
    Claim(
        "hu-p41",
        place="Proposition 4.1",
        title="A convolutional network's kernel is near the data kernel if its filter grows",
        statement=(
            r"\left\|\Theta_{CNN}-2\zeta^2XX^\top/d\right\|\lesssim\frac{n}{d^{1+\alpha}},\qquad "
            r"n\gtrsim d^{1+\alpha},\ q\gtrsim d^{1/2+2\alpha}"
        ),
        check="lineament.claims.hu.proposition_4_1:check",
        words=(
            r"$\Theta_{CNN}$ is the tangent kernel on $n$ examples of a network with one circular convolution of "
            r"filter size $q$, erf activation and infinitely many channels (equation 12). The inputs, rows of $X$, "
            r"are uniform on $\{\pm1\}^d$, and $\zeta=E\phi'(g)$. For $\alpha\in(0,1/4)$, $n\gtrsim d^{1+\alpha}$ and "
            r"$q\gtrsim d^{1/2+2\alpha}$ the kernel is within $n/d^{1+\alpha}$ of $2\zeta^2XX^\top/d$ in spectral "
            r"norm."
        ),
        meaning=(
            "Convolutional networks with large enough filters begin as linear models too; with a small fixed filter "
            "they need not."
        ),
        paper_setting={
            "inputs": "random corners of the cube {±1}^d",
            "activation": "erf",
            "width": "infinite",
            "examples": "n ≳ d^(1 + α)",
            "filter": "q ≳ d^(1/2 + 2α)",
            "α": "in (0, 1/4)",
        },
        quick="6 s",
        full="7 min",
    ),
    Claim(
        "hu-f3",
        place="Section 4.2, Figure 3",
        title="On images of one norm deep networks begin as a linear model, and leave it later",
        statement=(
            r"\frac{\mathbb{E}_x|f_t(x)-f_t^{\mathrm{lin}}(x)|^2}{\mathbb{E}_x|f_t^{\mathrm{lin}}(x)|^2}\ "
            r"\mathrm{small\ early,\ growing\ later},\qquad \Theta\approx\kappa\,XX^\top/d"
        ),
        check="lineament.claims.hu.figure_3:check",
        words=(
            r"Networks $f_t$ of four hidden layers, fully connected and convolutional, with erf learn two classes of "
            r"small colour images. $f_t^{\mathrm{lin}}$ is one linear model for both, with kernel $\kappa XX^\top/d$. "
            r"$V_{lin}$ is the span of the $d$ inputs among vectors of test outputs. (a) In the first 1000 steps the "
            r"test losses of networks and model on $V_{lin}$ are almost identical; after that the networks make "
            r"progress off $V_{lin}$. "
            "(b) Single outputs agree early. (c) The relative mean square above is small at first and grows "
            "afterwards."
        ),
        meaning=(
            "Deep networks on real images, too, begin as a linear model of the pixels, if every image is scaled to one "
            "norm: less closely if images are only centred, and not on raw pixels. What they learn beyond it comes later."
        ),
        paper_setting={
            "data": "cats and horses of CIFAR-10, averaged to 8 × 8 × 3 pixels; preparation not stated",
            "examples": "10,000 to train, 2,000 to test",
            "network": "four hidden layers, erf: fully connected, and convolutional; widths not stated",
            "loss": "square loss",
            "optimiser": "full-batch gradient descent",
            "step size": "not stated; the linear phase ends at about 1000 steps",
            "measure": "test losses on V_lin and off it, three outputs, relative mean square on test images",
            "repeats": "not stated",
        },
        kind="experiment",
        quick="15 s",
        full="13 min on an H200",
    ),
    Claim(
        "hu-more",
        place="Appendix A",
        title="At full size, too, images of one norm are first learnt as by a linear model",
        statement=(
            r"\frac{\mathbb{E}_x|f_t(x)-f_t^{\mathrm{lin}}(x)|^2}{\mathbb{E}_x|f_t^{\mathrm{lin}}(x)|^2}\ "
            r"\mathrm{small\ early,\ growing\ later:\ MNIST}\ 28\times28,\ \mathrm{CIFAR\ 10}\ 32\times32\times3"
        ),
        check="lineament.claims.hu.appendix_a:check",
        words=(
            r"As in Figure 3, on images that are not made smaller: networks $f_t$ of four hidden layers beside the "
            r"linear model $f_t^{\mathrm{lin}}$ with kernel $\kappa XX^\top/d$, on full-size MNIST and CIFAR-10. The "
            r"relative mean "
            "square of their difference on test images is small early in training and grows later."
        ),
        meaning="The linear beginning is no artefact of tiny images. Every image has one norm here, as in Figure 3.",
        paper_setting={
            "data": "full-size CIFAR-10 and MNIST; classes and preparation not stated in the main text",
            "examples": "not stated in the main text; 10,000 and 2,000 in Figure 3",
            "network": "four hidden layers, erf: fully connected, and convolutional; widths not stated",
            "loss": "square loss",
            "optimiser": "full-batch gradient descent",
            "step size": "not stated",
            "measure": "relative mean square on test images",
            "repeats": "not stated",
        },
        kind="experiment",
        quick="10 s",
        full="15 min on an H200 (estimate)",
    ),
)
