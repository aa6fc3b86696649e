// Samples far from the centre, under a Gaussian kernel.
//
// The expansion |x|^2 + |z|^2 - 2 x'z is off by a share of the squared norms, whatever the
// distance. With a near row this is harmless: a far column is at a distance of its own norm, and
// the entry is zero. Between two far samples the distance may be small: there differences are
// taken (differences.hpp), whose error is a share of the distance itself (mathematics 8).
#pragma once

#include <vector>

#include "common.hpp"
#include "kernel/samples.hpp"
#include "kernel/source.hpp"

namespace widemargin {

// Whether a sample of this half squared norm (scaled by the kernel) is far: single precision is
// to steer a solve, double precision to be good to 1e-12 (with `terms` roundings in dot products).
template <class Real>
bool is_far(double half_norm, Size terms);

// The rows of a sweep, far and near ones apart.
template <class Real>
class FarRows {
 public:
  FarRows(const KernelSpec& kernel, const Samples& samples, const Sweep<Real>& work);
  bool any() const { return !far_.rows.empty(); }
  Sweep<Real> far() const { return part(far_); }
  Sweep<Real> near() const { return part(near_); }

 private:
  struct Part {
    std::vector<Index> rows;
    std::vector<double> weights;
    std::vector<Real*> store;
    std::vector<const std::uint64_t*> near;
    std::vector<Real* const*> pieces;
  };
  Sweep<Real> part(const Part& chosen) const;

  const Sweep<Real>& work_;
  Part far_, near_;
};

}  // namespace widemargin
