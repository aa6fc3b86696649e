"""Support vector machines for data as it really is."""

from .certificate import Certificate
from .svc import SVC

__version__ = "0.1.0"

__all__ = [
    "SVC",
    "Certificate",
]
