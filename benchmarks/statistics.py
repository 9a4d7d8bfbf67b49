"""Metrics, tests and intervals against the field's own and against simulated truth.

usage: statistics.py [--simulations 2000]

Metrics equal ir-measures; McNemar, Benjamini-Hochberg and Cochran's Q equal statsmodels, Friedman
equals scipy; the cluster bootstrap covers the truth of simulated questions, and no test finds more
than it may where nothing is to be found. What the checks are is in `statistical_checks.py`: this
folder is on the path of every benchmark, and where one of them, or a library it loads, imports
`statistics`, it gets the standard library's.
"""

import sys

if __name__ == "__main__":
    from statistical_checks import main

    main()
else:
    import sysconfig
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    spec = PathFinder.find_spec(__name__, [sysconfig.get_path("stdlib")])
    assert spec is not None
    assert spec.loader is not None
    sys.modules[__name__] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules[__name__])
