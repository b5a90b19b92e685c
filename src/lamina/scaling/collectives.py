"""How long ranks take to add up their gradients: messages cost a latency each and their bytes over the bandwidth.

With the latency alpha and the bandwidth beta of a link (Hockney, 1994), every way to sum B bytes over n ranks is a
formula. A message between two ranks takes alpha + B / beta; links of different ranks work at the same time.
"""

import math
from dataclasses import dataclass

from lamina._errors import above, at_least, whole


@dataclass(frozen=True)
class Link:
    """What joins two devices.

    Args:
        latency: the seconds that a message takes beside its bytes.
        bandwidth: the bytes per second that one device sends.
    """

    latency: float
    bandwidth: float

    def __post_init__(self) -> None:
        at_least("latency", self.latency, 0)
        above("bandwidth", self.bandwidth, 0)


def ring(ranks: int, size: float, link: Link) -> float:
    r"""Return the seconds of an all-reduce around a ring.

    $$T = 2 (n - 1) \alpha + 2 \frac{n - 1}{n} \frac{B}{\beta}$$
    with n = `ranks`, B = `size`, alpha and beta of the `link`: n - 1 rounds reduce and scatter, n - 1 rounds gather,
    and each round sends B / n bytes (Patarasuk and Yuan, 2009).

    Args:
        ranks: how many take part.
        size: how many bytes each has.
        link: the slowest link of the ring.

    >>> ring(4, 1e9, Link(latency=0.0, bandwidth=1e9))
    1.5
    """
    whole("ranks", ranks, 1)
    at_least("size", size, 0)
    return 2 * (ranks - 1) * (link.latency + size / ranks / link.bandwidth)


def tree(ranks: int, size: float, link: Link) -> float:
    r"""Return the seconds of an all-reduce along two pipelined binary trees, up and down.

    $$T = 2 \lceil \log_2 n \rceil \alpha + 2 \frac{B}{\beta}$$
    since every rank is an inner node of one tree and a leaf of the other, and sends 2 B bytes in all (Sanders, Speck
    and Träff, 2009; NCCL calls them double binary trees). Zero for one rank.

    Args:
        ranks: how many take part.
        size: how many bytes each has.
        link: the slowest link.

    >>> tree(1024, 1e9, Link(latency=1e-3, bandwidth=1e9))
    2.02
    """
    whole("ranks", ranks, 1)
    at_least("size", size, 0)
    if ranks == 1:
        return 0.0
    return 2 * math.ceil(math.log2(ranks)) * link.latency + 2 * size / link.bandwidth


def nested(ranks: int, size: float, inside: Link, between: Link, per_node: int) -> float:
    r"""Return the seconds of an all-reduce that first adds up within each node, then between nodes.

    Large messages are scattered: the g ranks of a node reduce and scatter, so that each holds B / g bytes; the ranks of
    equal number in the m nodes all-reduce these, all g groups at the same time; then the node gathers. Small ones are
    led: a tree adds up within the node, one rank of each node takes part between them, and the tree passes the sum on.
    $$T = \min\{T_{ring}(g, B) + T(m, B / g),\; T_{tree}(g, B) + T(m, B)\}$$
    where the first term is within a node, and T(m, ·) between nodes is the faster of `ring` and `tree`.

    Args:
        ranks: how many take part; those of a last, smaller node count as a whole node.
        size: how many bytes each has.
        inside: the link between two ranks of a node.
        between: the link of a rank to another node.
        per_node: how many ranks a node has.

    >>> inside, between = Link(0.0, 8e9), Link(0.0, 1e9)
    >>> nested(16, 8e9, inside, between, per_node=8)  # 1.75 s within a node, 1 GB at 1 GB/s between two
    2.75
    """
    whole("per_node", per_node, 1)
    members, nodes = min(ranks, per_node), math.ceil(ranks / per_node)

    def across(part: float) -> float:
        return min(ring(nodes, part, between), tree(nodes, part, between))

    return min(ring(members, size, inside) + across(size / members), tree(members, size, inside) + across(size))


def all_reduce(ranks: int, size: float, inside: Link, between: Link, per_node: int) -> tuple[float, str]:
    """Return the seconds of the fastest all-reduce, and its name: "ring", "tree" or "nested"; "none" for one rank.

    Args:
        ranks: how many take part.
        size: how many bytes each has.
        inside: the link between two ranks of a node.
        between: the link of a rank to another node.
        per_node: how many ranks a node has.

    >>> link = Link(latency=1e-5, bandwidth=1e9)
    >>> all_reduce(2, 1e6, link, link, per_node=2), all_reduce(64, 4.0, link, link, per_node=64)[1]
    ((0.00102, 'ring'), 'tree')
    """
    whole("ranks", ranks, 1)
    whole("per_node", per_node, 1)
    if ranks == 1:
        return 0.0, "none"
    if ranks <= per_node:
        link = inside
    else:
        link = Link(max(inside.latency, between.latency), min(inside.bandwidth, between.bandwidth))
    found = {"ring": ring(ranks, size, link), "tree": tree(ranks, size, link)}
    if ranks > per_node > 1:
        found["nested"] = nested(ranks, size, inside, between, per_node)
    name = min(found, key=lambda key: found[key])
    return found[name], name
