r"""Runs of tokens with noise: common noise of random layers, and noises of their own.

On ℝᵈ a step of Euler and Maruyama is :math:`X^+ = X + b\,h + \sqrt h\,\xi`. On the sphere it is

.. math:: X^+ = \frac{X + qv}{|X + qv|}, \quad q = 1 + \tfrac13|v|^2, \qquad v = P_X(b\,h + \sqrt h\,\xi),
          \quad \xi \sim N(0, C),

where C = κ(1)I + BBᵀ is the covariance of what the token receives. (With q the token arrives where the great
circle along v is after the length |v|, up to :math:`|v|^5`; q = 1 is consistent, too, and has a larger bias.)
Since v ⟂ X,

.. math:: X^+ = X + v - \tfrac12|v|^2X + O(|v|^3), \qquad E[\,|v|^2\,] = h\operatorname{tr}(P_XC) + O(h^2):

the retraction itself makes the drift :math:`-\tfrac12\operatorname{tr}(P_XC)X\,dt`, which for C = κ(1)I is
:math:`-\tfrac12\kappa(1)(d-1)X\,dt`, and what |v|² differs from its mean by is a martingale of size h
per step, which does not count in the limit; the third-order terms have mean O(h²), because ξ is symmetric and
v ⟂ X. The scheme is that of Euler and Maruyama for the equation of Itô

.. math:: dX^i = \bigl(P_{X^i}\Gamma(X^i) - \tfrac12\operatorname{tr}(P_{X^i}C)X^i\bigr)dt
          + P_{X^i}\,dW(X^i) + P_{X^i}B\,dB_i

up to terms of that size: strong order 1/2, weak order 1. It needs the covariance of ξ at the tokens and no
derivative of a root of it; for isotropic C the equation is the one of Stratonovich with the same field,
since the covariance depends on ⟨x, y⟩ alone. A root L(X) of the covariance matrix as the diffusion of a
Stratonovich scheme is another equation, whose drift depends on the root that was chosen.

``"heun"`` is Stratonovich: both stages see *one realisation* of the field (weak order 1; strong order 1/2,
and 1 where the noise commutes). It is drawn as a layer of finite width, whose covariance is exact, or as
harmonics up to a degree. Tokens that have merged receive the same noise: the factor of their singular
covariance has columns of zeros for them, and nothing is added to it.

References
----------
ABGSR26; Kloeden, Platen, *Numerical Solution of Stochastic Differential Equations*, chapters 10, 11 and 14.
"""
