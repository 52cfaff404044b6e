"""Come here for the printed numbers of Table 2 of Lin and Reimherr: distances of private to sample means.

Its columns are printed in the order FRL, ICLP-AR, ICLP-QR, Bernstein, but hold FRL, Bernstein, ICLP-AR, ICLP-QR, which
is how they stand here. Its DTI rows are printed as epsilon 2 to 7 and are 1/8 to 4; "40.3801" is 0.3801.
"""

from __future__ import annotations

EPSILONS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
MECHANISMS = ("FRL", "Bernstein", "ICLP-AR", "ICLP-QR")

Rows = tuple[tuple[float, float, float, float], ...]  # one for each epsilon, in the order of MECHANISMS

PRINTED: dict[tuple[str, str], Rows] = {
    ("electricity", "Matérn 3/2"): (
        (0.2828, 2.2110, 3.9110, 1.3726),
        (0.1731, 0.6140, 1.0391, 0.3459),
        (0.1453, 0.2117, 0.3415, 0.0895),
        (0.1383, 0.1106, 0.1649, 0.0241),
        (0.1366, 0.0858, 0.1204, 0.0080),
        (0.1362, 0.0793, 0.1089, 0.0039),
    ),
    ("electricity", "Matérn 5/2"): (
        (0.2805, 2.2279, 4.1614, 1.4261),
        (0.1703, 0.6053, 1.1168, 0.3468),
        (0.1427, 0.2092, 0.3497, 0.0920),
        (0.1360, 0.1109, 0.1639, 0.0251),
        (0.1342, 0.0857, 0.1164, 0.0089),
        (0.1338, 0.0794, 0.1044, 0.0048),
    ),
    ("DTI", "Matérn 3/2"): (
        (0.6305, 6.2473, 4.4245, 3.1996),
        (0.4418, 1.6122, 1.2691, 0.8039),
        (0.3952, 0.4929, 0.4701, 0.2040),
        (0.3836, 0.2080, 0.2747, 0.0555),
        (0.3809, 0.1361, 0.2265, 0.0186),
        (0.3801, 0.1187, 0.2143, 0.0094),
    ),
    ("DTI", "Matérn 5/2"): (
        (0.6303, 6.2155, 4.7453, 3.0841),
        (0.4437, 1.6275, 1.3049, 0.7820),
        (0.3974, 0.4907, 0.4793, 0.2028),
        (0.3859, 0.2073, 0.2748, 0.0581),
        (0.3830, 0.1366, 0.2231, 0.0216),
        (0.3823, 0.1187, 0.2102, 0.0126),
    ),
}
