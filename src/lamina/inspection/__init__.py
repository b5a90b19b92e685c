"""Looking inside networks: what every layer costs, what it sees, and how signals and gradients pass through it."""

from lamina.inspection._example import random_batch
from lamina.inspection._probe import shares
from lamina.inspection.activations import feature_maps, kernels
from lamina.inspection.attribution import class_map, input_gradient, last_maps, word_contributions
from lamina.inspection.flow_observer import GradientFlowObserver
from lamina.inspection.gradient_field import autograd_field, effective_field, field_hull
from lamina.inspection.gradient_flow import Flow, gradient_flow
from lamina.inspection.jacobian import jacobians
from lamina.inspection.receptive_field import ReceptiveField, ReceptiveFields, receptive_field
from lamina.inspection.sensitivity import gates, sensitivity
from lamina.inspection.summary import Summary, summary

__all__ = [
    "Flow",
    "GradientFlowObserver",
    "ReceptiveField",
    "ReceptiveFields",
    "Summary",
    "autograd_field",
    "class_map",
    "effective_field",
    "feature_maps",
    "field_hull",
    "gates",
    "gradient_flow",
    "input_gradient",
    "jacobians",
    "kernels",
    "last_maps",
    "random_batch",
    "receptive_field",
    "sensitivity",
    "shares",
    "summary",
    "word_contributions",
]
