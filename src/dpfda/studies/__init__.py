"""Simulated curves, mechanisms compared, cross-validation. Nothing here is private.

The files:

    simulators.py  simulated curves of the papers, and paths of noise processes
    comparison.py  mechanisms on the same simulated curves
    published.py   the mechanisms as they were published, with errors in closed form
    validation.py  cross-validation and private cross-validation
    components.py  measures of principal components
    outcome.py     tables and figures of a study, stamped as not private
    release_density.py  the density of a Gaussian release against its noise
"""
