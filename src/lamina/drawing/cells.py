r"""The recurrent cells as wirings: the simple cell, the gated recurrent unit and the long short-term memory.

The letters of the notes are the names of the parts: "u" the input, "h-" and "c-" the states before the step, "h" and
"c" those after it, "y" the output, "r", "z", "f", "i", "o" the gates (z is the update gate, since u is the input).
"""

from lamina._errors import choice
from lamina.drawing.scene import Scene, Text
from lamina.drawing.wiring import Part, Wire, Wiring, draw

_SIGMA, _TANH = r"$\sigma$", "tanh"


def _name(x: float, y: float, words: str) -> Text:
    """Write the name of a cell into its frame."""
    return Text((x, y), words, 19.0, "hidden", "middle", bold=True)


def _beside(x: float, y: float, words: str) -> Text:
    return Text((x, y), words, 12.0, "activation!70!ink", "end")


RNN = Wiring(
    title="RNN cell",
    frame=(44, 28, 336, 178),
    parts=(
        Part("u", "input", (100, 216), "$u^{<t>}$"),
        Part("h-", "state", (0, 134), "$h^{<t-1>}$"),
        Part("in", "weights", (100, 134), "Weights"),
        Part("tanh", "tanh", (190, 134), _TANH),
        Part("out", "weights", (270, 80), "Weights"),
        Part("h", "state", (380, 134), "$h^{<t>}$"),
        Part("y", "output", (270, -10), "$y^{<t>}$"),
    ),
    wires=(
        Wire("h-", "in"),
        Wire("u", "in"),
        Wire("in", "tanh"),
        Wire("tanh", "h"),
        Wire("tanh", "out", fork=(270, 134)),
        Wire("out", "y"),
    ),
    notes=(_name(134, 68, "RNN cell"),),
    description="The state h before the step and the input u pass weights and tanh and become the new state; "
    "the output is read from it by weights.",
)

GRU = Wiring(
    title="GRU cell",
    frame=(60, 16, 508, 330),
    parts=(
        Part("u", "input", (100, 376), "$u^{<t>}$"),
        Part("h-", "state", (14, 54), "$h^{<t-1>}$"),
        Part("[h;u]", "concatenate", (100, 256)),
        Part("r*h", "product", (174, 150)),
        Part("[r*h;u]", "concatenate", (174, 300)),
        Part("r", "sigmoid", (256, 212), _SIGMA),
        Part("z", "sigmoid", (350, 212), _SIGMA),
        Part("candidate", "tanh", (440, 212), _TANH),
        Part("1-z", "one minus", (350, 104)),
        Part("keep", "product", (350, 54)),
        Part("write", "product", (440, 150)),
        Part("add", "sum", (440, 54)),
        Part("h", "state", (560, 54), "$h^{<t>}$"),
        Part("y", "output", (440, -24), "$y^{<t>}$"),
    ),
    wires=(
        Wire("h-", "keep"),
        Wire("h-", "[h;u]", fork=(100, 54)),
        Wire("h-", "r*h", fork=(100, 150)),
        Wire("u", "[h;u]"),
        Wire("[h;u]", "r", via=((256, 256),)),
        Wire("[h;u]", "z", via=((350, 256),), fork=(256, 256)),
        Wire("r", "r*h", via=((256, 150),)),
        Wire("r*h", "[r*h;u]", bridge=(174, 256)),
        Wire("u", "[r*h;u]", fork=(100, 300)),
        Wire("[r*h;u]", "candidate", via=((440, 300),)),
        Wire("z", "1-z"),
        Wire("z", "write", fork=(350, 150)),
        Wire("candidate", "write"),
        Wire("1-z", "keep"),
        Wire("keep", "add"),
        Wire("write", "add"),
        Wire("add", "h"),
        Wire("add", "y"),
    ),
    notes=(
        _name(216, 104, "GRU"),
        _beside(250, 182, r"reset $\Gamma_r$"),
        _beside(344, 182, r"update $\Gamma_u$"),
        _beside(434, 182, r"$\tilde{h}^{<t>}$"),
    ),
    description="Reset and update gates read the state and the input; the candidate reads the reset state and the "
    "input; the new state takes the candidate where the update gate is open and keeps the old state elsewhere.",
)

LSTM = Wiring(
    title="LSTM cell",
    frame=(60, 16, 566, 302),
    parts=(
        Part("u", "input", (104, 348), "$u^{<t>}$"),
        Part("h-", "state", (14, 266), "$h^{<t-1>}$"),
        Part("c-", "state", (14, 54), "$c^{<t-1>}$"),
        Part("[h;u]", "concatenate", (104, 266)),
        Part("f", "sigmoid", (172, 212), _SIGMA),
        Part("i", "sigmoid", (258, 212), _SIGMA),
        Part("candidate", "tanh", (344, 212), _TANH),
        Part("o", "sigmoid", (430, 212), _SIGMA),
        Part("forget", "product", (172, 54)),
        Part("write", "product", (344, 130)),
        Part("add", "sum", (344, 54)),
        Part("squash", "tanh", (506, 104), _TANH),
        Part("read", "product", (506, 160)),
        Part("h", "state", (612, 266), "$h^{<t>}$"),
        Part("c", "state", (612, 54), "$c^{<t>}$"),
        Part("y", "output", (555, -24), "$y^{<t>}$"),
    ),
    wires=(
        Wire("c-", "forget"),
        Wire("forget", "add"),
        Wire("add", "c"),
        Wire("h-", "[h;u]"),
        Wire("u", "[h;u]"),
        Wire("[h;u]", "f", via=((172, 266),)),
        Wire("[h;u]", "i", via=((258, 266),), fork=(172, 266)),
        Wire("[h;u]", "candidate", via=((344, 266),), fork=(258, 266)),
        Wire("[h;u]", "o", via=((430, 266),), fork=(344, 266)),
        Wire("f", "forget"),
        Wire("i", "write", via=((258, 130),)),
        Wire("candidate", "write"),
        Wire("write", "add"),
        Wire("add", "squash", fork=(506, 54)),
        Wire("o", "read", via=((430, 160),)),
        Wire("squash", "read"),
        Wire("read", "h", via=((506, 266),)),
        Wire("read", "y", fork=(555, 266), bridge=(555, 54)),
    ),
    notes=(
        _name(256, 92, "LSTM"),
        _beside(166, 182, r"forget $\Gamma_f$"),
        _beside(252, 182, r"input $\Gamma_i$"),
        _beside(338, 182, r"$\tilde{c}^{<t>}$"),
        _beside(424, 182, r"output $\Gamma_o$"),
    ),
    description="The cell state c runs along the top: the forget gate multiplies the old cell state, the input gate "
    "the candidate, and both are added; the output gate times the tanh of the new cell state is the hidden state.",
)

CELLS = {"rnn": RNN, "gru": GRU, "lstm": LSTM}
"""The wirings by name."""


def cell(kind: str, *, legend: bool = True) -> Scene:
    """Draw a recurrent cell; its wires follow the equations of `functional.recurrent`, part by part.

    Notes: N5.06, N5.36, N5.40 (§5, §5.2.1, §5.2.2, Figs. 34, 38, 39).
    Corrects: E70, the old cell state enters the forget product, as the figure of the notes shows and its formula not.

    Args:
        kind: "rnn", "gru" or "lstm".
        legend: explain the circles below the cell.

    >>> cell("gru").title
    'GRU cell'
    """
    choice("kind", kind, tuple(CELLS))
    return draw(CELLS[kind], legend=legend and kind != "rnn")
