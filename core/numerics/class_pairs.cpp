#include "numerics/class_pairs.hpp"

#include <algorithm>
#include <stdexcept>

namespace widemargin {

namespace {

// Where the rows of each class begin, were they sorted by class, and the end of the last.
std::vector<Size> class_starts(const std::int64_t* labels, Size n, Size n_classes) {
  std::vector<Size> starts(n_classes + 1, 0);
  for (Size k = 0; k < n; ++k) ++starts[Size(labels[k]) + 1];
  for (Size c = 0; c < n_classes; ++c) starts[c + 1] += starts[c];
  return starts;
}

}  // namespace

std::vector<Size> rows_of_pairs(const std::int64_t* labels, Size n, Size n_classes,
                                const std::int64_t* pairs, Size n_pairs, std::int64_t* rows,
                                double* signs) {
  const std::vector<Size> starts = class_starts(labels, n, n_classes);
  std::vector<Size> next(starts.begin(), starts.end() - 1);
  std::vector<std::int64_t> sorted(n);
  for (Size k = 0; k < n; ++k) sorted[next[Size(labels[k])]++] = std::int64_t(k);
  std::vector<Size> offsets{0};
  for (Size p = 0; p < n_pairs; ++p) {
    const Size first = Size(pairs[2 * p]), second = Size(pairs[2 * p + 1]);
    Size a = starts[first], b = starts[second], to = offsets.back();
    for (; a < starts[first + 1] || b < starts[second + 1]; ++to) {
      const bool own = b == starts[second + 1] || (a < starts[first + 1] && sorted[a] < sorted[b]);
      rows[to] = own ? sorted[a++] : sorted[b++];
      signs[to] = own ? 1.0 : -1.0;
    }
    offsets.push_back(to);
  }
  return offsets;
}

Size support_of_pairs(const PairCoefficients& pairs, std::int64_t* support,
                      std::int32_t* n_support) {
  std::vector<char> used(pairs.n, 0);
  for (Size k = 0; k < pairs.count; ++k)
    if (pairs.coefficients[k] != 0.0) used[Size(pairs.rows[k])] = 1;
  std::fill_n(n_support, pairs.n_classes, 0);
  for (Size k = 0; k < pairs.n; ++k) n_support[Size(pairs.labels[k])] += used[k];
  std::vector<Size> next(pairs.n_classes + 1, 0);
  for (Size c = 0; c < pairs.n_classes; ++c) next[c + 1] = next[c] + Size(n_support[c]);
  for (Size k = 0; k < pairs.n; ++k)
    if (used[k]) support[next[Size(pairs.labels[k])]++] = std::int64_t(k);
  return next.back();
}

void stack_pairs(const PairCoefficients& pairs, const std::int64_t* offsets,
                 const std::int64_t* places, const std::int64_t* support, Size n_support,
                 double* table) {
  std::vector<Size> columns(pairs.n);
  for (Size c = 0; c < n_support; ++c) columns[Size(support[c])] = c;
  Size pair = 0;
  for (Size k = 0; k < pairs.count; ++k) {
    while (Size(offsets[pair + 1]) <= k) ++pair;
    if (pairs.coefficients[k] == 0.0) continue;
    const Size row = Size(pairs.rows[k]);
    const std::int64_t place = places[pair * pairs.n_classes + Size(pairs.labels[row])];
    if (place < 0)
      throw std::invalid_argument(
          "a pair of classes has rows of a third, which LIBSVM's layout cannot hold");
    table[Size(place) * n_support + columns[row]] = pairs.coefficients[k];
  }
}

}  // namespace widemargin
