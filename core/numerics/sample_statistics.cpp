#include "numerics/sample_statistics.hpp"

#include <algorithm>
#include <vector>

namespace widemargin {

namespace {

constexpr Size kLanes = 8;  // sums side by side

// Sum over the entries of a row of a function of each.
template <class Value, class Term>
double row_sum(const Value* row, Size width, const Term& term) {
  double lanes[kLanes] = {};
  Size k = 0;
  for (; k + kLanes <= width; k += kLanes)
    for (Size lane = 0; lane < kLanes; ++lane) lanes[lane] += term(double(row[k + lane]));
  for (Size lane = 0; k < width; ++k, ++lane) lanes[lane] += term(double(row[k]));
  for (Size half = kLanes / 2; half > 0; half /= 2)
    for (Size lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  return lanes[0];
}

}  // namespace

template <class Value>
bool all_finite(const Value* entries, Size count) {
  // Zero times a number is zero, unless it is infinite or none.
  return row_sum(entries, count, [](double entry) { return 0.0 * entry; }) == 0.0;
}

template <class Value>
EntryMoments entry_moments(const Value* X, Size n, Size width, const double* weights, double mass) {
  EntryMoments out{};
  for (Size i = 0; i < n; ++i)
    out.mean += weights[i] * row_sum(X + i * width, width, [](double entry) { return entry; });
  out.mean /= mass;
  const double mean = out.mean;
  for (Size i = 0; i < n; ++i) {
    const Value* row = X + i * width;
    out.rest += weights[i] * row_sum(row, width, [=](double entry) { return entry - mean; });
    out.squares += weights[i] * row_sum(row, width, [=](double entry) {
                     return (entry - mean) * (entry - mean);
                   });
  }
  out.rest /= mass;
  return out;
}

template <class Value>
FeatureRanges feature_ranges(const Value* X, Size n, Size width) {
  std::vector<Value> low(X, X + (n > 0 ? width : 0)), high = low;
  for (Size i = 1; i < n; ++i)
    for (Size k = 0; k < width; ++k) {
      const Value entry = X[i * width + k];
      low[k] = entry < low[k] ? entry : low[k];
      high[k] = entry > high[k] ? entry : high[k];
    }
  FeatureRanges out{0.0, kInfinity};
  for (Size k = 0; k < low.size(); ++k) {
    const double range = double(high[k]) - double(low[k]);
    out.largest = std::max(out.largest, range);
    if (range > 0.0) out.least = std::min(out.least, range);
  }
  return out;
}

LabelRange label_range(const std::int64_t* labels, Size n) {
  LabelRange out{labels[0], labels[0]};
  for (Size k = 1; k < n; ++k) {
    out.least = std::min(out.least, labels[k]);
    out.most = std::max(out.most, labels[k]);
  }
  return out;
}

std::vector<std::int64_t> number_classes(const std::int64_t* labels, Size n,
                                         const LabelRange& range, std::int64_t* numbers) {
  std::vector<std::int64_t> number(Size(range.most - range.least) + 1, -1);
  for (Size k = 0; k < n; ++k) number[Size(labels[k] - range.least)] = 0;
  std::vector<std::int64_t> classes;
  for (Size k = 0; k < number.size(); ++k) {
    if (number[k] < 0) continue;
    number[k] = std::int64_t(classes.size());
    classes.push_back(range.least + std::int64_t(k));
  }
  for (Size k = 0; k < n; ++k) numbers[k] = number[Size(labels[k] - range.least)];
  return classes;
}

template bool all_finite<float>(const float*, Size);
template bool all_finite<double>(const double*, Size);
template EntryMoments entry_moments<float>(const float*, Size, Size, const double*, double);
template EntryMoments entry_moments<double>(const double*, Size, Size, const double*, double);
template FeatureRanges feature_ranges<float>(const float*, Size, Size);
template FeatureRanges feature_ranges<double>(const double*, Size, Size);

}  // namespace widemargin
