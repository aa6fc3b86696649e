// Sweeps of a local kernel over samples in any order.
#pragma once

#include "kernel/locality.hpp"
#include "kernel/source.hpp"

namespace widemargin {

// Whether a sweep is large enough to be put in order; columns that are packed already are not.
template <class Real>
bool order_pays(const Sweep<Real>& work) {
  return !work.prepared && work.n_rows >= kSegment / 4 && work.n_columns >= 4 * kSegment;
}

// The same sums and rows as of sweep_samples, but for entries that are negligible: these are zero.
template <class Real>
Size sweep_in_order(const KernelSpec& kernel, const Samples& samples, const Locality& locality,
                    const Sweep<Real>& work, Team& team);

}  // namespace widemargin
