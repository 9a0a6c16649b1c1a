"""Files named after packages that are not installed are left out: their examples need them."""

from importlib.util import find_spec

EXTRAS = {"anywidget": "src/tanager/anywidget.py", "dask": "src/tanager/dask.py", "pyspark": "src/tanager/spark"}
collect_ignore = [path for package, path in EXTRAS.items() if find_spec(package) is None]
