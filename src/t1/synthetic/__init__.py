"""Tables drawn from a prior over time series: shared factors, mixed into columns, measured by sensors.

    factors.py   how a quantity moves over time: one function per kind, registered in FACTORS
    sensors.py   how a column records it: one function per kind, registered in SENSORS
    table.py     `draw_table`: some factors, mixed into columns that depend on each other

The pretrained T1 learns from such tables beside real ones; they also serve for tests. Each kind has a
picture in docs/synthetic.md.
"""

from t1.synthetic.factors import FACTORS
from t1.synthetic.sensors import SENSORS
from t1.synthetic.table import SyntheticTable, draw_table

__all__ = ["FACTORS", "SENSORS", "SyntheticTable", "draw_table"]
