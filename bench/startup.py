"""Time to import the package, beside numpy alone."""

from __future__ import annotations

import subprocess
import sys

from rich.console import Console


def run(console: Console) -> None:
    """Print the least of ten times for each."""
    code = "import time; s = time.perf_counter(); import {}; print(time.perf_counter() - s)"

    def least(name: str) -> float:
        command = [sys.executable, "-c", code.format(name)]
        return min(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(10))

    ours, numpy = least("dpfda"), least("numpy")
    console.print(f"import dpfda: {ours:.3f} s (limit 0.3 s, ratio {ours / 0.3:.2f}); import numpy: {numpy:.3f} s")
