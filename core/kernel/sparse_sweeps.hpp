// Kernel entries between CSR samples.
#pragma once

#include "common.hpp"
#include "kernel/samples.hpp"
#include "kernel/source.hpp"
#include "threads/parallel.hpp"

namespace widemargin {

// CSR columns past scattered rows; of a kernel that is a function of the dot product or Gaussian.
template <class Real>
Size sweep_sparse(const KernelSpec& kernel, const Samples& row_samples,
                  const Samples& column_samples, const Sweep<Real>& work, Team& team);

}  // namespace widemargin
