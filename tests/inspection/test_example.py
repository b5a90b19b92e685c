"""Examples for networks: given, from their configuration, or drawn at random."""

import torch
from torch import nn

import lamina
from lamina.inspection._example import evaluating, example_inputs, followed_axes, random_batch, time_first


def test_random_batches_are_seeded_and_have_labels():
    net = lamina.build("many-to-one", inputs=9, outputs=3, embedding=4)
    words, labels = random_batch(net, batch=50, seed=1)
    again, same = random_batch(net, batch=50, seed=1)
    assert torch.equal(words, again) and torch.equal(labels, same)
    assert words.shape == (50, 10) and 0 <= words.min() and words.max() == 8 and set(labels.tolist()) == {0, 1, 2}
    assert random_batch(lamina.build("perceptron", activation="sigmoid"))[1].dtype == torch.float32


def test_examples_have_the_shape_that_a_network_reads():
    assert example_inputs(lamina.build("lenet5"), batch=3)[0].shape == (3, 1, 28, 28)
    assert example_inputs(nn.GRU(3, 4), batch=2)[0].shape == (10, 2, 3)
    assert (time_first(nn.GRU(3, 4)), time_first(nn.GRU(3, 4, batch_first=True))) == (True, False)


def test_followed_are_height_and_width_or_features():
    assert followed_axes(nn.Conv2d(3, 8, 3), torch.zeros(1, 3, 8, 8)) == (2, 3)
    assert followed_axes(nn.Linear(4, 2), torch.zeros(1, 4)) == (1,)


def test_evaluating_gives_each_part_its_own_mode_back():
    net = nn.Sequential(nn.Dropout(), nn.Dropout().eval())
    with evaluating(net):
        assert not net[0].training
    assert [part.training for part in net] == [True, False]
