"""Common noise of random layers: covariance, exponents, and laws of pairs, as numbers with proved errors."""
