"""Pictures of models and of what happened while they were fitted.

Each class follows scikit-learn's Display convention: `from_estimator` computes,
``plot(ax=...)`` draws and returns the display, whose attributes keep the numbers.
"""

from .band import BandDisplay
from .c_curve_steps import CPathDisplay
from .comparison import ComparisonDisplay
from .cost_table import CostDisplay
from .history import HistoryDisplay
from .images import ImageDisplay
from .left_out_rows import LeaveOneOutDisplay
from .margin import MarginDisplay
from .privacy import PrivacyDisplay
from .table import GridDisplay

__all__ = [
    "BandDisplay",
    "CPathDisplay",
    "ComparisonDisplay",
    "CostDisplay",
    "GridDisplay",
    "HistoryDisplay",
    "ImageDisplay",
    "LeaveOneOutDisplay",
    "MarginDisplay",
    "PrivacyDisplay",
]
