"""Come here for the printed numbers of Tables 1 and 2 of Awan et al. (2019): private components of growth and scans."""

from __future__ import annotations

EPSILONS = (0.125, 0.25, 0.5, 1.0, 2.0)
COMPONENTS = (1, 2, 3)
REPETITIONS = 100  # every printed value is a mean over so many draws
EXPLAINED = {"Berkeley": (0.82, 0.95, 0.98), "DTI": (0.77, 0.86, 0.93)}  # by 1, 2, 3 components without privacy

Cell = tuple[float, float]  # mean, and its standard error as printed in parentheses
Rows = tuple[tuple[Cell, Cell, Cell], ...]  # one for each epsilon, in the order of COMPONENTS

# Table 1, ratio of variance explained by private and non-private components.
VARIANCE_RATIO: dict[str, Rows] = {
    "Berkeley": (
        ((0.264, 0.024), (0.494, 0.023), (0.672, 0.020)),
        ((0.343, 0.024), (0.523, 0.023), (0.681, 0.020)),
        ((0.408, 0.025), (0.523, 0.022), (0.729, 0.019)),
        ((0.550, 0.025), (0.680, 0.018), (0.775, 0.015)),
        ((0.743, 0.018), (0.787, 0.012), (0.855, 0.010)),
    ),
    "DTI": (
        ((0.372, 0.025), (0.569, 0.024), (0.727, 0.018)),
        ((0.497, 0.026), (0.676, 0.021), (0.811, 0.011)),
        ((0.726, 0.020), (0.812, 0.014), (0.876, 0.009)),
        ((0.879, 0.009), (0.885, 0.007), (0.910, 0.005)),
        ((0.933, 0.006), (0.928, 0.004), (0.939, 0.003)),
    ),
}

# Table 2, half the squared Frobenius distance of the projections.
SUBSPACE_DISTANCE: dict[str, Rows] = {
    "Berkeley": (
        ((0.776, 0.025), (1.115, 0.036), (1.100, 0.034)),
        ((0.701, 0.025), (1.046, 0.035), (1.135, 0.030)),
        ((0.633, 0.027), (1.063, 0.033), (1.066, 0.030)),
        ((0.484, 0.027), (0.883, 0.031), (0.962, 0.032)),
        ((0.275, 0.020), (0.770, 0.032), (0.938, 0.035)),
    ),
    "DTI": (
        ((0.679, 0.026), (1.098, 0.035), (1.074, 0.030)),
        ((0.544, 0.029), (0.976, 0.027), (1.079, 0.029)),
        ((0.296, 0.021), (0.861, 0.027), (0.982, 0.030)),
        ((0.131, 0.010), (0.770, 0.026), (0.940, 0.035)),
        ((0.073, 0.006), (0.640, 0.030), (0.758, 0.035)),
    ),
}
