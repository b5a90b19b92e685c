from lamina.data._progress import tell, watched


def test_the_innermost_watcher_is_told_and_the_outer_one_comes_back():
    outer, inner = [], []
    tell("reading", 1, 3)
    with watched(lambda *event: outer.append(event)):
        with watched(lambda *event: inner.append(event)):
            tell("reading", 2, 3)
        tell("reading", 3, 3)
    tell("reading", 3, 3)
    assert inner == [("reading", 2, 3)] and outer == [("reading", 3, 3)]
