"""The section on common noise: derivations, exponents, the law of pairs, paths beside theorems.

============  =========================================================================
`outcome`     the section, from its parts
`layers`      random layers derived, and the table of their exponents
`pairs`       two tokens: paths beside the Fokker–Planck equation
`paths`       ensembles of paths beside what theorems predict
============  =========================================================================
"""
