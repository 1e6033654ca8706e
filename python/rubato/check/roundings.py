"""How the plain script's own rounding is varied, to see how much it matters.

A shared call adds up in another order than a whole one. So the plain script is run again with
older kernels, which add up in other orders too, and with gradients that are off by a few units in
their last place. What these runs differ by from the plain one is what a shared run may differ by.
"""

# Kernels of an older processor: other blocks, no fused multiply-add, other sums.
OLDER_KERNELS = {"OPENBLAS_CORETYPE": "Sandybridge", "DNNL_MAX_CPU_ISA": "AVX",
                 "ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}
