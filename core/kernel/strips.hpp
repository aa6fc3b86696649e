// Rows of dense samples, four at a time, as the tiles of kernel entries take them.
#pragma once

#include <vector>

#include "common.hpp"
#include "kernel/samples.hpp"
#include "memory/aligned.hpp"
#include "simd/dispatch.hpp"

namespace widemargin {

// Features that all four rows of a strip lack are left out where there are enough of them: their
// products are zero, so that every dot product is the same to the last bit.
template <class Real>
class Strips {
 public:
  Strips(const Samples& samples, const KernelSpec& kernel, const Index* rows, Size n_rows);

  Size bytes() const { return packed_.size() * sizeof(Real) + lists_.size() * sizeof(Index); }
  // Makes strip s the rows of a call.
  void use(Size s, StripCall<Real>& call) const;

 private:
  static constexpr Size kWhole = Size(-1);
  struct Strip {
    Size values, lists;  // where they begin; no lists where no feature is left out
  };
  bool add_without_zeros(const std::vector<Real>& strip);

  Size blocks_;
  std::vector<Strip> strips_;
  Aligned<Real> packed_;      // of each strip [feature][kStripRows]
  std::vector<Index> lists_;  // of each shortened one, where blocks end, and the features present
  std::vector<Index> found_;  // of the last one
  std::vector<Real> norms_;
};

}  // namespace widemargin
