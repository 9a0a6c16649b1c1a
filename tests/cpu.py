"""The instruction sets that tests of kernels go through."""

from tanager import _kernels


def cpu_levels():
    """Those that this processor has, the plain one first."""
    levels = ["plain"]
    features = set(_kernels.cpu_features())
    if "avx2" in features:
        levels.append("avx2")
    if features >= {"avx512f", "avx512bw", "avx512vl", "avx512vbmi2", "avx512vpopcntdq"}:
        levels.append("avx512")
    return levels
