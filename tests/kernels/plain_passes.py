"""The four passes of `norm_triton` in torch, for every device and dtype: the formulas at the top of `kernels.norm`.

They stand in for the kernels where there is no GPU, so that the operation around them is tested.
"""

import torch


def statistics(inputs, running, momentum, eps):
    exact = inputs.to(_accumulator(inputs))
    variance, mean = torch.var_mean(exact, (0, 2, 3), correction=0)
    if running is not None:
        values = inputs.numel() // inputs.shape[1]
        running[0].mul_(1 - momentum).add_(mean, alpha=momentum)
        running[1].mul_(1 - momentum).add_(variance, alpha=momentum * values / (values - 1))
        running[2].add_(1)
    return mean, (variance + eps).rsqrt()


def apply(inputs, mean, rstd, weight, bias, residual, relu):
    z = (inputs - _spread(mean)) * _spread(rstd * weight) + _spread(bias)
    z = z if residual is None else z + residual
    return (z.relu() if relu else z).to(inputs.dtype)


def reduce(gradient, inputs, outputs, mean, rstd, weight, bias, relu):
    masked = gradient
    if relu:
        signs = apply(inputs, mean, rstd, weight, bias, None, False) if outputs is None else outputs
        masked = gradient.where(signs > 0, 0)
    g = masked.to(_accumulator(inputs))
    of_weight = (g * (inputs - _spread(mean))).sum((0, 2, 3)) * rstd
    return g.sum((0, 2, 3)), of_weight, gradient if outputs is None else masked


def input_gradient(gradient, inputs, skip, mean, rstd, weight, bias, bias_gradient, weight_gradient, relu):
    centered, values = inputs - _spread(mean), inputs.numel() // inputs.shape[1]
    g = gradient
    if relu:
        g = gradient.where(centered * _spread(rstd * weight) + _spread(bias) > 0, 0)
    of_inputs = g - _spread(bias_gradient / values) - centered * _spread(rstd * weight_gradient / values)
    of_inputs = of_inputs * _spread(rstd * weight)
    return (of_inputs if skip is None else of_inputs + skip).to(inputs.dtype)


def _spread(values):
    return values.reshape(1, -1, 1, 1)


def _accumulator(inputs):
    return torch.float64 if inputs.dtype == torch.float64 else torch.float32
