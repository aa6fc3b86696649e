// What rounding leaves in kernel entries and their sums: bounds, not estimates (mathematics 8).
#pragma once

#include "common.hpp"
#include "kernel/samples.hpp"
#include "kernel/source.hpp"

namespace widemargin {

template <class Real>
constexpr double unit_roundoff() {
  return sizeof(Real) == 4 ? 0x1p-24 : 0x1p-53;
}

// Relative error of a Gaussian entry by the norm expansion; half squared norms of the two samples
// in the kernel's units.
template <class Real>
double expansion_error(double first_half_norm, double second_half_norm, Size terms);

// error[c] += a bound on the rounding in the sums of a sweep between samples.
template <class Real>
void rounding_of_samples(const KernelSpec& kernel, const Samples& row_samples,
                         const Samples& column_samples, const Sweep<Real>& work, double* error);

}  // namespace widemargin
