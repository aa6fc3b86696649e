"""
A tuned model, and what each row is worth
=========================================

`SVCCV` tries a grid of C and gamma whose fits share their kernel values. Then
leave-one-out says, exactly and without another fit, which rows were memorised.
"""

# %%
# The scores of the grid. ``history_`` has its stages: the grid, perhaps a wider one,
# and a finer one around the winner.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from widemargin import SVC, SVCCV, leave_one_out
from widemargin.display import GridDisplay, LeaveOneOutDisplay

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
tuned = SVCCV(Cs=np.geomspace(0.1, 1000, 8), gammas=np.geomspace(1e-3, 0.3, 8)).fit(
    X, y
)
for record in tuned.history_:
    print(
        f"{record['stage']}: {record['settings']} settings in {record['seconds']:.2f} s"
    )
print(f"C={tuned.C_:.3g}, gamma={tuned.gamma_:.2g}: {tuned.best_score_:.3f}")

figure, axis = plt.subplots(figsize=(7, 4.6), layout="constrained")
settings = tuned.cv_results_["params"][:64]
Cs = sorted({setting["C"] for setting in settings})
gammas = sorted({setting["gamma"] for setting in settings})
scores = tuned.cv_results_["mean_test_score"][:64].reshape(8, 8)
names = [[f"{float(f'{value:.1g}'):g}" for value in row] for row in (gammas, Cs)]
GridDisplay(scores, *names, "gamma", "C", quantity="accuracy").plot(ax=axis)
plt.show()

# %%
# Every row by the model of all others. The most influential rows are those without
# which most answers change.
model = SVC(C=tuned.C_, gamma=tuned.gamma_, keep_rows=True).fit(X, y)
found = leave_one_out(model)
print(f"leave-one-out error {found.error:.3f}, {found.removed} rows removed")
print("most influential rows:", found.most_influential(5))
figure, axis = plt.subplots(figsize=(6, 4.2), layout="constrained")
LeaveOneOutDisplay(found).plot(ax=axis)
plt.show()
