"""Searches over parameters that share what their fits have in common."""

from .c_curve import CPath, c_path
from .left_out import LeaveOneOut, leave_one_out
from .quantile_svr_cv import QuantileSVRCV
from .search import SharedGridSearchCV
from .svc_cv import SVCCV
from .svr_cv import SVRCV

__all__ = [
    "SVCCV",
    "SVRCV",
    "CPath",
    "LeaveOneOut",
    "QuantileSVRCV",
    "SharedGridSearchCV",
    "c_path",
    "leave_one_out",
]
