"""Transfer learning in two rows: the pretrained model with its data and labels, and the same model with mine."""

from dataclasses import replace
from functools import partial

from lamina.drawing.parts import Board
from lamina.drawing.scene import Scene

FAR, NEAR = 264.0, 170.0
"""The distance of the boxes, and that on a phone."""


def transfer_learning(
    *, data: str = "My Data", model: str = "Pretrained Model", labels: str = "My Labels", column: float = FAR
) -> Scene:
    """Draw transfer learning: a model trained on one task starts the training on another.

    Notes: N4.42 (§4.3, Fig. 32).

    Args:
        data: the name of the new data.
        model: the name of the model.
        labels: the name of the new labels.
        column: the distance of the boxes; on a phone it is less.

    >>> from lamina.drawing.parts import edges
    >>> edges(transfer_learning())[-1]
    ('Pretrained Model', 'new Pretrained Model')
    """
    board, rows, given = Board(), [], {"data": data, "model": model, "labels": labels}
    # On a phone letters are larger than what is around them: the words stand above the boxes.
    lines, low, high = (
        (("adjust if necessary",), 96.0, 55.0) if column > NEAR else (("necessary", "adjust if"), 82.0, 36.0)
    )
    for y, prefix, names in ((0.0, "", ("Data", model, "Labels")), (110.0, "new ", (data, model, labels))):
        columns = zip((0.0, column, 2 * column), ("input", "hidden", "output"), names, strict=True)
        rows.append(
            [
                board.plate((x, y), name, role, name=prefix + name, size=14, high=34, shade=22)
                for x, role, name in columns
            ]
        )
        for one, two in zip(rows[-1][:-1], rows[-1][1:], strict=True):
            board.link(one, two)
    for one, two in zip(rows[1][:-1], rows[1][1:], strict=True):
        for place, line in enumerate(lines):
            board.text(((one.right[0] + two.left[0]) / 2, low - 17 * place), line, size=12, color="muted")
    board.link(rows[0][1], rows[1][1])
    board.text((column + 8, high), "transfer", size=13, anchor="start")
    scene = board.scene(
        "Transfer learning", "The weights of a trained model are the start for new data and new labels."
    )
    return replace(scene, narrower=partial(transfer_learning, **given, column=NEAR)) if column > NEAR else scene
