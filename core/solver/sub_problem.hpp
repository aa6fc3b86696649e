// The problem restricted to a working set, all other variables fixed.
//
//   minimise over beta_W  1/2 d' K_WW d + (gradient_W - level)' d + kink_W' |beta_W|
//   subject to lower_W <= beta_W <= upper_W  and, with an equality constraint,  sum(d) = 0
//
// with d the change of beta_W, in the layout of the pair routines: padded to whole panels with
// members that cannot move. The slope of a member's own side of zero (at zero the one it is nearer
// to leave by) is part of its gradient there, so that gradients of members near the optimum are
// small numbers with all digits.
#pragma once

#include <limits>
#include <vector>

#include "memory/aligned.hpp"
#include "simd/dispatch.hpp"
#include "solver/active_set.hpp"
#include "solver/subspace_step.hpp"

namespace widemargin {

template <class Real>
class SubProblem {
 public:
  SubProblem(const ActiveSet<Real>& active, const std::vector<Position>& members, double level)
      : active_(active),
        members_(members),
        level_(level),
        size_((members.size() + kWidth - 1) / kWidth * kWidth),
        diagonal_(size_, Real(1)),
        gradient_(size_, Real(0)),
        growth_(size_, kNever),
        fall_(size_, -kNever),
        above_(size_, Real(0)),
        below_(size_, Real(0)),
        beta_(size_, 0.0),
        lower_(size_, 0.0),
        upper_(size_, 0.0) {
    for (Size k = 0; k < members.size(); ++k) {
      const Position p = members[k];
      diagonal_[k] = Real(active.diagonal(p));
      const double relative = active.gradient(p) - level, kink = active.kink(p);
      beta_[k] = active.beta(p), lower_[k] = active.lower(p), upper_[k] = active.upper(p);
      const double own = own_side(beta_[k], relative) * kink;
      gradient_[k] = Real(relative + own);
      above_[k] = Real(kink - own), below_[k] = Real(-kink - own);
    }
    if (active.two_sums()) {
      minus_growth_.assign(size_, kNever);
      minus_fall_.assign(size_, -kNever);
    }
    const PairCall<Real> call = pair_call(nullptr, 0.0, 0);
    for (Size k = 0; k < members.size(); ++k) note_sides(call, k);
  }

  // Pair steps to the tolerance; returns their number.
  long solve(const Real* const* rows, bool equality, double tolerance, long max_steps) {
    const PairCall<Real> call = pair_call(rows, tolerance, max_steps);
    return descend(call, members_.size(), equality);
  }

  std::vector<Move> moves() const {
    std::vector<Move> out;
    for (Size k = 0; k < members_.size(); ++k) {
      const Position p = members_[k];
      const double before = active_.beta(p), change = beta_[k] - before;
      if (beta_[k] == before) continue;
      // 1/2 (gradient before + gradient after) is the slope along the whole step
      const double relative = active_.gradient(p) - level_, kink = active_.kink(p);
      const double side = side_of(beta_[k], before);
      const double own = own_side(before, relative) * kink;
      const double slopes = relative + double(gradient_[k]) + 2.0 * side * kink - own;
      out.push_back({p, beta_[k], 0.5 * change * slopes - crossing(before, side, kink)});
    }
    return out;
  }

 private:
  static constexpr Size kWidth = panel_width<Real>();
  static constexpr Real kNever = std::numeric_limits<Real>::infinity();

  PairCall<Real> pair_call(const Real* const* rows, double tolerance, long max_steps) {
    PairCall<Real> call{size_,          rows,          diagonal_.data(), gradient_.data(),
                        growth_.data(), fall_.data(),  above_.data(),    below_.data(),
                        beta_.data(),   lower_.data(), upper_.data(),    tolerance,
                        max_steps};
    if (!minus_growth_.empty()) {
      call.minus_growth = minus_growth_.data();
      call.minus_fall = minus_fall_.data();
    }
    return call;
  }

  const ActiveSet<Real>& active_;
  const std::vector<Position>& members_;
  const double level_;
  const Size size_;
  Aligned<Real> diagonal_, gradient_, growth_, fall_, above_, below_;
  Aligned<Real> minus_growth_, minus_fall_;  // of a second sum
  std::vector<double> beta_, lower_, upper_;
};

}  // namespace widemargin
