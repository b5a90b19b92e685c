"""Stacked rules of whole networks: their `forward` with one axis more, made of the stacked rules of their parts."""

from typing import Any

import torch

from lamina._types import Tensor
from lamina.architectures._dense import as_vectors
from lamina.architectures.alexnet import AlexNet
from lamina.architectures.cifar_resnet import CifarResNet
from lamina.architectures.fnn import FNN
from lamina.architectures.lenet import LeNet5, LeNet5Original
from lamina.architectures.logic import LogicGate
from lamina.architectures.ode import NeuralODE
from lamina.architectures.perceptron import Perceptron
from lamina.architectures.recurrent import Lengths, ManyToMany, ManyToOne, OneToMany, lengths_from, pool_states
from lamina.architectures.resnet import ResNet
from lamina.architectures.seq2seq import EncoderDecoder
from lamina.functional.activations import get_activation, relu
from lamina.functional.dense import affine
from lamina.functional.ode import integrate, interpolate
from lamina.functional.recurrent import State, hidden
from lamina.layers import Dropout
from lamina.populations.dense import CHAINED, dense_chain, stacked_affine
from lamina.populations.units import spread


def perceptron(net: Perceptron, inputs: Tensor) -> Tensor:
    """Compute K perceptrons."""
    return get_activation(net.config.activation)(net.affine(as_vectors(inputs, net.config.inputs)))


def fnn(net: FNN, inputs: Tensor) -> Tensor:
    """Compute K feedforward networks; plain ones, affine map and activation alone, as one chain."""
    y = as_vectors(inputs, net.config.inputs)
    if not _is_chain(net) or torch.is_autocast_enabled(inputs.device.type):
        return net.layers(y)
    parts: Any = [layer.affine for layer in net.layers]
    return dense_chain(y, net.config.activations, [part.weight for part in parts], [part.bias for part in parts])


def _is_chain(net: FNN) -> bool:
    """Say whether a network has nothing between its affine maps but activations that a chain knows."""
    plain = not net.config.batch_norm and not any(isinstance(part, Dropout) for part in net.modules())
    return plain and all(name in CHAINED for name in net.config.activations)


def logic_gate(net: LogicGate, inputs: Tensor) -> Tensor:
    """Compute K gates."""
    return net.network(inputs)


def lenet5(net: LeNet5, inputs: Tensor) -> Tensor:
    """Compute K LeNets."""
    return net.classifier(net.features(inputs))


def lenet5_original(net: LeNet5Original, inputs: Tensor) -> Tensor:
    """Compute K LeNets of 1998: minus the squared distances to the codes."""
    return -net.output(net.body(inputs))


def alexnet(net: AlexNet, inputs: Tensor) -> Tensor:
    """Compute K AlexNets."""
    return net.classifier(net.avgpool(net.features(inputs)).flatten(2))


def resnet(net: ResNet, inputs: Tensor) -> Tensor:
    """Compute K ResNets."""
    y = net.conv1(inputs)
    if net.config.block == "original":
        y = relu(net.bn1(y))
    y = net.layer4(net.layer3(net.layer2(net.layer1(net.maxpool(y)))))
    if net.config.block == "preactivation":
        y = relu(net.bn(y))
    return net.fc(net.avgpool(y).flatten(2))


def cifar_resnet(net: CifarResNet, inputs: Tensor) -> Tensor:
    """Compute K ResNets for small pictures."""
    y = net.conv1(inputs)
    if net.config.block == "original":
        y = relu(net.bn1(y))
    y = net.layer3(net.layer2(net.layer1(y)))
    if net.config.block == "preactivation":
        y = relu(net.bn(y))
    return net.fc(net.avgpool(y).flatten(2))


