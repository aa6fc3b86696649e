// What a fit asks of dense samples and of labels before it begins: are they finite, how do they
// vary, which classes are there. One pass each, in a fixed order.
#pragma once

#include <vector>

#include "common.hpp"

namespace widemargin {

template <class Value>
bool all_finite(const Value* entries, Size count);

// Of the entries of row-major samples, each with the weight of its row: their mean, what rounding
// left in it (the mean of the deviations), and the weighted sum of the squared deviations.
struct EntryMoments {
  double mean, rest, squares;
};
template <class Value>
EntryMoments entry_moments(const Value* X, Size n, Size width, const double* weights, double mass);

// The largest range of a feature, and the smallest that is not zero (infinite if all are).
struct FeatureRanges {
  double largest, least;
};
template <class Value>
FeatureRanges feature_ranges(const Value* X, Size n, Size width);

struct LabelRange {
  std::int64_t least, most;
};
LabelRange label_range(const std::int64_t* labels, Size n);  // n > 0

// Writes the number of each row's label among those that occur, by counting over the range of all,
// which must be short; returns these, rising.
std::vector<std::int64_t> number_classes(const std::int64_t* labels, Size n,
                                         const LabelRange& range, std::int64_t* numbers);

}  // namespace widemargin
