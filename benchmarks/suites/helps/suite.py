"""The data sets of the suite, their two halves, and the splits of each.

Defaults are chosen on the half "choose" and only checked on the half "check". The rule
was fixed before anything was run: the sets in alphabetical order, two-class and
multiclass apart, in turn. Of several files of one source the suite has one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets as bundled
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from widemargin_papers.harness.datasets import available, load_libsvm
from widemargin_papers.harness.missing_runs import Measurement
from widemargin_papers.harness.results import Record

Vector = NDArray[np.float64]
Labels = NDArray[np.intp]

BINARY_FILES = (
    "a9a",
    "abalone19",
    "australian_scale",
    "banknote",
    "breast-cancer_scale",
    "cod-rna",
    "covtype.binary",
    "diabetes_scale",
    "fourclass_scale",
    "german.numer_scale",
    "haberman",
    "heart_scale",
    "hypothyroid",
    "ijcnn1",
    "ionosphere_scale",
    "magic04",
    "mammography",
    "page-blocks0",
    "phoneme",
    "shuttle-c0-vs-c4",
    "sonar_scale",
    "splice_scale",
    "svmguide3",
    "vote",
    "w5a",
    "winequality-red-4",
    "yeast4",
)
MULTICLASS_FILES = ("mnist.t", "segment7", "wheat-seeds")
BUNDLED: dict[str, Callable[..., tuple[Vector, Labels]]] = {
    "breast_cancer": bundled.load_breast_cancer,
    "digits": bundled.load_digits,
    "iris": bundled.load_iris,
    "wine": bundled.load_wine,
}
HALVES = ("choose", "check")
MOST_ROWS = 3000  # of a data set
MOST_TRAINING_ROWS = 1000
MOST_TRAINING_VALUES = 300_000  # rows times features
TRAINING_SHARE = 0.6
SPLITS = 10


@dataclass(frozen=True)
class DataSet:
    """A named data set and the half of the suite it belongs to."""

    name: str
    multiclass: bool
    half: str

    @property
    def there(self) -> bool:
        """Whether its file is there."""
        return self.name in BUNDLED or available(self.name)


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test rows, features standardised by the training rows.

    Labels are 0, 1, ..., and those of the training rows are right.
    """

    X: Vector
    y: Labels
    X_test: Vector
    y_test: Labels


def _in_turn(names: tuple[str, ...], multiclass: bool) -> list[DataSet]:
    return [
        DataSet(name, multiclass, HALVES[place % 2])
        for place, name in enumerate(sorted(names))
    ]


SUITE: tuple[DataSet, ...] = (
    *_in_turn((*BINARY_FILES, "breast_cancer"), multiclass=False),
    *_in_turn((*MULTICLASS_FILES, "digits", "iris", "wine"), multiclass=True),
)


Measure = Callable[[DataSet, int], Record]


def measurements(
    measure: Measure, splits: int = SPLITS, **wanted: object
) -> Iterator[Measurement]:
    """Yield the data sets that are there, split by split.

    A campaign that was stopped has then seen every set about equally often. Only the
    sets whose attributes are as `wanted`, such as ``half="choose"``.
    """
    sets = [
        data for data in SUITE if data.there and wanted.items() <= asdict(data).items()
    ]
    for number, data in product(range(splits), sets):
        name = f"{data.half}: {data.name}, split {number}"
        yield name, partial(_record, measure, data, number)


def _record(measure: Measure, data: DataSet, number: int) -> Record:
    """Measure a split; the record says of which set and half it is."""
    split_of = {"set": data.name, "half": data.half, "split": number}
    return split_of | measure(data, number)


def split(data: DataSet, number: int) -> Split:
    """Return one of the fixed splits, drawn by class.

    60 % of at most 3,000 rows are for training, at most 1,000 rows and 300,000 values;
    the others are for the test.
    """
    X, y = _load(data.name)
    draw = partial(train_test_split, random_state=number)
    if len(y) > MOST_ROWS:
        rows, _ = draw(np.arange(len(y)), train_size=MOST_ROWS, stratify=y)
        X, y = X[rows], y[rows]
    most = min(MOST_TRAINING_ROWS, MOST_TRAINING_VALUES // X.shape[1])
    size = min(round(TRAINING_SHARE * len(y)), most)
    dense = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
    train, test, y_train, y_test = draw(dense, y, train_size=size, stratify=y)
    scaler = StandardScaler().fit(train)
    return Split(scaler.transform(train), y_train, scaler.transform(test), y_test)


def _load(name: str) -> tuple[Vector, Labels]:
    if name in BUNDLED:
        return BUNDLED[name](return_X_y=True)
    X, y = load_libsvm(name)
    _, labels = np.unique(y, return_inverse=True)
    return X, labels
