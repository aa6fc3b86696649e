"""Pictures of models and of what happened while they were fitted.

Each class follows scikit-learn's Display convention: `from_estimator` computes,
``plot(ax=...)`` draws and returns the display, whose attributes keep the numbers.
"""

from widemargin.display.comparison import ComparisonDisplay
from widemargin.display.history import HistoryDisplay
from widemargin.display.images import ImageDisplay
from widemargin.display.margin import MarginDisplay
from widemargin.display.privacy import PrivacyDisplay
from widemargin.display.table import GridDisplay

__all__ = [
    "ComparisonDisplay",
    "GridDisplay",
    "HistoryDisplay",
    "ImageDisplay",
    "MarginDisplay",
    "PrivacyDisplay",
]
