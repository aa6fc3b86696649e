// How a path leaves a vertex where many rows tie (mathematics.md 3.2, corner case 4).
#include <algorithm>
#include <cmath>

#include "path.hpp"

namespace widemargin {

namespace {

constexpr double perturbation = 1e-3;  // of the linear term and of the box width
constexpr double near = 1e-7;          // a row this close to an event takes part in the tie

}  // namespace

// At a vertex where many rows tie, steps of length zero may go round in
// circles. Moving the problem itself apart at random, in the directions in which the
// present point stays its solution, makes progress certain; the perturbation is taken
// back exactly by a path of its own (schedule_return).
void Path::perturb() {
  ++report_.perturbations;
  owed_ = true;
  std::uniform_real_distribution<double> uniform(0.5, 1.0);
  const double unit = perturbation * now_.linear_scale;
  for (std::size_t i = 0; i < now_.rows; ++i) {
    const Side side = now_.side[i];
    if (side == Side::Pinned) continue;
    if (side == Side::Margin) {
      const double width =
          std::max(now_.upper_to[i] - now_.lower_to[i], now_.upper[i] - now_.lower[i]);
      if (now_.upper[i] - now_.beta[i] <= near * width) {
        const double grown = perturbation * width * uniform(random_);
        now_.upper[i] += grown;
        now_.upper_to[i] += grown;
        upper_shift_[i] += grown;
      }
      if (now_.beta[i] - now_.lower[i] <= near * width) {
        const double grown = perturbation * width * uniform(random_);
        now_.lower[i] -= grown;
        now_.lower_to[i] -= grown;
        lower_shift_[i] -= grown;
      }
    } else if (std::abs(now_.gradient[i]) <= near * now_.linear_scale) {
      const double moved = (side == Side::Lower ? unit : -unit) * uniform(random_);
      now_.gradient[i] += moved;
      linear_shift_[i] -= moved;
    }
  }
}

// After a perturbed path: the next phase takes every perturbation back.
void Path::schedule_return() {
  owed_ = false;
  now_.total_rate = 0;
  for (std::size_t i = 0; i < now_.rows; ++i) {
    now_.lower_to[i] -= lower_shift_[i];
    now_.upper_to[i] -= upper_shift_[i];
    lower_rate_[i] = now_.lower_to[i] - now_.lower[i];
    upper_rate_[i] = now_.upper_to[i] - now_.upper[i];
    now_.linear_rate[i] = -linear_shift_[i];
    lower_shift_[i] = upper_shift_[i] = linear_shift_[i] = 0;
  }
}

}  // namespace widemargin
