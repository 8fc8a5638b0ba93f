"""Gissin, Shalev-Shwartz & Daniely (2020): the implicit bias of depth, or how learning becomes incremental."""

from ..claim import Claim

CLAIMS = (
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
        check="lineament.claims.gissin.toy:closed_solution",
        quick="3 s",
        full="40 s",
    ),
    Claim(
        "gissin-f2",
        place="Figure 2",
        title="Depth and a small start separate the learning of large and small values",
        statement=r"\sigma_i^*\in\{12,6,4,3\},\quad N\in\{1,2,3,4\},\quad\sigma_0\in\{0.1,\,0.001\}",
        check="lineament.claims.gissin.toy:toy_curves",
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
        check="lineament.claims.gissin.phases:incremental_learning",
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
        check="lineament.claims.gissin.threshold_flow:largest_start",
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
        check="lineament.claims.gissin.threshold_descent:largest_start_by_descent",
        quick="6 s",
        full="40 s",
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
        check="lineament.claims.gissin.steps:single_steps",
        quick="2 s",
        full="20 s",
    ),
    Claim(
        "gissin-t4",
        place="Theorem 4",
        title="Deep matrix sensing moves each singular value as one scalar mode",
        statement=(
            r"W_i(0)=\sqrt[N]{\sigma_0}\,I,\ W^*\succeq0,\ \ell=\tfrac1{2N}\|W_N\cdots W_1-W^*\|_F^2"
            r"\ \Rightarrow\ \dot\sigma_i=\sigma_i^{2-2/N}(\sigma_i^*-\sigma_i)"
        ),
        check="lineament.claims.gissin.toy:sensing_follows_the_modes",
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
        check="lineament.claims.gissin.quadratic:population_flow",
        quick="9 s",
        full="60 s",
    ),
    Claim(
        "gissin-lemma",
        place="Appendix G, Lemma",
        title="A circular convolutional network is a diagonal network in the frequency domain",
        statement=r"\hat\sigma=\mathrm{diag}(\hat w_1)\cdots\mathrm{diag}(\hat w_{N-1})\,\hat w_N",
        check="lineament.claims.gissin.convolution:fourier_identity",
        quick="2 s",
        full="30 s",
    ),
    Claim(
        "gissin-f1",
        place="Figure 1",
        title="Four deep models learn their values one after the other",
        statement=(
            r"\mathrm{sensing,\ quadratic,\ diagonal,\ convolutional\ networks}:\quad "
            r"\sigma_{i+1}\ll\sigma_{i+1}^*\ \mathrm{when}\ \sigma_i\ \mathrm{is\ learnt}"
        ),
        check="lineament.claims.gissin.incremental:incremental_curves",
        kind="experiment",
        quick="9 s",
        full="6 min",
    ),
    Claim(
        "gissin-f3",
        place="Appendix D, Figure 3",
        title="The deep toy model first chooses the features that orthogonal matching pursuit chooses",
        statement=(
            r"\sigma=w_+^5-w_-^5:\quad\frac{|\{\mathrm{first}\ s\ \mathrm{of\ the\ toy\ model}\}\cap "
            r"\{\mathrm{first}\ s\ \mathrm{of\ OMP}\}|}{s}\approx1\ \mathrm{for\ small}\ s"
        ),
        check="lineament.claims.gissin.sparse:like_matching_pursuit",
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
        check="lineament.claims.gissin.sensing:deep_sensing",
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
        check="lineament.claims.gissin.quadratic_bias:with_and_without_bias",
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
        check="lineament.claims.gissin.classification:diagonal_classifiers",
        kind="experiment",
        quick="6 s",
        full="6 min",
    ),
    Claim(
        "gissin-f7",
        place="Figure 7",
        title="Deep convolutional classifiers find the few frequencies of the truth",
        statement=(
            r"\hat\sigma=\hat w_1\circ\cdots\circ\hat w_N,\quad "
            r"\ell=\frac1n\sum_je^{-y_j\langle\sigma,x_j\rangle},\quad|\hat\sigma^*|\propto(3,4,6,12,0,\ldots)"
        ),
        check="lineament.claims.gissin.classification:convolutional_classifiers",
        kind="experiment",
        quick="6 s",
        full="12 min",
    ),
)
