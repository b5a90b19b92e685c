import torch

from lamina.architectures._sequences import RecurrentConfig, lengths_from, make_dropouts, make_encoding, pool_states


def test_dropouts_of_a_network_have_places_of_their_own():
    """Two with the same place would drop the same units."""
    config = RecurrentConfig(inputs=3, outputs=1, input_dropout=0.5, output_dropout=0.5, word_dropout=0.5)
    before, after = make_dropouts(config, seed=0)
    assert [part.place for part in (*before, after)] == [1002, 1000, 1001]
    assert before[0].seed == before[1].seed == after.seed


def test_pooling_leaves_out_what_lies_behind_the_end():
    states = torch.tensor([[[1.0], [3.0], [9.0]]])
    assert pool_states(states, [2], "mean").tolist() == [[2.0]] and pool_states(states, [2], "max").tolist() == [[3.0]]
    for pooling in ("mean", "max"):
        assert pool_states(torch.ones(1, 2, 3), torch.tensor([0]), pooling).tolist() == [[0.0] * 3]


def test_lengths_are_counted_where_they_are_not_given():
    words = torch.tensor([[5, 7, 0], [4, 0, 0]])
    assert lengths_from(words, 0, None).tolist() == [2, 1]
    assert lengths_from(words[:, None], 0, None).tolist() == [[2], [1]]  # of a population of one
    assert lengths_from(words, 0, [3, 3]) == [3, 3] and lengths_from(words, None, None) is None


def test_encodings_say_how_long_their_vectors_are():
    assert [make_encoding(100, embedding, seed=0)[1] for embedding in (None, "one-hot", 8)] == [100, 100, 8]
