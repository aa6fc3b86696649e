// The problem restricted to a working set, all other variables fixed.
//
//   minimise over beta_W  1/2 d' K_WW d + (gradient_W - level)' d,  d the change of beta_W
//   subject to lower_W <= beta_W <= upper_W  and, with an equality constraint,  sum(d) = 0
//
// in the layout of the pair routines: padded to whole panels with members that cannot move.
#pragma once

#include <limits>
#include <vector>

#include "simd/dispatch.hpp"
#include "solver/active_set.hpp"
#include "solver/box_pairs.hpp"

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
        beta_(size_, 0.0),
        lower_(size_, 0.0),
        upper_(size_, 0.0) {
    for (Size k = 0; k < members.size(); ++k) {
      const Position p = members[k];
      diagonal_[k] = Real(active.diagonal(p));
      gradient_[k] = Real(active.gradient(p) - level);
      beta_[k] = active.beta(p), lower_[k] = active.lower(p), upper_[k] = active.upper(p);
      if (active.can_grow(p)) growth_[k] = Real(0);
      if (active.can_fall(p)) fall_[k] = Real(0);
    }
  }

  // Pair steps to the tolerance; returns their number.
  long solve(const Real* const* rows, bool equality, double tolerance, long max_steps) {
    const PairCall<Real> call{size_,          rows,         diagonal_.data(), gradient_.data(),
                              growth_.data(), fall_.data(), beta_.data(),     lower_.data(),
                              upper_.data(),  tolerance,    max_steps};
    return equality ? routines<Real>().pairs(call) : box_pairs(call, members_.size());
  }

  std::vector<Move> moves() const {
    std::vector<Move> out;
    for (Size k = 0; k < members_.size(); ++k) {
      const Position p = members_[k];
      const double change = beta_[k] - active_.beta(p);
      if (beta_[k] == active_.beta(p)) continue;
      // 1/2 (gradient before + gradient after) is the slope along the whole step
      const double gain = 0.5 * change * (active_.gradient(p) - level_ + double(gradient_[k]));
      out.push_back({p, beta_[k], gain});
    }
    return out;
  }

 private:
  static constexpr Size kWidth = panel_width<Real>();
  static constexpr Real kNever = std::numeric_limits<Real>::infinity();

  const ActiveSet<Real>& active_;
  const std::vector<Position>& members_;
  const double level_;
  const Size size_;
  std::vector<Real> diagonal_, gradient_, growth_, fall_;
  std::vector<double> beta_, lower_, upper_;
};

}  // namespace widemargin
