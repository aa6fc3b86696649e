// How a path leaves a vertex where many rows tie (mathematics 3.2, corner case 4).
#include <algorithm>
#include <cmath>

#include "path/path.hpp"

namespace widemargin {

namespace {

constexpr double kPerturbation = 1e-3;  // of the linear term and of the box width
constexpr double kNear = 1e-7;          // a row this close to an event takes part in the tie
constexpr double kRounding = 1e-12;     // of gradients, per unit of the linear term

}  // namespace

// Calls visit(room, slack, speed, row, leaves, bound) for all rows that go towards an event:
// a margin member towards its (moving) bound, a bound row towards gradient 0.
template <class Visit>
void Path::near_events(Visit visit) const {
  for (const Position k : margin_.positions()) {
    const Size i = margin_[k];
    const double up = margin_rate_[k] - upper_rate_[i];
    const double down = lower_rate_[i] - margin_rate_[k];
    if (up > margin_noise_) visit(now_.upper[i] - now_.beta[i], 0.0, up, i, true, Side::upper);
    if (down > margin_noise_) visit(now_.beta[i] - now_.lower[i], 0.0, down, i, true, Side::lower);
  }
  const double slack = kRounding * now_.linear_scale;
  for (Size k = 0; k < lag_.watched().size(); ++k) {
    const Size i = lag_.watched()[k];
    const double rate = gradient_rate_[k];
    if (now_.side[i] == Side::lower && rate < -gradient_noise_)
      visit(now_.gradient[i], slack, -rate, i, false, Side::lower);
    else if (now_.side[i] == Side::upper && rate > gradient_noise_)
      visit(-now_.gradient[i], slack, rate, i, false, Side::upper);
  }
}

// The next event. Gradients of rows that tie differ by rounding, and the smallest step would
// choose among them at random: of all rows that would be past their event by no more than
// rounding, the steepest is taken (the ratio test of Harris, 1973). Its pivot is the safest,
// and where hundreds tie it leads out of the vertex in far fewer steps.
Path::Event Path::next_event() const {
  double limit = kInfinity;
  near_events([&limit](double room, double slack, double speed, Size, bool, Side) {
    limit = std::min(limit, std::max(room + slack, 0.0) / speed);
  });
  Event best{kInfinity, 0, 0, false, Side::lower};
  if (limit == kInfinity) return best;
  near_events([&best, limit](double room, double, double speed, Size row, bool leaves, Side bound) {
    const double step = std::max(room, 0.0) / speed;
    if (step <= limit && speed > best.rate) best = {step, speed, row, leaves, bound};
  });
  return best;
}

// At a vertex where many rows tie, steps of length zero may go round in
// circles. Moving the problem itself apart at random, in the directions in which the
// present point stays its solution, makes progress certain; the perturbation is taken
// back exactly by a path of its own (schedule_return).
void Path::perturb() {
  look();
  ++report_.perturbations;
  perturbed_ = true;
  std::uniform_real_distribution<double> uniform(0.5, 1.0);
  const double unit = kPerturbation * now_.linear_scale;
  for (Size i = 0; i < now_.rows; ++i) {
    const Side side = now_.side[i];
    if (side == Side::pinned) continue;
    if (side == Side::margin) {
      const double width =
          std::max(now_.upper_to[i] - now_.lower_to[i], now_.upper[i] - now_.lower[i]);
      if (now_.upper[i] - now_.beta[i] <= kNear * width) {
        const double grown = kPerturbation * width * uniform(random_);
        now_.upper[i] += grown;
        now_.upper_to[i] += grown;
        upper_shift_[i] += grown;
      }
      if (now_.beta[i] - now_.lower[i] <= kNear * width) {
        const double grown = kPerturbation * width * uniform(random_);
        now_.lower[i] -= grown;
        now_.lower_to[i] -= grown;
        lower_shift_[i] -= grown;
      }
    } else if (std::abs(now_.gradient[i]) <= kNear * now_.linear_scale) {
      const double moved = (side == Side::lower ? unit : -unit) * uniform(random_);
      now_.gradient[i] += moved;
      linear_shift_[i] -= moved;
    }
  }
}

// After a perturbed path: the next phase takes every perturbation back.
void Path::schedule_return() {
  perturbed_ = false;
  now_.total_rate = 0;
  for (Size i = 0; i < now_.rows; ++i) {
    now_.lower_to[i] -= lower_shift_[i];
    now_.upper_to[i] -= upper_shift_[i];
    lower_rate_[i] = now_.lower_to[i] - now_.lower[i];
    upper_rate_[i] = now_.upper_to[i] - now_.upper[i];
    now_.linear_rate[i] = -linear_shift_[i];
    lower_shift_[i] = upper_shift_[i] = linear_shift_[i] = 0;
  }
}

}  // namespace widemargin