def neural_ode(net: NeuralODE, inputs: Tensor) -> Tensor:
    """Solve K differential equations by the same equal steps."""
    config, sigma = net.config, get_activation(net.config.activation)
    # Knots first, as `interpolate` wants them.
    weights, biases, end = net.weight.transpose(0, 1), net.bias.transpose(0, 1), config.duration

    def right_hand_side(t: float | Tensor, y: Tensor) -> Tensor:
        return sigma(stacked_affine(y, interpolate(weights, t, end), interpolate(biases, t, end)))

    y = as_vectors(inputs, config.inputs)
    if net.padded:
        y = affine(y, net.padding)
    elif net.projection is not None:
        y = net.projection(y)
    return net.readout(integrate(right_hand_side, y, config.steps, 0.0, config.duration, config.method))


def one_to_many(net: OneToMany, inputs: Tensor, steps: int | None = None) -> Tensor:
    """Write K sequences from one input."""
    config, steps = net.config, net.config.steps if steps is None else steps
    first = net.input_dropout(net.encoding(inputs)).unsqueeze(2)
    if not config.feedback:
        silence = first.new_zeros(*first.shape[:2], steps - 1, first.shape[3])
        return net.output(net.output_dropout(net.recurrent(torch.cat([first, silence], 2))[0]))
    read, state, outputs = first, None, []
    for _ in range(steps):
        states, state = net.recurrent(read, state)
        outputs.append(net.output(net.output_dropout(states)))
        read = outputs[-1] if config.embedding is None else net.encoding(outputs[-1].argmax(-1))
    return torch.cat(outputs, 2)


def many_to_one(net: ManyToOne, inputs: Tensor, lengths: Lengths = None) -> Tensor:
    """Judge a sequence K times."""
    read = net.input_dropout(net.encoding(inputs))
    lengths = lengths_from(inputs, net.config.padding, lengths)
    states, state = net.recurrent(read, lengths=lengths)
    last = torch.cat(hidden(state)[-net.recurrent.directions :].unbind(0), -1)
    if net.config.pooling != "last":
        last = pool_states(states, _of_members(lengths), net.config.pooling)
    return net.output(net.output_dropout(last))


def many_to_many(net: ManyToMany, inputs: Tensor, lengths: Lengths = None) -> Tensor:
    """Answer every step of a sequence K times."""
    read = net.input_dropout(net.encoding(inputs))
    states, _ = net.recurrent(read, None, lengths_from(inputs, net.config.padding, lengths))
    return net.output(net.output_dropout(states))


def encoder_decoder(net: EncoderDecoder, source: Tensor, target_inputs: Tensor, lengths: Lengths = None) -> Tensor:
    """Translate K times, each given the true words before."""
    config = net.config
    read = net.input_dropout(net.source_encoding(source))
    state: State
    lengths = lengths_from(source, config.padding, lengths)
    encoded, state = net.encoder(read, lengths=lengths)
    if config.mode == "notes":
        silence = read.new_zeros(*read.shape[:2], target_inputs.shape[2], net.encoder.input_size)
        return net.output(net.output_dropout(net.encoder(silence, state)[0]))
    state = state if net.bridge is None else net.bridge(state)
    words = net.input_dropout(net.target_encoding(target_inputs))
    members, context = hidden(state).shape[2], None
    if config.context:
        kept = hidden(state)[-1]
        if isinstance(config.context, str) and config.context != "last":
            kept = torch.tanh(net.summary(pool_states(encoded, _of_members(lengths), config.context)))
        context = kept.unsqueeze(2).expand(-1, -1, words.shape[2], -1)
    if context is not None:
        words = torch.cat([spread(words, members), context], -1)
    states = net.decoder(words, state)[0]
    outputs = net.output(net.output_dropout(states if context is None else torch.cat([states, context], -1)))
    words_of: Any = net.target_encoding
    return stacked_affine(outputs, words_of.weight) if config.tied else outputs


def _of_members(lengths: Lengths) -> Tensor | None:
    """Give lengths an axis for the members, if they lack it."""
    if lengths is None:
        return None
    counts = torch.as_tensor(lengths)
    return counts[:, None] if counts.ndim == 1 else counts
