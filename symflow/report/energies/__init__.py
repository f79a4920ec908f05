"""The section on energies: first variations, gradient flows, second variations, Hessians, verdicts.

============  =========================================================================
`outcome`     the section, from its parts
`part`        what a part is; verdicts that are replayed
`structures`  first variations, and which attention is a gradient flow for which metric
`along`       second variations along geodesics
`spheres`     Hessians on spheres, their spectra, critical points
============  =========================================================================
"""
