#include "kernel/rounding.hpp"

#include <algorithm>
#include <cmath>

#include "kernel/far_samples.hpp"

namespace widemargin {

namespace {

constexpr double kLn2 = 0.6931471805599453;
constexpr double kFloatRange = 1e37;  // products of four terms beyond it may overflow
constexpr double kSpare = 1.01;       // for norms and bounds that are themselves rounded

// exp2_negative of simd/lanes.inl, relative; tested over its whole range
// (core/tests/test_rounding.cpp)
template <class Real>
constexpr double exp2_error() {
  return sizeof(Real) == 4 ? 2.5e-7 : 4e-16;
}
// Below the smallest exponent entries are cut off there.
template <class Real>
constexpr double exp2_floor() {
  static_assert(kLeastExponent<float> == -60.0 && kLeastExponent<double> == -900.0);
  return sizeof(Real) == 4 ? 0x1p-59 : 0x1p-899;
}

// More than what is lost where a product falls below the least number, for a unit of weight.
template <class Real>
constexpr double underflow() {
  return sizeof(Real) == 4 ? 0x1p-140 : 0x1p-1000;
}

// Relative to the sum of sizes: weights in the precision of the entries, up to 16 products added in
// it, the rest in double.
template <class Real>
double sum_error(Size n_rows) {
  const double in_double = unit_roundoff<double>() * (double(n_rows) / 4.0 + 24.0);
  return sizeof(Real) == 4 ? in_double + 20.0 * unit_roundoff<float>() : in_double;
}

double sum_of_sizes(const double* weights, Size count) {
  double sum = 0.0;
  for (Size k = 0; k < count; ++k) sum += std::abs(weights[k]);
  return kSpare * sum;
}

// The packed coordinates, a dot product with `terms` roundings, two norms and two subtractions
// leave (terms + 8) units of 1/2 (|x| + |z|)^2 <= |x|^2 + |z|^2 in the exponent. Of base e:
template <class Real>
double expansion_exponent(double first_half_norm, double second_half_norm, Size terms) {
  const double units = double(terms + 8) * unit_roundoff<Real>();
  return kLn2 * kSpare * units * 2.0 * (first_half_norm + second_half_norm);
}

// What the norm expansion leaves in a weighted sum of Gaussian entries, relative to the sum of
// their sizes, where no row has more than the half squared norm `largest`. A row at distance t from
// the column has at most its norm + t, and an entry 2^(-t^2 / 2): rows far out count for little. By
// Jensen's inequality t is on average at most sqrt(2 log2(total / size)), total the sum of the
// weights (mathematics 8.2). From sqrt(2 / ln 2) on, 2^(-t^2 / 2) (a + t)^2 falls with t for any a
// that is not negative: with no less than that, the bound on a sum grows with `size`, which may
// then be larger than the sum of the sizes.
constexpr double kLeastDistance = 1.7;

template <class Real>
double expansion_share(double half_norm, double largest, Size terms, double size, double total) {
  const double exponent = expansion_exponent<Real>(half_norm, largest, terms);
  const double of_any_row = std::expm1(exponent);
  const double spare = kSpare * (1.0 + of_any_row);  // sizes are sums of rounded entries
  if (!(exponent > 0.0 && exponent < 1.0 && size > 0.0)) return of_any_row;
  const double mean_distance = std::sqrt(2.0 * std::log2(std::max(1.0, spare * total / size)));
  const double distance = std::max(kLeastDistance, mean_distance);
  const double both = 2.0 * std::sqrt(2.0 * kSpare * half_norm) + distance;
  const double units = double(terms + 8) * unit_roundoff<Real>();
  const double mean = kLn2 * kSpare * units * 0.5 * both * both;
  return std::min(of_any_row, spare * mean * of_any_row / exponent);
}

template <class Real>
void gaussian(const Samples& row_samples, const Samples& column_samples, const Sweep<Real>& work,
              double* error) {
  const Size terms = std::max(row_samples.most_roundings(), column_samples.most_roundings());
  const Real* row_norms = row_samples.half_norms<Real>();
  const Real* column_norms = column_samples.half_norms<Real>();
  double largest = 0.0;
  bool far = false;
  for (Size r = 0; r < work.n_rows; ++r) {
    const double norm = double(row_norms[work.rows[r]]);
    if (is_far<Real>(norm, row_samples.most_roundings()))
      far = true;
    else
      largest = std::max(largest, norm);
  }
  // An error that is a share e of the exponent itself: K |ln K| e <= e / exp(1).
  const Size features = std::max(row_samples.most_terms(), column_samples.most_terms());
  const double share = double(features + 10) * 0.37;
  const double total = sum_of_sizes(work.weights, work.n_rows);
  const double scaled = 4.0 * unit_roundoff<double>() +
                        (far ? share * unit_roundoff<double>() : 0.0) + exp2_floor<Real>();
  const double sums = sum_error<Real>(work.n_rows) + exp2_error<Real>();
  for (Size c = 0; c < work.n_columns; ++c) {
    const double norm = double(column_norms[work.columns[c]]);
    double relative = sums, absolute = scaled;
    if (norm >= 9.0 * largest && norm > 1.0)  // three times as far out as any row by expansion
      absolute += 4.0 * share * unit_roundoff<Real>();
    else
      relative += expansion_share<Real>(norm, largest, terms, work.sizes[c], total);
    error[c] += kSpare * (relative * work.sizes[c] + absolute * total);
  }
}

// By differences of the samples as given, in double: the exponent is off by a share of itself,
// wherever the samples lie. Entries may be kept in Real, and sums are added one by one.
template <class Real>
void laplacian(const KernelSpec& kernel, const Samples& row_samples, const Samples& column_samples,
               const Sweep<Real>& work, double* error) {
  const Size terms = std::max(row_samples.most_terms(), column_samples.most_terms());
  const double total = sum_of_sizes(work.weights, work.n_rows);
  const double absolute = double(terms + 10) * 0.37 * unit_roundoff<double>() + exp2_floor<Real>();
  const double relative = sum_error<Real>(work.n_rows) + exp2_error<double>() +
                          unit_roundoff<Real>() + unit_roundoff<double>() * double(work.n_rows);
  // a distance beyond the largest double is cut off there: the entry is 0 but for such a gamma
  const bool overflows = kernel.gamma > 0.0 && kernel.gamma < 1e-300;
  for (Size c = 0; c < work.n_columns; ++c)
    error[c] += overflows ? kInfinity : kSpare * (relative * work.sizes[c] + absolute * total);
}

// sqrt((gamma |x|^2 + |coef0|)^degree): no entry of a dot-product kernel exceeds the product of
// two of them, and its error is a share of that product.
double feature_norm(const KernelSpec& kernel, double half_norm) {
  const double square = 2.0 * kSpare * half_norm + underflow<double>();
  switch (kernel.kind) {
    case KernelKind::linear:
      return std::sqrt(square);
    case KernelKind::polynomial:
      return std::pow(kernel.gamma * square + std::abs(kernel.coef0), 0.5 * kernel.degree);
    default:
      return std::sqrt(kernel.gamma * square + std::abs(kernel.coef0));
  }
}

template <class Real>
void dot_products(const KernelSpec& kernel, const Samples& row_samples,
                  const Samples& column_samples, const Sweep<Real>& work, double* error) {
  const Size terms = std::max(row_samples.most_roundings(), column_samples.most_roundings());
  const double* row_norms = row_samples.half_norms<double>();
  const double* column_norms = column_samples.half_norms<double>();
  const bool bounded = kernel.kind == KernelKind::sigmoid;  // |tanh| <= 1, with slope <= 1
  const double power = kernel.kind == KernelKind::polynomial ? kernel.degree : 1.0;
  const double entry = std::expm1(unit_roundoff<Real>() * (power * double(terms + 16) + 8.0));
  const double sums = sum_error<Real>(work.n_rows) + 4.0 * unit_roundoff<Real>();
  double weighted = 0.0, largest = 0.0;
  for (Size r = 0; r < work.n_rows; ++r) {
    const double norm = feature_norm(kernel, row_norms[work.rows[r]]);
    weighted += std::abs(work.weights[r]) * norm;
    largest = std::max(largest, std::max(1.0, std::abs(work.weights[r])) * norm);
  }
  const double total = sum_of_sizes(work.weights, work.n_rows);
  const double slope = std::max(1.0, kernel.gamma) * power;  // of entries too small to be numbers
  const double lost = double(terms + 16) * slope * underflow<Real>() * total;
  for (Size c = 0; c < work.n_columns; ++c) {
    const double norm = feature_norm(kernel, column_norms[work.columns[c]]);
    const double sizes = kSpare * weighted * norm;
    error[c] += kSpare * (entry * sizes + sums * (bounded ? total : sizes)) + lost;
    if (sizeof(Real) == 4 && !(largest * norm < kFloatRange)) error[c] = kInfinity;
  }
}

}  // namespace

template <class Real>
double expansion_error(double first_half_norm, double second_half_norm, Size terms) {
  return std::expm1(expansion_exponent<Real>(first_half_norm, second_half_norm, terms));
}

template <class Real>
void rounding_of_samples(const KernelSpec& kernel, const Samples& row_samples,
                         const Samples& column_samples, const Sweep<Real>& work, double* error) {
  switch (kernel.kind) {
    case KernelKind::gaussian:
      return gaussian(row_samples, column_samples, work, error);
    case KernelKind::laplacian:
      return laplacian(kernel, row_samples, column_samples, work, error);
    case KernelKind::linear:
    case KernelKind::polynomial:
    case KernelKind::sigmoid:
      return dot_products(kernel, row_samples, column_samples, work, error);
  }
}

template double expansion_error<float>(double, double, Size);
template double expansion_error<double>(double, double, Size);
template void rounding_of_samples<float>(const KernelSpec&, const Samples&, const Samples&,
                                         const Sweep<float>&, double*);
template void rounding_of_samples<double>(const KernelSpec&, const Samples&, const Samples&,
                                          const Sweep<double>&, double*);

}  // namespace widemargin
