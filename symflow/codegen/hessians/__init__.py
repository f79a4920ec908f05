"""Second derivatives of energies of n tokens as compiled functions, derived from the energy's own text."""

from symflow.codegen.hessians.kernel import HessianKernel as HessianKernel
from symflow.codegen.hessians.kernel import Newton as Newton
from symflow.codegen.hessians.kernel import compile_hessian as compile_hessian
