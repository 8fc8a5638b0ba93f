"""Hacohen & Weinshall (2022): the principal-components bias of over-parameterised linear networks, and beyond them."""

from ..claim import Claim

CLAIMS = (
    Claim(
        "hacohen-t1",
        place="Theorem 1, eq. 6",
        title="One step of descent moves the map by the scaled error, up to the square of the step",
        statement=(
            r"W^{s+1}=W^s-\mu\sum_{l=1}^L A_l\,\mathrm{Er}\,B_l+O(\mu^2),\quad \mathrm{Er}=W\Sigma_{XX}-\Sigma_{YX}"
        ),
        check="lineament.claims.hacohen.one_step:one_step",
        quick="2 s",
        full="3 s",
    ),
    Claim(
        "hacohen-t3",
        place="Theorem 3, Corollary 3.1",
        title="At a random start the gradient scale matrices are multiples of the identity in the mean",
        statement=(
            r"\mathbb{E}\,B_l=\beta_l I,\ \beta_l=\prod_{n<l}m_n\sigma_n^2;\quad "
            r"\mathbb{E}\,A_l=\alpha_l I,\ \alpha_l=\prod_{n>l}m_{n-1}\sigma_n^2"
        ),
        check="lineament.claims.hacohen.scales:means",
        quick="1 s",
        full="50 s on one core",
    ),
    Claim(
        "hacohen-t4",
        place="Theorem 4",
        title="Under Definition 3 the spread of the gradient scale matrices falls as one over the width",
        statement=r"\mathrm{var}(B_l)=O\left(\frac1m\right),\quad\mathrm{var}(A_l)=O\left(\frac1m\right)",
        check="lineament.claims.hacohen.scales:spreads",
        quick="5 s",
        full="3 min on one core",
    ),
    Claim(
        "hacohen-t2",
        place="Theorem 2, Corollary 2.1",
        title="In wide networks the gradient scale matrices stay at the identity",
        statement=r"\forall s,l:\quad A_l^s\to I,\ B_l^s\to I\quad (m\to\infty)",
        check="lineament.claims.hacohen.over_time:stay_at_identity",
        quick="5 s",
        full="70 s on one core",
    ),
    Claim(
        "hacohen-eq10",
        place="Equations 4 and 10",
        title="Each principal component converges on its own, at a rate of depth times its eigenvalue",
        statement=r"w_j^{s+1}=\lambda_j^s w_j^0+(1-\lambda_j^s)\frac{m_j}{d_j},\quad\lambda_j=1-\mu Ld_j",
        check="lineament.claims.hacohen.evolution:evolution",
        quick="6 s",
        full="70 s on one core",
    ),
    Claim(
        "hacohen-b2",
        place="§2.5 and Appendix B.2",
        title="The first update of a paired ReLU network on symmetric data is that of a linear one",
        statement=r"W^{s+1}-W^s\approx-\frac{\mu}{2}\left[aa^\top W^s\Sigma_{XX}-\tilde M^s\right]",
        check="lineament.claims.hacohen.relu:first_update",
        quick="2 s",
        full="80 s on one core",
    ),
    Claim(
        "hacohen-f1",
        place="Figure 1, §1.1",
        title=(
            "Images projected on their largest 20 principal components look as if they had passed a low-pass filter"
        ),
        statement=r"\bar x+\sum_{j\le20}u_ju_j^\top(x-\bar x)\ \approx\ x\ast h_{\mathrm{low}}",
        check="lineament.claims.hacohen.figure_1:check",
        kind="experiment",
        quick="1 s",
        full="5 s",
    ),
    Claim(
        "hacohen-f2",
        place="Figure 2",
        title="Networks come to agree on large principal components first",
        statement=r"\mathrm{std}(w_j^s)=\lambda_j^s\,\mathrm{std}(w_j^0),\quad\lambda_j=1-\mu d_j",
        check="lineament.claims.hacohen.figure_2:check",
        kind="experiment",
        quick="6 s",
        full="30 s on an H200, shared",
    ),
    Claim(
        "hacohen-f3",
        place="Figure 3",
        title="The scale matrices of five-layer networks keep to their first means until the network has converged",
        statement=r"A_l^s\approx\alpha_l I,\quad B_l^s\approx\beta_l I\quad\mathrm{until\ convergence}",
        check="lineament.claims.hacohen.figure_3:check",
        kind="experiment",
        quick="6 s",
        full="40 s on an H200, shared",
    ),
    Claim(
        "hacohen-f4",
        place="Figure 4, §3.2 and §3.3",
        title="Networks converge, and agree with one another, first along the largest principal components",
        statement=(
            r"\frac{|w_j(t)-w_j^{\mathrm{opt}}|}{|w_j(0)-w_j^{\mathrm{opt}}|},\quad "
            r"\frac{\mathrm{std}\,w_j(t)}{\mathrm{std}\,w_j(0)}\quad\mathrm{rise\ with}\ j"
        ),
        check="lineament.claims.hacohen.figure_4:check",
        kind="experiment",
        quick="10 s",
        full="2.5 min on an H200, shared",
    ),
    Claim(
        "hacohen-f5",
        place="Figure 5, §3.3",
        title="Accuracy on data projected to more principal components peaks later",
        statement=(
            r"t^*(P)=\mathrm{argmax}_t\ \mathrm{acc}\left(f_t(\mathrm{proj}_Px)\right),\quad "
            r"P<P'\ \Rightarrow\ t^*(P)\le t^*(P')"
        ),
        check="lineament.claims.hacohen.figure_5:check",
        kind="experiment",
        quick="9 s",
        full="7 min on an H200, shared",
    ),
    Claim(
        "hacohen-f6a",
        place="Figure 6a, §4.1",
        title="Linear and convolutional networks learn the same examples first",
        statement=r"a(x)=\frac1{NE}\sum_{i,e}1[f_i^e(x)=y(x)],\quad r(a_{\mathrm{linear}},\ a_{\mathrm{conv}})=0.85",
        check="lineament.claims.hacohen.figure_6a:check",
        kind="experiment",
        quick="10 s",
        full="5 min on an H200",
    ),
    Claim(
        "hacohen-f6b",
        place="Figure 6b, §4.2",
        title="Examples that need more principal components to be classified linearly are learnt later",
        statement=(
            r"P^*(x)=\min\lbrace P:\ f_{\mathrm{lin}}(\mathrm{proj}_{P'}x)=y(x)\ \forall P'\ge P\rbrace,\quad "
            r"r(a_{\mathrm{conv}},P^*)=-0.93"
        ),
        check="lineament.claims.hacohen.figure_6b:check",
        kind="experiment",
        quick="11 s",
        full="3 min on an H200, shared",
    ),
    Claim(
        "hacohen-f7",
        place="Figure 7, §4.3",
        title="Whitening lowers the consistency of the learning order, most for the examples that are learnt first",
        statement=(
            r"c=r(a_1,a_2):\quad c_{\mathrm{white}}<c,\qquad "
            r"(c-c_{\mathrm{white}})_{\mathrm{fastest}\ 20\%}>(c-c_{\mathrm{white}})_{\mathrm{all}}"
        ),
        check="lineament.claims.hacohen.figure_7:check",
        kind="experiment",
        quick="13 s",
        full="4 min on an H200",
    ),
    Claim(
        "hacohen-f8",
        place="Figure 8, §5.2 and §5.3",
        title="Points of high critical frequency are learnt last, and have neighbours of the other class",
        statement=(
            r"\lambda_j(z)=\sum_{i\le j}\sin(2\pi\kappa_iz+\varphi_i),\quad "
            r"r(\mathrm{accessibility},\ j^*)=-0.93,\quad r(\mathrm{discriminability},\ j^*)=-0.8"
        ),
        check="lineament.claims.hacohen.figure_8:check",
        kind="experiment",
        quick="9 s",
        full="70 s on an H200, shared",
    ),
    Claim(
        "hacohen-tab1",
        place="Table 1, §5.3",
        title=(
            "Accessibility goes with neighbours of one's class in a network's last layer far more than among pixels"
        ),
        statement=(
            r"r(a,\mathrm{disc}_{\mathrm{penultimate}})\gg r(a,\mathrm{disc}_{\mathrm{raw}}):\quad "
            r"0.85,\ 0.46\ (\mathrm{small\ mammals})"
        ),
        check="lineament.claims.hacohen.table_1:check",
        kind="experiment",
        quick="9 s",
        full="7 min on an H200, shared",
    ),
    Claim(
        "hacohen-s54",
        place="§5.4",
        title="In a two-layer ReLU network the learning order is most consistent where overfitting begins",
        statement=(
            r"\mathrm{argmax}_t\ r\left(c_1^t,c_2^t\right)\approx\mathrm{argmax}_t\ \mathrm{acc}_{\mathrm{test}}(t)"
        ),
        check="lineament.claims.hacohen.section_5_4:check",
        kind="experiment",
        quick="6 s",
        full="3 min on an H200, shared",
    ),
    Claim(
        "hacohen-f9",
        place="Figure 9, §6.1",
        title="Early stopping helps more when the lowest components are amplified, and less when the highest are",
        statement=(
            r"g=\max_{t\le T}\mathrm{acc}(t)-\mathrm{acc}(T):\quad "
            r"g_{\mathrm{lowest}\times10}>g>g_{\mathrm{highest}\times10}"
        ),
        check="lineament.claims.hacohen.figure_9:check",
        kind="experiment",
        quick="9 s",
        full="6 min on an H200, shared",
    ),
    Claim(
        "hacohen-f10",
        place="Figure 10, §6.2",
        title="Linear networks learn random labels more slowly, and whitening takes the difference away",
        statement=(
            r"\frac{t_{\mathrm{shuffled}}}{t_{\mathrm{real}}}>1,\qquad\Sigma_{xx}=I\ \Rightarrow\ "
            r"\frac{t_{\mathrm{shuffled}}}{t_{\mathrm{real}}}=1"
        ),
        check="lineament.claims.hacohen.figure_10:check",
        kind="experiment",
        quick="9 s",
        full="75 s on an H200, shared",
    ),
    Claim(
        "hacohen-f11",
        place="Figure 11, §6.2",
        title="The fewer principal components decide the labels, the faster they are learnt, real or shuffled alike",
        statement=(
            r"y=\mathrm{argmax}\ W_P\,\mathrm{proj}_P\,x,\quad P<P'\ \Rightarrow\ "
            r"\mathrm{acc}_P(t)>\mathrm{acc}_{P'}(t)"
        ),
        check="lineament.claims.hacohen.figure_11:check",
        kind="experiment",
        quick="8 s",
        full="3 min on an H200, shared",
    ),
    Claim(
        "hacohen-f12",
        place="Figure 12, Appendix C.1",
        title="A wide linear network converges faster from Definition 3 than from Glorot's start",
        statement=(
            r"\sigma_1^2=\frac1{m_1},\ \sigma_2^2=\frac1{m_1}\quad\mathrm{or}\quad\sigma_l^2=\frac{2}{m_{l-1}+m_l}"
        ),
        check="lineament.claims.hacohen.figure_12:check",
        kind="experiment",
        quick="5 s",
        full="90 s on an H200, shared",
    ),
    Claim(
        "hacohen-f13",
        place="Figures 13, 15 and 16, Appendix C.2",
        title="The boundary between two classes takes up low frequencies first and adds higher ones later",
        statement=(
            r"j(t)=\mathrm{argmax}_j\ P\left[f_t(x)=1[\lambda_j(x_1)>x_2]\right],\quad t<t'\ \Rightarrow\ "
            r"j(t)\le j(t')"
        ),
        check="lineament.claims.hacohen.figure_13:check",
        kind="experiment",
        quick="6 s",
        full="90 s on an H200, shared",
    ),
    Claim(
        "hacohen-f14",
        place="Figure 14, Appendix D.1",
        title="Amplified tenfold, the first components drown an image and the last do not",
        statement=r"x\mapsto x+9\sum_{j\in J}u_ju_j^\top(x-\bar x),\quad|J|=0.015\,q,\quad10\ll\frac{d_1}{d_q}",
        check="lineament.claims.hacohen.figure_14:check",
        kind="experiment",
        quick="1 s",
        full="5 s",
    ),
)
