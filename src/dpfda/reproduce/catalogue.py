"""Everything that can be reproduced, by name."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module

from dpfda.arrays import brief
from dpfda.errors import UsageError
from dpfda.studies.tables import Reproduction

# Where each lives, and its title. Modules are loaded when they are asked for: a list needs no numeric library.
HOMES: dict[str, tuple[str, str]] = {
    "awan-figures-1-2-3": ("awan_figures", "Figures 1 to 3 of Awan et al.: private components of simulated curves"),
    "awan-table-1": ("awan_tables", "Table 1 of Awan et al.: variance ratio of private components"),
    "awan-table-2": ("awan_tables", "Table 2 of Awan et al.: subspace distance of private components"),
    "hall-figure-1": ("hall_densities", "Figure 1 of Hall et al.: a density with noise of its own kernel"),
    "hall-figure-2": ("hall_densities", "Figure 2 of Hall et al.: a density with noise of a Sobolev space"),
    "hall-figure-3": ("hall_machine", "Figure 3 of Hall et al.: a kernel machine before and after its noise"),
    "lin-covariance": ("lin_covariance", "Appendix C.1 of Lin and Reimherr: private covariance functions, simulated"),
    "lin-figure-1": ("lin_figures", "Figure 1 of Lin and Reimherr: safe selection against cross-validation"),
    "lin-figure-2": ("lin_figures", "Figure 2 of Lin and Reimherr: errors of the mechanisms against n"),
    "lin-figure-3": ("lin_density", "Figure 3 of Lin and Reimherr: private densities on a line"),
    "lin-figure-4": ("lin_density", "Figure 4 of Lin and Reimherr: private densities in a square"),
    "lin-figure-9": ("mortality", "Figure 9 of Lin and Reimherr: private densities of age at death"),
    "lin-figures-6-7-8": ("lin_figures", "Figures 6 to 8 of Lin and Reimherr: heavy errors, smoother kernel"),
    "lin-regression": ("lin_regression", "Appendix C.2 of Lin and Reimherr: private coefficient functions, simulated"),
    "lin-table-1": ("lin_table_1", "Table 1 of Lin and Reimherr: time for 100 paths of a noise process"),
    "lin-table-2": ("lin_table_2", "Table 2 of Lin and Reimherr, all 96 cells"),
    "lin-table-3": ("mortality", "Table 3 of Lin and Reimherr: private densities of age at death"),
    "mirshani-figure-1": ("mirshani_scenarios", "Figure 1 of Mirshani et al.: simulated curves, varying penalty"),
    "mirshani-figure-4": ("mirshani_scenarios", "Figure 4 of Mirshani et al.: simulated curves, varying kernel"),
    "mirshani-figure-5": ("mirshani_scenarios", "Figure 5 of Mirshani et al.: simulated curves, varying kernel"),
    "mirshani-figure-6": ("mirshani_scenarios", "Figure 6 of Mirshani et al.: simulated curves, varying decay"),
    "mirshani-figure-7": ("mirshani_scenarios", "Figure 7 of Mirshani et al.: simulated curves, varying epsilon"),
    "mirshani-figure-8": ("mirshani_scenarios", "Figure 8 of Mirshani et al.: simulated curves, varying delta"),
    "mirshani-figure-9": ("mirshani_scenarios", "Figure 9 of Mirshani et al.: simulated curves, varying n"),
    "mirshani-figure-10": ("mirshani_scenarios", "Figure 10 of Mirshani et al.: simulated curves, varying mean"),
    "mirshani-figures-2-3-11-12": ("mirshani_scans", "Figures 2, 3, 11, 12 of Mirshani et al.: means of brain scans"),
    "mirshani-table-1": ("mirshani_tables", "Table 1 of Mirshani et al.: ranges by cross-validation, brain scans"),
    "mirshani-table-2": ("mirshani_tables", "Table 2 of Mirshani et al.: private cross-validation, brain scans"),
}


def load(name: str) -> Reproduction:
    """The reproduction of this name."""
    module = import_module(f"dpfda.reproduce.{HOMES[name][0]}")
    several = getattr(module, "REPRODUCTIONS", ())
    (found,) = (made for made in several or (module.REPRODUCTION,) if made.name == name)
    return found  # type: ignore[no-any-return]


def select(word: str) -> tuple[str, ...]:
    """The names that a word stands for: a name, "all", or the beginning of several, e.g. "lin" or "mirshani-figure".

    >>> select("lin-table")
    ('lin-table-1', 'lin-table-2', 'lin-table-3')
    """
    if word in HOMES:
        return (word,)
    begun = tuple(name for name in HOMES if word == "all" or name.startswith(f"{word}-"))
    if not begun:
        near = get_close_matches(word, [*HOMES, *dict.fromkeys(name.split("-")[0] for name in HOMES), "all"], n=3)
        meant = f"Did you mean {' or '.join(near)}? " if near else ""
        raise UsageError(f"Nothing to reproduce is called {brief(word)}. {meant}All names: dpfda reproduce --list.")
    return begun
