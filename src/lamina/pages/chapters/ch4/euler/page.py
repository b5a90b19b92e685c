import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="A network as a flow")

with app.setup:
    import math

    import marimo as mo
    import torch

    from lamina.architectures.build import build
    from lamina.architectures.ode import NeuralODE
    from lamina.drawing.charts import Series
    from lamina.functional.activations import get_activation
    from lamina.functional.ode import euler_step, integrate, interpolate, layer_dynamics, rk4_step, trajectory
    from lamina.functional.residual import residual_step
    from lamina.layers.residual import SimpleResNetLayer
    from lamina.pages import kit
    from lamina.pages.chapters.ch4.euler._work import DURATION, EPOCHS, KINDS, flow

    F64 = torch.float64
    DEPTHS = (1, 2, 4, 8, 16, 32, 64, 128)


@app.cell(hide_code=True)
def _(end, entries, steps):
    _W = torch.tensor(entries.value, dtype=F64).reshape(1, 2, 2)
    field = layer_dynamics(_W, torch.zeros(1, 2, dtype=F64), get_activation("tanh"), end.value)
    _angle = torch.arange(8, dtype=F64) * (math.pi / 4)
    circle = 1.5 * torch.stack([_angle.cos(), _angle.sin()], 1)
    _net = trajectory(field, circle, steps.value, 0.0, end.value)
    _fine = trajectory(field, circle, 100, 0.0, end.value, "rk4")
    apart = (_net[-1] - _fine[-1]).norm(dim=1).max().item()
    _scene = kit.plot(
        f"Eight paths through {steps.value} layers; at the end the network is at most {apart:.4f} away from the solution.",
        lines=[
            *(
                Series(
                    "solution" if k == 0 else "", _fine[:, k, 0].tolist(), _fine[:, k, 1].tolist(), "muted", size=2.0
                )
                for k in range(8)
            ),
            *(
                Series("", _net[:, k, 0].tolist(), _net[:, k, 1].tolist(), "line5", "dashed", size=1.2)
                for k in range(8)
            ),
        ],
        points=[
            Series(
                "residual network",
                _net[1:, :, 0].flatten().tolist(),
                _net[1:, :, 1].flatten().tolist(),
                "line5",
                size=2.4,
            ),
            Series("input", circle[:, 0].tolist(), circle[:, 1].tolist(), "input", size=4.0),
            Series("output", _net[-1, :, 0].tolist(), _net[-1, :, 1].tolist(), "output", size=4.0),
        ],
        x=("$y_1$", -3, 3),
        y=("$y_2$", -3, 3),
        size=(400, 380),
        wide=620,
    )
    kit.lab(
        kit.controls("Layers, time and weights", steps, end, *entries.elements),
        _scene,
        kit.facts(step_size=end.value / steps.value, largest_error=apart),
        about="A layer is a step in time",
    )
    return circle, field


@app.cell(hide_code=True)
def _():
    steps = kit.slider(1, 64, 1, value=8, label="layers $L$")
    end = kit.slider(0.5, 6, 0.5, value=3, label="time $T$")
    entries = mo.ui.array(
        [
            kit.slider(-3, 3, 0.1, value=v, label=f"$W_{{{i}}}$")
            for i, v in zip(("11", "12", "21", "22"), (-0.3, -1.5, 1.5, -0.3), strict=True)
        ]
    )
    kit.column(
        kit.section("A layer is a step in time", ids=("N4.14", "N4.15")),
        kit.prose(r"""
            Put a number $\tau^{[\ell]}$ in front of the activation of a simplified residual layer, take the same $\sigma$ in all
            layers, and bring $y^{[\ell-1]}$ to the other side:
            $$y^{[\ell]} = y^{[\ell-1]} + \tau^{[\ell]} \sigma\big(W^{[\ell-1]} y^{[\ell-1]} + b^{[\ell-1]}\big)\;\Longrightarrow\; \frac{y^{[\ell]} - y^{[\ell-1]}}{\tau^{[\ell]}} = \sigma\big(W^{[\ell-1]} y^{[\ell-1]} + b^{[\ell-1]}\big)$$
            The left side is a difference quotient in time. The features of neighboring layers are values at neighboring
            moments, and the network is **explicit Euler** for the differential equation
        """),
        kit.formula(r"y'(t) = \sigma\big(W(t)\, y(t) + b(t)\big), \qquad y(0) = u", "depth has become time"),
        kit.prose(r"""
            This reading needs $\tau > 0$, and weights that change slowly from layer to layer ([E57](/errata#E57)). Below $\sigma = \tanh$ and $W$ is
            the same in all layers; eight inputs start on a circle. The gray curves are the solution, the orange points the
            features $y^{[0]}, \ldots, y^{[L]}$ of a residual network with $\tau = T / L$.
        """),
        kit.source(residual_step, euler_step, layer_dynamics),
    )
    return end, entries, steps


