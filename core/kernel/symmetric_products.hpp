// K times coefficients among the samples that have one, in double, with bounds on the rounding.
#pragma once

#include "common.hpp"
#include "kernel/gram.hpp"
#include "threads/parallel.hpp"

namespace widemargin {

// Every entry between the samples `rows` is evaluated once, by symmetry.
//
// weights: n_vectors x n, row-major; the first vector is the point, the others are differences to
//   earlier points.
// values[i] = (K weights_0)[i] to within error[i]; squares[v] >= weights_v' K weights_v.
//
// The result does not depend on the number of threads. False when `proceed` returned false.
bool symmetric_products(Gram& gram, Team& team, const Index* rows, Size n, const double* weights,
                        Size n_vectors, const std::function<bool()>& proceed, double* values,
                        double* error, double* squares);

// The products of several vectors, each entry evaluated once for all of them: values and error are
// n_vectors x n. The rounding is bounded for weights as large as those of any vector.
bool symmetric_sums(Gram& gram, Team& team, const Index* rows, Size n, const double* weights,
                    Size n_vectors, const std::function<bool()>& proceed, double* values,
                    double* error);

}  // namespace widemargin
