// Entries by differences of the samples as given, in double: all of a Laplacian kernel, and
// Gaussian ones between samples far from the centre (far_samples.hpp). Their error is a share of
// the distance itself, wherever the samples lie (mathematics 8).
#pragma once

#include "common.hpp"
#include "kernel/samples.hpp"
#include "kernel/source.hpp"
#include "threads/parallel.hpp"

namespace widemargin {

template <class Real>
Size sweep_differences(const KernelSpec& kernel, const Samples& row_samples,
                       const Samples& column_samples, const Sweep<Real>& work, Team& team);

}  // namespace widemargin
