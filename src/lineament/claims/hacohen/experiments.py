"""The experiments of Hacohen & Weinshall (2022), in the paper's order."""

from ..claim import Claim

_MAMMALS = "small mammals: 2500 + 500 images of CIFAR-100 in five classes, 32 × 32 × 3"
_PETS = "cats and dogs of CIFAR-10; 20,000 + 2000 images are stated, CIFAR-10 has 10,000 + 2000"
_ACCESSIBILITY = (
    "The accessibility $a(x)$ of an example is the share of right answers about it over the networks of an ensemble and "
    "the epochs of their training: examples learnt early have a high one."
)
_PLAIN = {"momentum and weight decay": "none"}
_TRAINED = {"loss": "cross-entropy", "optimiser": "SGD"} | _PLAIN
_COMPONENTS = (
    "Principal components are the eigenvectors $u_j$ of the data's second moments, by falling eigenvalue $d_j$."
)

EXPERIMENTS = (
    Claim(
        "hacohen-f1",
        place="Figure 1, §1.1",
        title=(
            "Images projected on their largest 20 principal components look as if they had passed a low-pass filter"
        ),
        statement=r"\bar x+\sum_{j\le20}u_ju_j^\top(x-\bar x)\ \approx\ x\ast h_{\mathrm{low}}",
        check="lineament.claims.hacohen.figure_1:check",
        words=(
            f"{_COMPONENTS} An image $x$, taken about the mean image $\\bar x$ and projected on the first twenty "
            f"of them, "
            "looks like the image passed through a low-pass filter $h_{\\mathrm{low}}$, because the statistics "
            "of natural "
            "images hardly change under translation."
        ),
        meaning="The directions that networks learn first are the coarse features of an image.",
        paper_setting={
            "data": "STL-10",
            "components": "20",
            "filter": "not stated",
            "measure": "pictures",
        },
        kind="experiment",
        quick="1 s",
        full="10 s",
    ),
    Claim(
        "hacohen-f2",
        place="Figure 2",
        title="Networks come to agree on large principal components first",
        statement=r"\mathrm{std}(w_j^s)=\lambda_j^s\,\mathrm{std}(w_j^0),\quad\lambda_j=1-\mu d_j",
        check="lineament.claims.hacohen.figure_2:check",
        words=(
            "$w_j^s$ is the column of the network's map that belongs to principal component $j$ after $s$ steps, and its "
            "standard deviation is taken over ten networks that differ in their start. It falls by the factor "
            r"$\lambda_j=1-\mu d_j$ in each step of size $\mu$, where $d_j$ is the eigenvalue of the component: "
            r"first along "
            "the largest components. The same order is seen in two-layer ReLU networks."
        ),
        meaning="Differently started networks agree first about the coarse features of the data.",
        paper_setting={
            "data": "not stated",
            "network": "one-layer linear; two-layer ReLU",
            "loss": "cross-entropy (§3.1); square in the theory",
            "optimiser": "SGD",
            **_PLAIN,
            "step size": "not stated",
            "epochs": "not stated",
            "repeats": "10 networks",
            "measure": "std of w_j over networks, six components",
        },
        kind="experiment",
        quick="6 s",
        full="30 s on an H200 (estimate)",
    ),
    Claim(
        "hacohen-f3",
        place="Figure 3",
        title="At small steps the scale matrices of five-layer networks keep to their first means until convergence",
        statement=r"A_l^s\approx\alpha_l I,\quad B_l^s\approx\beta_l I\quad\mathrm{until\ convergence}",
        check="lineament.claims.hacohen.figure_3:check",
        words=(
            r"$A_l^s=(W_L\cdots W_{l+1})(W_L\cdots W_{l+1})^\top$ and $B_l^s=(W_{l-1}\cdots "
            r"W_1)^\top(W_{l-1}\cdots W_1)$ are "
            "the gradient scale matrices of layer $l$ of a linear network $W_L\\cdots W_1$ at epoch $s$, and "
            r"$\alpha_l$, $\beta_l$ the means of their diagonals at a random start (Theorem 3). Up to the epoch "
            r"of the best "
            "test accuracy, 200, their diagonals stay near these means and their other entries near 0, both with a "
            "very low deviation, and $A$ leaves first."
        ),
        meaning="Until a deep linear network is as good as it gets, it learns almost as a one-layer one, only faster.",
        paper_setting={
            "data": _MAMMALS,
            "network": "fully connected linear, 5 layers of 1024",
            "start": "Glorot (§3.1: uniform)",
            "dropout": "0.5 before the output layer (D.2)",
            "loss": "cross-entropy",
            "optimiser": "SGD",
            **_PLAIN,
            "step size": "coarsely grid-searched; not stated",
            "epochs": "best test accuracy at 200",
            "repeats": "10 networks",
            "measure": "mean and deviation of diagonal and other entries of A and B",
        },
        kind="experiment",
        quick="15 s",
        full="5 min on an H200",
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
        words=(
            "$w_j(t)$ is the column of a network's compact representation, its map with activations left out, "
            "that belongs "
            r"to principal component $j$ after $t$ epochs, and $w_j^{\mathrm{opt}}$ that of the least-squares "
            r"classifier. Its "
            "distance to the optimum, and its standard deviation over networks, over those at the start, fall "
            "first along "
            "the largest components (small $j$): in (a) dense and (b) convolutional linear networks; not (c) on whitened "
            "images; and (d) in non-linear ones, where it is most notable at the beginning."
        ),
        meaning="The bias to large principal components is not special to dense linear networks.",
        paper_setting={
            "data": f"(a) CIFAR-10; (b), (d) {_PETS}; (c) the same, ZCA-whitened",
            "network": "(a), (c) 2-layer linear, 1024 units; (b) linear st-VGG; (d) st-VGG without dropout",
            "loss": "cross-entropy; “all results hold for the L2 loss as well”",
            "optimiser": "SGD, batches of 100 (D.2)",
            **_PLAIN,
            "step size": "coarsely grid-searched; not stated",
            "epochs": "not stated",
            "repeats": "10 networks",
            "measure": "distance to W_opt and std over networks, by component",
        },
        kind="experiment",
        quick="10 s",
        full="12 min on an H200 (estimate)",
    ),
    Claim(
        "hacohen-f5",
        place="Figure 5, §3.3",
        title="Accuracy on data projected to more principal components peaks later",
        statement=(
            r"t^*(P)=\mathrm{argmax}_t\ \mathrm{acc}\left(f_t(\mathrm{proj}_Px)\right):\quad "
            r"t^*(1),\ t^*(10)<t^*(100)<t^*(1000)"
        ),
        check="lineament.claims.hacohen.figure_5:check",
        words=(
            r"A network $f_t$ is trained on whole images for $t$ epochs and asked about images $\mathrm{proj}_Px$ "
            r"that are "
            "projected to their first $P$ principal components. Its accuracy on them peaks at an epoch $t^*(P)$: "
            "after a few epochs, to decline then, with $P = 1$ and 10 components, and later the more there are beyond."
        ),
        meaning="Early in training a network relies on coarse features alone, and turns to finer ones later.",
        paper_setting={
            "data": f"(a) {_MAMMALS}; (b) CIFAR-10",
            "network": "(a) st-VGG; (b) VGG-19",
            "loss": "cross-entropy",
            "optimiser": "SGD, batches of 100",
            "step size": "(a) 0.05; (b) not stated",
            "epochs": "not stated",
            "repeats": "10 networks in the caption, 100 in the text",
            "components P": "1, 10, 100, 1000; more for (b)",
            "measure": "mean accuracy on projected images; whether training or test images is not stated",
        },
        kind="experiment",
        quick="9 s",
        full="4 min on an H200",
    ),
    Claim(
        "hacohen-f6a",
        place="Figure 6a, §4.1",
        title="Linear and convolutional networks learn the same examples first",
        statement=r"a(x)=\frac1{NE}\sum_{i,e}1[f_i^e(x)=y(x)],\quad r(a_{\mathrm{linear}},\ a_{\mathrm{conv}})=0.85",
        check="lineament.claims.hacohen.figure_6a:check",
        words=(
            f"{_ACCESSIBILITY} Here $f_i^e$ is network $i$ of $N$ after epoch $e$ of $E$, and $y(x)$ the class. Over the "
            "training examples, that of deep linear networks and that of convolutional networks trained with a "
            "low learning "
            "rate correlate at $r=0.85$."
        ),
        meaning="Which examples a convolutional network learns first can be told from linear ones.",
        paper_setting={
            "data": _MAMMALS,
            "network": "deep linear, layers of 1024 (how many is not stated); st-VGG",
            "dropout": "0.5 before the output (linear); 0.25 and 0.5 (st-VGG)",
            **_TRAINED,
            "step size": "not stated; “drastically reduced” for st-VGG",
            "epochs": "not stated",
            "repeats": "100 networks of each kind",
            "measure": "correlation of accessibilities over training examples",
        },
        kind="experiment",
        quick="10 s",
        full="9 min on an H200 (estimate)",
    ),
    Claim(
        "hacohen-f6b",
        place="Figure 6b, §4.2",
        title="Over bins, examples that need more principal components to be classified linearly are learnt later",
        statement=(
            r"P^*(x)=\min\lbrace P:\ f_{\mathrm{lin}}(\mathrm{proj}_{P'}x)=y(x)\ \forall P'\ge P\rbrace,\quad "
            r"r(a_{\mathrm{conv}},P^*)=-0.93"
        ),
        check="lineament.claims.hacohen.figure_6b:check",
        words=(
            r"The critical principal component $P^*(x)$ of an example is the first $P$ from which on a linear classifier "
            r"$f_{\mathrm{lin}}$, trained on the original data, is right about the example projected to $P$ components. "
            f"{_ACCESSIBILITY} In convolutional networks the two correlate at $r=-0.93$."
        ),
        meaning="Examples whose class shows in coarse features are learnt first.",
        paper_setting={
            "data": _PETS,
            "network": "st-VGG",
            **_TRAINED,
            "step size": "0.05 (D.2)",
            "epochs": "not stated",
            "repeats": "100 networks",
            "classifier": "a linear classifier trained on the original data",
            "measure": "correlation, smoothed by a moving average of width 10; p < 10⁻⁴",
        },
        kind="experiment",
        quick="11 s",
        full="3 min on an H200 (estimate)",
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
        words=(
            f"{_ACCESSIBILITY} The consistency $c$ of the order of learning is the correlation of the accessibilities "
            r"$a_1$, $a_2$ of two ensembles. On ZCA-whitened images it is lower, $c_{\mathrm{white}}$, and the drop is "
            "much larger over the 20 % of examples that are learnt fastest than over all of them."
        ),
        meaning="Without large and small components there is much less of an order in which all networks learn.",
        paper_setting={
            "data": f"(a) {_PETS} in the text, CIFAR-10 in the caption; (b) CIFAR-10",
            "network": "(a) one-layer linear; (b) VGG-19",
            **_TRAINED,
            "step size": "not stated",
            "epochs": "not stated",
            "repeats": "2 ensembles of 10 networks",
            "whitening": "ZCA",
            "measure": "correlation of accessibilities; how the fastest are chosen is not stated",
        },
        kind="experiment",
        quick="13 s",
        full="12 min on an H200",
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
        words=(
            r"Points of two classes are separated by a sum $\lambda$ of ten waves of frequencies $\kappa_i$ and phases "
            r"$\varphi_i$. The critical frequency $j^*$ of a point is the least $j$ for which the first $j$ waves, "
            r"$\lambda_j$, classify it rightly. Accessibility, the share of right answers over networks and epochs, "
            "correlates with it at $-0.93$; discriminability, the share of a point's nearest neighbours that are of its "
            "class, at $-0.8$."
        ),
        meaning="What takes a wiggly boundary is learnt last.",
        paper_setting={
            "data": "frequency data set, 10,000 points, ten waves (D.3)",
            "network": "st-VGG on points of the plane; how is not stated",
            **_TRAINED,
            "step size": "0.05 (D.2)",
            "epochs": "not stated",
            "repeats": "100 networks",
            "measure": "correlation, p < 0.01; neighbours: not stated",
        },
        kind="experiment",
        quick="9 s",
        full="70 s on an H200",
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
        words=(
            f"{_ACCESSIBILITY} The discriminability of an example is the share of its nearest neighbours that are of its "
            "class, by distance between pixels or in what enters a trained network's last layer. The second "
            "correlates with "
            "accessibility far more than the first: on four data sets 0.54 to 0.85 against 0.01 to 0.51."
        ),
        meaning="Networks make their own space in which examples that are learnt early lie among their like.",
        paper_setting={
            "data": f"{_MAMMALS}; ImageNet-20; CIFAR-100; STL-10",
            "network": "VGG and st-VGG",
            **_TRAINED,
            "step size": "0.05 (D.2, for st-VGG)",
            "epochs": "not stated",
            "repeats": "not stated",
            "neighbours": "not stated",
            "measure": "correlation of accessibility and discriminability",
        },
        kind="experiment",
        quick="9 s",
        full="2 min on an H200 (estimate)",
    ),
    Claim(
        "hacohen-s54",
        place="§5.4",
        title="In a two-layer ReLU network the learning order is most consistent where overfitting begins",
        statement=(
            r"\mathrm{argmax}_t\ r\left(c_1^t,c_2^t\right)\approx\mathrm{argmax}_t\ \mathrm{acc}_{\mathrm{test}}(t)"
        ),
        check="lineament.claims.hacohen.section_5_4:check",
        words=(
            "$c_1^t$ and $c_2^t$ are the shares of networks of two ensembles that are right about an example at "
            "epoch $t$, "
            "and $r$ their correlation over examples: how consistent the order of learning is. In two-layer ReLU "
            "networks it "
            "is evident at the beginning, peaks at the point of overfit, when the test accuracy begins to decline, and "
            "declines from there."
        ),
        meaning="Networks agree on what is easy until they begin to learn noise, each its own.",
        paper_setting={
            "data": "not stated",
            "network": "two layers, ReLU",
            "start": "not stated",
            "loss": "cross-entropy (§3.1)",
            "optimiser": "SGD",
            **_PLAIN,
            "step size": "not stated",
            "epochs": "not stated",
            "repeats": "not stated",
            "measure": "not stated: consistency of the order of learning along training",
        },
        kind="experiment",
        quick="9 s",
        full="9 min on an H200",
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
        words=(
            r"The gain $g$ of early stopping is the test accuracy $\mathrm{acc}(t)$ at its best epoch $t$ less "
            r"that at the "
            "end, $T$. It is larger when the lowest 1.5 % of the principal components of the images are "
            "amplified tenfold, "
            "and smaller when the highest 1.5 % are, in linear and in non-linear networks."
        ),
        meaning="Early stopping works like dropping the small principal components, where they are noise.",
        paper_setting={
            "data": _MAMMALS,
            "network": "linear st-VGG; st-VGG, both with dropout 0.25 and 0.5",
            "loss": "cross-entropy",
            "optimiser": "SGD, batches of 100",
            "step size": "0.05 (D.2, for st-VGG)",
            "epochs": "not stated",
            "repeats": "10 networks in the text, 100 in Appendix D",
            "amplified": "1.5 %, by a factor of 10 (D.1)",
            "measure": "test accuracy over the epochs",
        },
        kind="experiment",
        quick="9 s",
        full="15 min on an H200 (estimate)",
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
        words=(
            r"$t_{\mathrm{real}}$ and $t_{\mathrm{shuffled}}$ are the epochs that linear networks take to learn the real "
            r"labels of images and randomly shuffled ones. Shuffled labels take longer. On whitened images, whose second "
            r"moments $\Sigma_{xx}$ are the identity, the difference disappears."
        ),
        meaning="Random labels are slow because they need small principal components, which are slow.",
        paper_setting={
            "data": _PETS,
            "network": "two layers, linear, 1024 hidden units, dropout 0.5 before the output",
            **_TRAINED,
            "step size": "not stated",
            "epochs": "not stated",
            "repeats": "10 networks",
            "measure": "learning curves",
        },
        kind="experiment",
        quick="9 s",
        full="3 min on an H200",
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
        words=(
            r"The labels $y$ of two classes are changed so that the best linear classifier $W_P$ of the images "
            r"projected to "
            r"their first $P$ principal components, $\mathrm{proj}_Px$, makes no error; the labels are the real "
            r"ones before, "
            r"or shuffled. The fewer components decide, the higher the training accuracy $\mathrm{acc}_P(t)$ of "
            r"non-linear "
            "networks after $t$ epochs, whether the labels were real or shuffled."
        ),
        meaning="How fast labels are learnt depends on whether large components decide them, not on their being real.",
        paper_setting={
            "data": f"a two-class data set (§6.2); {_MAMMALS} (Appendix D)",
            "network": "st-VGG",
            **_TRAINED,
            "step size": "0.05 (D.2, for st-VGG)",
            "epochs": "not stated",
            "repeats": "10 networks in the text, 100 in Appendix D",
            "components P": "10, 50, 500",
            "measure": "mean training accuracy",
        },
        kind="experiment",
        quick="8 s",
        full="2 min on an H200",
    ),
    Claim(
        "hacohen-f12",
        place="Figure 12, Appendix C.1",
        title="A wide linear network converges faster from Definition 3 than from Glorot's start",
        statement=(
            r"\sigma_1^2=\frac1{m_1},\ \sigma_2^2=\frac1{m_1}\quad\mathrm{or}\quad\sigma_l^2=\frac{2}{m_{l-1}+m_l}"
        ),
        check="lineament.claims.hacohen.figure_12:check",
        words=(
            r"$\sigma_l^2$ is the variance of the entries of layer $l$ at the start, $m_0$ the number of inputs, "
            r"$m_1$ that of "
            "hidden units and $m_2$ that of outputs. A linear network with one hidden layer, much wider than inputs and "
            "outputs, comes to the same accuracy from the start of Definition 3 (left) as from Glorot's (right), "
            "but sooner, "
            "on training and on test images."
        ),
        meaning="How the first and the last layer of a wide network are scaled decides how soon it learns.",
        paper_setting={
            "data": _PETS,
            "network": "one hidden layer, linear, “much larger than the input and output dimensions”",
            "start": "Definition 3; Glorot uniform",
            **_TRAINED,
            "step size": "not stated",
            "repeats": "10 networks",
            "measure": "learning curves, training and test",
        },
        kind="experiment",
        quick="5 s",
        full="70 s on an H200 (estimate)",
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
        words=(
            r"Points $x=(x_1,x_2)$ of the plane lie above or below the graph of a sum of ten waves; $\lambda_j$ "
            r"is the sum of "
            "the first $j$. $f_t$ is a network trained on them for $t$ epochs, and $j(t)$ the number of waves "
            "with which its "
            "predictions agree best over the plane. It never falls as training goes on: low frequencies are "
            "taken up first."
        ),
        meaning="Networks learn smooth boundaries first.",
        paper_setting={
            "data": "frequency data set, 10,000 points, ten waves (D.3)",
            "network": "st-VGG on points of the plane; how is not stated",
            **_TRAINED,
            "step size": "0.05 (D.2), batches of 100",
            "epochs": "1, 100, 1000, 10,000",
            "repeats": "pictures of one of 100 networks",
            "measure": "pictures",
        },
        kind="experiment",
        quick="6 s",
        full="15 min on an H200 (estimate)",
    ),
    Claim(
        "hacohen-f14",
        place="Figure 14, Appendix D.1",
        title="Amplified tenfold, the first components drown an image and the last do not",
        statement=r"x\mapsto x+9\sum_{j\in J}u_ju_j^\top(x-\bar x),\quad|J|=0.015\,q,\quad10\ll\frac{d_1}{d_q}",
        check="lineament.claims.hacohen.figure_14:check",
        words=(
            f"{_COMPONENTS} Of the $q$ components of images $x$ with mean $\\bar x$ a set $J$, the first or the "
            f"last 1.5 %, is "
            "amplified by a factor of 10, far below the ratio $d_1/d_q$ of the largest to the least. Amplified first "
            "components hide the image; amplified last ones hardly change it."
        ),
        meaning="What small components hold of an image is so little that ten times it is still little.",
        paper_setting={
            "data": _MAMMALS,
            "amplified": "1.5 %, by a factor of 10",
            "measure": "pictures",
        },
        kind="experiment",
        quick="1 s",
        full="10 s",
    ),
)
