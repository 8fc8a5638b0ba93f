"""Hu, Xiao, Adlam & Pennington (2020): the surprising simplicity of the early-time learning of neural networks."""

from ..claim import Claim

CLAIMS = (
    Claim(
        "hu-k",
        place="Equations 5 and 9",
        title="Four Gaussian constants of the activation fix the linear twin",
        statement=(
            r"\zeta=E\,\phi'(g),\quad\vartheta_0=E\,\phi(g),\quad\vartheta_1=E\,g\phi'(g),"
            r"\quad\vartheta_2=E\left(\frac{1}{2}g^3-g\right)\phi'(g)"
        ),
        check="lineament.claims.hu.constants:gaussian_constants",
        quick="3 s",
        full="30 s",
    ),
    Claim(
        "hu-i",
        place="Equation 3",
        title="The mirrored start is the zero function with the tangent kernel of half the width",
        statement=(
            r"w_{r+m/2}=w_r,\ v_{r+m/2}=-v_r\ \Longrightarrow\ f(x;W,v)=0,\quad "
            r"\Theta_m(W,v)=\Theta_{m/2}\left(W_{1:m/2},v_{1:m/2}\right)"
        ),
        check="lineament.claims.hu.constants:mirrored_start",
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
        check="lineament.claims.hu.concentration:concentration",
        quick="5 s",
        full="4 min on one core",
    ),
    Claim(
        "hu-p34",
        place="Proposition 3.4, Figure 5",
        title="The first layer's kernel is near its twin's in spectral norm, not in Frobenius norm",
        statement=(
            r"\left\|\Theta_1(W(0))-\Theta^{lin1}\right\|\lesssim\frac{n}{d^{1+\alpha}},\qquad "
            r"\left\|\Theta_1(W(0))-\Theta^{lin1}\right\|_F\gtrsim\frac{n}{d}"
        ),
        check="lineament.claims.hu.kernels:first_layer_kernel",
        quick="6 s",
        full="5 min on one core",
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
        check="lineament.claims.hu.theorems:first_layer",
        quick="6 s",
        full="3 min",
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
        check="lineament.claims.hu.theorems:second_layer",
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
        check="lineament.claims.hu.theorems:both_layers",
        quick="8 s",
        full="6 min",
    ),
    Claim(
        "hu-c33",
        place="Corollary 3.3",
        title="On well-conditioned data the network at T is close to the optimal linear model",
        statement=(
            r"\lambda_{\min}(\Sigma)=\Omega(1)\;\Rightarrow\;\frac1n\sum_i(f^1_T(x_i)-f^{lin1}_*(x_i))^2"
            r"\lesssim d^{-\Omega(\alpha)},\quad T=c\,\frac{d\log d}{\eta_1}"
        ),
        check="lineament.claims.hu.optimum:reaches_the_optimum",
        quick="6 s",
        full="4 min",
    ),
    Claim(
        "hu-f1",
        place="Figure 1",
        title="Until linear learning is over, network and twin are indistinguishable",
        statement=(
            r"y=\mathrm{sign}(f^*(x)),\quad x\sim\mathcal{N}(0,I_{50}),\quad f_t(x)\approx f^{lin}_t(x)\ (t\le T),"
            r"\quad\phi=\mathrm{erf},\ m=256"
        ),
        check="lineament.claims.hu.figures:indistinguishable",
        kind="experiment",
        quick="8 s",
        full="4 min on an H200",
    ),
    Claim(
        "hu-f2",
        place="Figure 2",
        title="The feature that depends on the norm is necessary",
        statement=(
            r"y=\frac{\|x\|}{\sqrt d}+\mathrm{ReLU}(a^\top x),\quad x\sim\mathcal{N}(0,I):\quad "
            r"\|f_t-f^{lin}_t\|\ll\|f_t-f^{naive}_t\|,\quad f^{naive}:\ \vartheta_1=\vartheta_2=0"
        ),
        check="lineament.claims.hu.figures:norm_feature",
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
        check="lineament.claims.hu.kernels_circular:circular_kernel",
        quick="6 s",
        full="7 min",
    ),
    Claim(
        "hu-f3",
        place="Section 4.2, Figure 3",
        title="Deep networks on real images begin as a linear model, and leave it later",
        statement=(
            r"\frac{\mathbb{E}_x|f_t(x)-f_t^{\mathrm{lin}}(x)|^2}{\mathbb{E}_x|f_t^{\mathrm{lin}}(x)|^2}\ "
            r"\mathrm{small\ early,\ growing\ later},\qquad \Theta\approx\kappa\,XX^\top/d"
        ),
        check="lineament.claims.hu.images:images_begin_linear",
        kind="experiment",
        quick="15 s",
        full="4 min on an H200",
    ),
    Claim(
        "hu-more",
        place="Appendix A",
        title="At full size too, images are first learnt as by a linear model",
        statement=(
            r"\frac{\mathbb{E}_x|f_t(x)-f_t^{\mathrm{lin}}(x)|^2}{\mathbb{E}_x|f_t^{\mathrm{lin}}(x)|^2}\ "
            r"\mathrm{small\ early:\ MNIST}\ 28\times28,\ \mathrm{CIFAR\ 10}\ 32\times32\times3"
        ),
        check="lineament.claims.hu.full_size:full_size",
        kind="experiment",
        quick="10 s",
        full="4 min",
    ),
)
