// Between bursts of pair steps, the least objective over the ways that the last bursts went.
//
// Where free members depend on each other pair steps creep: burst after burst goes much the same
// way. With D the changes of beta in the last bursts and Y = K D those of the gradient, which pair
// steps have summed already, the objective over beta + D x is quadratic in a few numbers:
//
//   (D' Y) x = -D' slope,   beta += share D x,   gradient += share Y x
//
// with the share at which the first member reaches its bound or kink, at most 1. No kernel entry is
// read; sums that pair steps keep are kept. (Sequential subspace optimisation: Narkiss and
// Zibulevsky, 2005; extrapolated coordinate descent: Bertrand and Massias, 2021.)
#pragma once

#include <vector>

#include "memory/aligned.hpp"
#include "simd/dispatch.hpp"

namespace widemargin {

template <class Real>
class SubspaceStep {
 public:
  explicit SubspaceStep(const PairCall<Real>& call);

  // Notes the burst that has ended, and takes the step. A burst in which a member has reached its
  // end is of another face of the box: nothing before its end is kept.
  void take();

 private:
  static constexpr Size kMostBursts = 3;  // that are kept

  // The few members that a burst has changed, by how much, and what became of the gradient.
  struct Burst {
    std::vector<Size> members;
    std::vector<double> changes;  // exact, so that sums are kept
    Aligned<Real> response;
  };

  Size find_changed();
  bool same_face(Size changed) const;
  void note_burst(Size changed);
  bool minimise();
  bool move();

  const PairCall<Real>& call_;
  Burst bursts_[kMostBursts];
  Size count_ = 0, oldest_ = 0;                 // of bursts that are kept
  double products_[kMostBursts * kMostBursts];  // D' Y
  double lengths_[kMostBursts];                 // x
  std::vector<double> beta_;                    // where the burst began
  Aligned<Real> gradient_;
  std::vector<double> step_, response_;  // D x, zero between steps; Y x
  std::vector<Size> changed_, stepped_;  // by the burst, and by the step
};

// Pair steps with such steps between, as the call asks; returns the number of pair steps.
template <class Real>
long descend(PairCall<Real> call, Size members, bool equality);

}  // namespace widemargin
