"""What the page of a class tells, and what it leaves to scikit-learn."""

import widemargin
import widemargin.display

#: of every scikit-learn estimator, and told there
COMMON = ["__init__", "get_params", "set_params", "get_metadata_routing"]
COMMON += ["set_callbacks"]


def untold_properties():
    """Return by class the properties that its docstring does not describe."""
    found = {}
    for home in (widemargin, widemargin.display):
        for name in home.__all__:
            owner = getattr(home, name)
            if isinstance(owner, type):
                found[f"{home.__name__}.{name}"] = sorted(
                    part
                    for part in dir(owner)
                    if not part.startswith(("_", "predict_"))
                    and isinstance(getattr(owner, part, None), property)
                    and part not in (owner.__doc__ or "")
                )
    return found
