"""Attributes that change all at once: no error, Ctrl-C or thread sees half a model."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Self

import numpy as np


class WholeState:
    """An estimator whose attributes are replaced together.

    A fit or an update works on a :meth:`_shadow`, and :meth:`_replaced_by` swaps the
    whole dictionary of attributes in one assignment: before it, whatever goes wrong
    leaves the estimator as it was. Nothing writes into a dictionary that has been
    swapped in, so a prediction that reads :meth:`_at_once` has one model from beginning
    to end, also while another thread updates the estimator.
    """

    random_state: Any

    def _shadow(self) -> Self:
        """Return a copy to work on: own attributes, own random numbers."""
        shadow = object.__new__(type(self))
        shadow.__dict__.update(self.__dict__)
        shadow.random_state = deepcopy(self.random_state)  # drawing from it changes it
        return shadow

    def _replaced_by(self, shadow: Self) -> Self:
        """Take over the attributes of a shadow, and return this estimator."""
        own, drawn = self.random_state, shadow.random_state
        shadow.random_state = own  # a parameter stays the object that was given
        self.__dict__ = shadow.__dict__  # one assignment: Ctrl-C cannot split it
        if isinstance(own, np.random.RandomState):
            own.set_state(drawn.get_state())
        return self

    def _at_once(self) -> Self:
        """Return the estimator as it is now; a later replacement does not reach it."""
        present = object.__new__(type(self))
        present.__dict__ = self.__dict__
        return present
