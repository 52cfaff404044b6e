"""Make the bundled demonstration data: simulated daily load curves, several days for each household.

    python scripts/make_demo_data.py

Nothing in it is real. Two peaks of household-specific size and hour on a base load, days that vary around them, a few
gaps as meters have them; watts in half hours, rounded to whole numbers.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HOUSEHOLDS = 2500
TARGET = Path(__file__).parents[1] / "src" / "dpfda" / "cli" / "demo_load_curves.parquet"


def simulate(seed: int = 20) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hours (48,), household of each row (rows,), watts (rows, 48) with NaN for gaps."""
    rng = np.random.default_rng(seed)
    hours = np.arange(48) / 2
    household = np.repeat(np.arange(1, HOUSEHOLDS + 1), rng.integers(1, 6, HOUSEHOLDS))
    size = rng.lognormal(0.0, 0.35, HOUSEHOLDS)[household - 1]
    morning, evening = (rng.normal(hour, 0.8, HOUSEHOLDS)[household - 1] for hour in (7.5, 19.0))

    def peak(hour: np.ndarray, width: float) -> np.ndarray:
        away = np.abs(hours - hour[:, None])
        return np.exp(-0.5 * (np.minimum(away, 24 - away) / width) ** 2)

    days = rng.lognormal(0.0, 0.15, (len(household), 3))
    watts = 160 * days[:, :1] + 260 * days[:, 1:2] * peak(morning, 1.2) + 480 * days[:, 2:] * peak(evening, 2.3)
    watts = size[:, None] * watts * rng.gamma(25, 1 / 25, watts.shape)
    for row in rng.choice(len(household), len(household) // 50, replace=False):
        start = rng.integers(0, 44)
        watts[row, start : start + rng.integers(1, 5)] = np.nan
    return hours, household, np.rint(watts)


def main() -> None:
    hours, household, watts = simulate()
    columns = {"household": pa.array(household.astype(np.int16))}
    for hour, column in zip(hours, watts.T, strict=True):
        columns[f"t{hour:g}"] = pa.array(np.nan_to_num(column).astype(np.int16), mask=np.isnan(column), type=pa.int16())
    pq.write_table(pa.table(columns), TARGET, compression="zstd", compression_level=19)
    print(f"{TARGET}: {len(household)} days of {HOUSEHOLDS} households, {TARGET.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
