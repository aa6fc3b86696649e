// All entries between some samples, each pair of them evaluated once.
#pragma once

#include "kernel/source.hpp"
#include "kernel/work_log.hpp"

namespace widemargin {

// entries[a * stride + b] = K[samples[a], samples[b]], by symmetry where that keeps the bounds on
// their rounding (Source::mirrors). `prepared` has the samples as columns, or is empty; memory
// between the entries and the stride is left as it is.
template <class Real>
void fill_square_table(const Source& source, const Index* samples, Size count,
                       const Prepared<Real>& prepared, Real* entries, Size stride, WorkLog& log,
                       Team& team);

}  // namespace widemargin
