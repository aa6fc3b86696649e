// Rows of dense samples, four at a time, as the tiles of kernel entries take them.
#pragma once

#include <vector>

#include "common.hpp"
#include "kernel/samples.hpp"
#include "simd/dispatch.hpp"

namespace widemargin {

// Features that all four rows of a strip lack are left out where there are enough of them: their
// products are zero, so that every dot product is the same to the last bit.
template <class Real>
class Strips {
 public:
  Strips(const Samples& samples, const KernelSpec& kernel, const Index* rows, Size n_rows);

  // Makes strip s the rows of a call.
  void use(Size s, StripCall<Real>& call) const;

 private:
  void leave_out_zeros(Size s);

  Size features_;
  std::vector<Real> packed_;  // [strip][feature][kStripRows]
  std::vector<Real> norms_;
  std::vector<Index> present_;  // [strip][feature]: those left, of a shortened strip
  std::vector<Index> ends_;     // [strip][block] among them
  std::vector<char> shortened_;
};

}  // namespace widemargin
