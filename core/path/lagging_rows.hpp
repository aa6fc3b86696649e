// Rows that are too far from an event to meet one soon: their gradients lag behind.
//
// A piece of a path changes every gradient, which is a pass over rows x margin set, and one row has
// its event. That most rows have none is known without the pass: at a look at all rows the path
// goes in the direction d0 (of w) and the gradients change at rates r0; when it goes in the
// directions d after it, then at time t after the look
//
//   gradient_i = gradient_i(look) + t r0_i + (shift of the intercept)  +-  |x_i| departure,
//
// where departure is the integral of |d - d0| (Cauchy and Schwarz; mathematics 3.4). A row whose
// interval does not contain 0 keeps its side. |d|^2 and d'd0 are sums over velocities and products
// that are known without the pass.
#pragma once

#include <vector>

#include "common.hpp"

namespace widemargin {

class LaggingRows {
 public:
  // `diagonal` holds K_ii of all rows.
  explicit LaggingRows(const std::vector<double>& diagonal);

  bool any() const { return !lagging_.empty(); }
  const std::vector<Size>& lagging() const { return lagging_; }
  const std::vector<Size>& watched() const { return watched_; }
  // How far the last look reached.
  double reach() const { return elapsed_ > 0 ? elapsed_ : last_reach_; }
  // How far the intercept has moved since the look.
  double shift() const { return shift_; }

  void watch_all();
  // False where it is watched already.
  bool watch(Size row);

  // What a look at all rows saw: velocities of beta, K times these, gradients and their rates
  // without that of the intercept.
  struct Look {
    const std::vector<double>& velocity;
    const std::vector<double>& product;
    const std::vector<double>& gradient;
    const std::vector<double>& rate;
  };

  // Members of the margin set are neither watched nor do they lag: their gradients stand still.
  enum class Kind : char { member, watched, lagging };
  // Gradients of lagging rows must not be 0.
  void let_lag(std::vector<Kind> kinds, const Look& look);

  // |d - d0| for velocities whose squared length in feature space is known; infinite where the
  // kernel has none (it is not positive semidefinite).
  double departure(const std::vector<double>& velocity, double square) const;

  // Whether all lagging rows keep their side on a step further on.
  bool keep_sides(double step, double shift_rate, double departure) const;
  void advance(double step, double shift_rate, double departure);

 private:
  std::vector<double> root_;  // |x_i|
  std::vector<Kind> kinds_;
  std::vector<Size> watched_, lagging_;
  std::vector<double> product_;  // K times the velocities of the look
  double square_ = 0;            // |d0|^2
  // Of the lagging rows, at the look: |gradient|, its rate, that of the intercept and |x_i|, each
  // with the sign of the gradient.
  std::vector<double> distance_, rate_, sign_, width_;
  double elapsed_ = 0, shift_ = 0, departed_ = 0, last_reach_ = 0;
};

}  // namespace widemargin
