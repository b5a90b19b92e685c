"""Transfer learning in two rows: the pretrained model with its data and labels, and the same model with mine."""

from lamina.drawing.parts import Board
from lamina.drawing.scene import Scene


def transfer_learning(*, data: str = "My Data", model: str = "Pretrained Model", labels: str = "My Labels") -> Scene:
    """Draw transfer learning: a model trained on one task starts the training on another.

    Notes: N4.42 (§4.3, Fig. 32).

    Args:
        data: the name of the new data.
        model: the name of the model.
        labels: the name of the new labels.

    >>> from lamina.drawing.parts import edges
    >>> edges(transfer_learning())[-1]
    ('Pretrained Model', 'new Pretrained Model')
    """
    board, rows = Board(), []
    for y, prefix, names in ((0.0, "", ("Data", model, "Labels")), (110.0, "new ", (data, model, labels))):
        columns = zip((0.0, 264.0, 528.0), ("input", "hidden", "output"), names, strict=True)
        rows.append(
            [
                board.plate((x, y), name, role, name=prefix + name, size=14, high=34, shade=22)
                for x, role, name in columns
            ]
        )
        for one, two in zip(rows[-1][:-1], rows[-1][1:], strict=True):
            board.link(one, two)
    for one, two in zip(rows[1][:-1], rows[1][1:], strict=True):
        board.text(((one.right[0] + two.left[0]) / 2, 96.0), "adjust if necessary", size=12, color="muted")
    board.link(rows[0][1], rows[1][1])
    board.text((272, 55), "transfer", size=13, anchor="start")
    return board.scene("Transfer learning", "The weights of a trained model are the start for new data and new labels.")
