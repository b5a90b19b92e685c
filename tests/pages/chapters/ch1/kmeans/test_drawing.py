"""The drawings of the page ch1/kmeans: numbers by hand, and what the notes say of them."""

from lamina.drawing.scene import Path
from lamina.pages.chapters.ch1.kmeans._drawing import clusters


def test_clusters_tie_every_point_to_its_centroid():
    points, centroids = [[0.0, 0.0], [2.0, 1.0], [2.0, 2.0]], [[0.5, 0.0], [2.0, 0.0]]
    before, after = (clusters(points, labels, centroids) for labels in (None, [0, 1, 1]))
    ties = [
        sum(isinstance(shape, Path) and shape.stroke.color.endswith("!35") for shape in scene.shapes)
        for scene in (before, after)
    ]
    assert ties == [0, 3]
