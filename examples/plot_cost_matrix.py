"""
=================================================
Three classes: what each mistake costs, by matrix
=================================================

The illness of 442 patients will progress slowly, middling or fast. To be wrong by one
grade costs 1, by two grades 10. The matrix is symmetric: every pair of classes weighs
both mistakes alike, so that weights of the two classes of a pair could not express it.
`CostSensitiveSVC` trains each pair on the patients of the third class too, who say
which of the two answers is the lesser mistake for them.
"""

# %%
# The costs, and the models beside it
# -----------------------------------
# `CostReport` cross-validates the model, and beside it the same SVM without costs,
# the least expected cost by that SVM's calibrated probabilities, and always the same
# answer.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import CostReport, CostSensitiveSVC
from widemargin.display import ComparisonDisplay, CostDisplay

X, progress = load_diabetes(return_X_y=True)
y = np.digitize(progress, np.percentile(progress, [33, 67]))
costs = [[0, 1, 10], [1, 0, 1], [10, 1, 0]]
model = make_pipeline(StandardScaler(), CostSensitiveSVC(cost_matrix=costs))
report = CostReport.from_estimator(model, X, y)
print(report)

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
CostDisplay(report).plot(ax=axes[0])
ComparisonDisplay(
    list(report.costs),
    list(report.costs.values()),
    quantity="mean cost of a held-out patient",
    emphasis=0,
).plot(ax=axes[1])

# %%
# Costs that differ from patient to patient
# -----------------------------------------
# Say that a mistake costs more the younger the patient is. Costs by row are an array
# with a column for each class, and take the same way through the pairs of classes.
age = X[:, 0]
price = 1 + (age.max() - age) / np.ptp(age)
by_row = np.array(costs)[y] * price[:, None]
own = CostSensitiveSVC().fit(StandardScaler().fit_transform(X), y, sample_costs=by_row)
print(f"{own.support_.size} support vectors, dual_coef_ {own.dual_coef_.shape}")
print(f"KKT violation at most {max(c.kkt_violation for c in own.certificate_):.0e}")
plt.show()
