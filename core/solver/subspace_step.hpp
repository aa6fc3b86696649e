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

  void begin_burst();
  bool same_face() const;
  void note_burst();
  bool minimise();
  bool move();

  const PairCall<Real>& call_;
  Size count_ = 0, oldest_ = 0;   // of bursts that are kept
  std::vector<double> changes_;   // of beta, a row each: exact, so that sums are kept
  Aligned<Real> responses_;       // of the gradient
  std::vector<double> products_;  // D' Y, kMostBursts wide
  double lengths_[kMostBursts];   // x
  std::vector<double> beta_;      // where the burst began
  Aligned<Real> gradient_;
  std::vector<double> step_, response_;  // D x, Y x
};

// Pair steps with such steps between, as the call asks; returns the number of pair steps.
template <class Real>
long descend(PairCall<Real> call, Size members, bool equality);

}  // namespace widemargin
