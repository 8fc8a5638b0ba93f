"""Solutions of lesson 12: what remains open."""

import numpy as np
from layer_flow import layer_flow

import lineament as la


def exercise_1():
    r"""The mode is :math:`\sigma=w_1\cdots w_N` and its loss :math:`\tfrac12(\sigma-\sigma^*)^2`. At the optimum the
    residual vanishes, so the Hessian is :math:`\nabla\sigma\,\nabla\sigma^\top`. With all :math:`w_l=w` every entry of
    :math:`\nabla\sigma` is :math:`w^{N-1}`, and the one eigenvalue that is not zero is

    .. math:: N\,w^{2N-2}=N\,(\sigma^*)^{2-2/N} .

    Descent is stable if the step is less than 2 over this. The stronger the mode and the deeper the network, the
    smaller a step it bears; if several modes share one step size, the strongest sets the limit.
    """
    found = {}
    for depth in (1, 2, 3, 4):
        target = 3.0
        most = 2 / (depth * target ** (2 - 2 / depth))
        w = target ** (1 / depth) * (1 + 1e-4)
        ends = []
        for step in (0.98 * most, 1.02 * most):
            x = w
            for _ in range(200):
                x = x - step * (x**depth - target) * x ** (depth - 1)
            ends.append(abs(x**depth - target))
        found[depth] = (abs(w**depth - target), *ends)
    return found


def exercise_2():
    r"""In units of the optimum a step is :math:`x^+=x\,(1+c-cx^2)` with :math:`c` the step size over its stable limit.
    In a cycle :math:`x_2=ax_1` and :math:`x_1=bx_2` with :math:`a=1+c-cz_1`, :math:`b=1+c-cz_2` and :math:`z_i=x_i^2`.
    So :math:`ab=1` and :math:`z_2=a^2z_1`. From :math:`cz_1=1+c-a` and :math:`cz_2=1+c-1/a`

    .. math:: 1+c-\tfrac1a=a^2(1+c-a)\quad\Longleftrightarrow\quad(a^2-1)\bigl(a^2-(1+c)\,a+1\bigr)=0 .

    The first factor is the optimum itself (and its mirror image). The second says :math:`a+b=1+c`, hence
    :math:`z_1+z_2=1+1/c` and :math:`z_1z_2=1/c^2`: real for :math:`c>1`, just where the optimum becomes unstable. Two
    steps multiply a small deviation by :math:`(1+c-3cz_1)(1+c-3cz_2)=(1+c)^2-3(1+c)^2+9=9-2(1+c)^2`, which is above −1
    for :math:`(1+c)^2<5`, that is :math:`c<\sqrt5-1`.
    """
    c = 1.2
    total, product = 1 + 1 / c, 1 / c**2
    z = np.array([total - np.sqrt(total**2 - 4 * product), total + np.sqrt(total**2 - 4 * product)]) / 2
    x = 0.3
    for _ in range(2000):
        x = x * (1 + c - c * x**2)
    iterated = np.sort([x, x * (1 + c - c * x**2)])
    return {
        "by hand": np.sqrt(z),
        "iterated": iterated,
        "package": la.theory.large_steps.two_cycle(c, 2.0),
        "edge": la.theory.large_steps.largest_cycle(2.0),
    }


def exercise_3():
    r"""Add :math:`\varepsilon` times a fixed matrix to each of the balanced layers. The unbalancedness is then
    proportional to :math:`\varepsilon`, and so is the error of the scale matrices :math:`L_j,R_j` of lesson 3, which
    the equation takes for powers of :math:`WW^\top` and :math:`W^\top W`. A small error in the velocity gives an error
    of that order in the path, over any fixed time: first order in the unbalancedness, and no better. There is no depth
    at which it helps, but there is a remedy: start smaller. The unbalancedness of a start of size :math:`w` is of
    order :math:`w^2`, while the layers grow to the size of the target.
    """
    rng, time = np.random.default_rng(0), np.linspace(0, 1, 5)
    target = rng.normal(size=(2, 2))
    base = [np.asarray(W) for W in la.theory.layers.balanced(rng.normal(size=(2, 2)), (2, 2, 2, 2))]
    bumps = [rng.normal(size=(2, 2)) for _ in base]
    amounts, errors = [], []
    for epsilon in (1e-3, 1e-2, 1e-1):
        layers = [W + epsilon * bump for W, bump in zip(base, bumps, strict=True)]
        forecast = la.theory.end_to_end.trajectory_from_layers(
            time, layers, lambda W: W - target, allow_unbalanced=True
        )
        W1, W2, W3 = layer_flow(layers, lambda W: W - target, time)
        amounts.append(forecast.unbalancedness)
        errors.append(np.abs(W3 @ W2 @ W1 - forecast.W).max())
    return {"slope": np.polyfit(np.log(amounts), np.log(errors), 1)[0], "errors": np.array(errors)}