@app.cell(hide_code=True)
def _():
    kit.question(
        r"Start with one layer and add more. What do you need so that the orange points follow the curves, and what happens with few layers and a large $T$?",
        r"""Small steps: $\tau = T/L$ well below 1 for these weights. With $\tau$ of 1 and more the points jump across the curves, can even cross each
        other, and spiral outwards where the solution spirals inwards. Solutions of the differential equation never cross; the paths of layers with large steps can, and
        that is part of a network's power.""",
        options=("Yes", "No"),
        right=0,
        predict="Can the paths of layers with large steps cross, as solutions of a differential equation never do?",
    )
    return


@app.cell(hide_code=True)
def _():
    kit.column(
        kit.section("Half the step, half the error", ids=("N4.16",)),
        kit.prose(r"""
            Explicit Euler is a first-order method: twice as many layers leave half the error. A fourth-order method, the classical
            one of Runge and Kutta, evaluates $\sigma(Wy + b)$ four times per step and leaves a sixteenth. The chart belongs
            to the weights above. That a residual network may be read, and computed, with other solvers and any number of
            steps is the idea of the **neural ODE**.
        """),
        kit.source(rk4_step, integrate),
    )
    return


@app.cell(hide_code=True)
def _(circle, end, field):
    _exact = integrate(field, circle, 256, 0.0, end.value, "rk4")
    _errors = {
        name: [
            max((integrate(field, circle, n, 0.0, end.value, method) - _exact).norm(dim=1).max().item(), 1e-16)
            for n in DEPTHS
        ]
        for name, method in (("Euler: a residual network", "euler"), ("Runge-Kutta", "rk4"))
    }
    _ratio = _errors["Euler: a residual network"][-2] / _errors["Euler: a residual network"][-1]
    _scene = kit.plot(
        f"The error over the number of layers; from 64 to 128 layers that of the residual network falls by a factor of {_ratio:.2f}.",
        lines=[
            Series(name, DEPTHS, ys, color)
            for (name, ys), color in zip(_errors.items(), ("line5", "line4"), strict=True)
        ],
        points=[Series("", DEPTHS, ys, color) for ys, color in zip(_errors.values(), ("line5", "line4"), strict=True)],
        x="layers $L$",
        y=("error at the end", 1e-10, 10),
        log_x=True,
        log_y=True,
        size=(430, 290),
    )
    kit.column(
        _scene,
        kit.recorded(
            "euler_order",
            "Twice as many layers halve the error of Euler's method (the last ratio is {ratio[4]:.2f}), and divide that of a method of order 4 by sixteen.",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    def _size(depth, step_size):
        u = torch.randn(64, 16, generator=torch.Generator().manual_seed(0))
        network = build(
            "dense-resnet", inputs=16, outputs=1, hidden=(16,) * depth, activation="relu", step_size=step_size
        )
        with torch.no_grad():
            return network.features(u)[-1].square().mean().sqrt().item()

    _depths = (1, 2, 4, 8, 16, 32)
    _curves = {r"$\tau = 1$": [_size(d, 1.0) for d in _depths], r"$\tau = 1/L$": [_size(d, "1/L") for d in _depths]}
    _one, _small = _curves.values()
    _scene = kit.plot(
        f"The size of the output at 32 layers is {_one[-1]:.0f} with step size 1 and {_small[-1]:.2f} with step size 1/L.",
        lines=[
            Series(name, _depths, ys, color)
            for (name, ys), color in zip(_curves.items(), ("line2", "line1"), strict=True)
        ],
        x="layers $L$",
        y=("size of the output", 0.5, 1e8),
        log_x=True,
        log_y=True,
        size=(430, 250),
    )
    kit.column(
        kit.prose(r"""
            A fixed time $T = 1$ also tames deep networks: with $\tau = 1/L$ the output stays bounded as $L$ grows, with
            $\tau = 1$ it need not. The chart shows this for ReLU with He's weights and width 16.
        """),
        _scene,
        kit.question(
            r"Read the ratio of two neighboring errors; it stands in the table of the drawer. What would it be for a second-order method?",
            r"Four: half the step leaves a quarter of the error. In the chart with two logarithmic axes the order is the slope: a line that falls by one decade per decade means first order.",
            options=("Halve it", "Quarter it", "Leave an eighth"),
            right=1,
            predict="Half the step halves the error of Euler's method. What would it do to that of a second-order method?",
        ),
    )
    return


@app.cell(hide_code=True)
def _():
    kind = kit.dropdown(list(KINDS), value="ResNet, learned steps", label="network")
    depth = kit.slider(2, 16, 1, value=8, label="layers or steps", debounce=True)
    go = kit.play("Train")
    training = kit.train(flow, keep="last")
    kit.column(
        kit.section("Learned step sizes, and training as control", ids=("N4.17",)),
        kit.prose(r"""
            The step sizes can be learned like any other parameter. A step in time has to be positive, so the library learns
            a number $\rho^{[\ell]}$ and takes
            $$\tau^{[\ell]} = \tau_0\, \frac{\mathrm{softplus}(\rho^{[\ell]})}{\mathrm{softplus}(0)} > 0, \qquad\frac{\partial \mathscr{L}}{\partial \tau^{[\ell]}} = \sum_i \Big(\frac{\partial \mathscr{L}}{\partial y^{[\ell]}}\Big)_{\!i}\;\sigma\big(W^{[\ell-1]} y^{[\ell-1]} + b^{[\ell-1]}\big)_i$$
            Seen in this way, training is a problem of **optimal control**: weights and biases are controls that steer all inputs
            at once, so that at time $T$ a straight line can tell the classes apart.
            $$\min_{W(\cdot),\, b(\cdot)} \; \mathscr{L}\big(y(T)\big) \quad \text{subject to} \quad y'(t) = \sigma\big(W(t)\, y(t) + b(t)\big), \; y(0) = u$$
            The data are two moons and the states have two components, so nothing is hidden: every point's path through the network is drawn while it learns.
            In a neural ODE $W(t)$ is linear in time between four knots, so neighboring steps have similar weights; the layers of
            a ResNet are free.
        """),
        kit.source(SimpleResNetLayer, interpolate, NeuralODE),
    )
    return depth, go, kind, training


@app.cell(hide_code=True)
def _():
    kit.question(
        "Train the ResNet with equal steps, the one with learned steps, and the neural ODE. Which pulls the moons apart best, and why does the neural ODE lag behind?",
        r"""The ResNet with learned steps spends more time where it needs it: its step sizes grow and differ from layer to layer. Its paths
        are jagged, because neighboring layers share nothing; those of the neural ODE are smooth. The neural ODE has four
        knots of weights instead of a matrix for every layer, and its paths must not cross: in the plane it cannot lift one moon over the other. Give it fewer, larger Euler
        steps and it gets better, because then it is no longer close to a solution.""",
        options=("The ResNet with equal steps", "The ResNet with learned steps", "The neural ODE"),
        right=2,
        predict="Which of the three pulls the moons apart worst?",
    )
    return


@app.cell(hide_code=True)
def _(depth, go, kind, training):
    def _places(row):
        if row is None:
            return kit.chart(lines=[Series("", [0], [None])], x=("$y_1$", -6, 6), y=("$y_2$", -6, 6), size=(380, 360))
        colors = ("line1", "line2")
        lines = [
            Series("", [y[0] for y in path], [y[1] for y in path], colors[label] + "!45", size=1.0)
            for path, label in zip(row["paths"], row["labels"], strict=True)
        ]
        ends = [
            Series(
                f"end, class {label}",
                *zip(
                    *(path[-1] for path, own in zip(row["paths"], row["labels"], strict=True) if own == label),
                    strict=True,
                ),
                colors[label],
                size=3.4,
            )
            for label in (0, 1)
        ]
        starts = [
            Series(
                "start" if label == 0 else "",
                *zip(
                    *(path[0] for path, own in zip(row["paths"], row["labels"], strict=True) if own == label),
                    strict=True,
                ),
                colors[label],
                "ring",
                size=2.2,
            )
            for label in (0, 1)
        ]
        return kit.chart(lines=lines, points=[*starts, *ends], x=("$y_1$", -6, 6), y=("$y_2$", -6, 6), size=(380, 360))

    def _draw(job):
        row = job.rows[-1] if job.rows else None
        sizes = row["steps"] if row else [DURATION / depth.value] * depth.value
        words = (
            f"After {row['step']} steps of Adam {row['accuracy']:.1%} of other points are right."
            if row
            else "Nothing has been trained yet."
        )
        bars = kit.plot(
            f"The step sizes of the layers, from {min(sizes):.2f} to {max(sizes):.2f}, sum {sum(sizes):.2f}.",
            bars=[Series("", list(range(1, len(sizes) + 1)), sizes, "line5")],
            x="layer",
            y=(r"step size $\tau$", 0, max(2.0, 1.1 * max(sizes))),
            size=(330, 190),
        )
        loss = kit.plot(
            "The training loss over the steps.",
            lines=[
                Series(
                    "loss",
                    [s for s, _ in row["losses"]] if row else [0],
                    [v for _, v in row["losses"]] if row else [None],
                    "line1",
                )
            ],
            x=("step", 0, EPOCHS),
            y=("", 1e-4, 1),
            log_y=True,
            size=(330, 190),
        )
        return kit.panel(
            kit.controls("Network and number of layers", kind, depth, go),
            kit.row(
                kit.svg(_places(row), f"The paths of 60 points of two moons through {depth.value} layers. {words}"),
                kit.column(bars, loss),
                least=300,
            ),
            kit.note(f"{words} ({job.words})", "bad" if job.state == "failed" else "plain"),
        )

    training.show(_draw, running=go, kind=kind.value, depth=depth.value, seed=0)
    return


if __name__ == "__main__":
    app.run()
