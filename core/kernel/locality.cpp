#include "kernel/locality.hpp"

#include <algorithm>
#include <cmath>

#include "kernel/rounding.hpp"
#include "simd/dispatch.hpp"

namespace widemargin {

namespace {

constexpr Size kFewest = 4096;        // samples: fewer are not worth an order
constexpr Size kMostFeatures = 4096;  // the sums of find_near lose less than kSpare up to here
// Share of near segments up to which an order pays. (Chosen on points in two, three and five
// dimensions, where .35 lost a tenth of the time and .22 won a third; checked on covtype and on
// tables of categories, at .03 to .08.)
constexpr double kMostNear = 0.25;
constexpr Size kPairs = 128;   // samples, between all of which distances are judged first
constexpr Size kTried = 4096;  // and samples that are put in order to judge boxes
constexpr Size kTriedRows = 64;

constexpr Size kLeaf = kSegment / 4;  // samples that need no order among themselves
constexpr Size kJudged = 256;         // samples of a part that say where it is split
constexpr Size kDeepest = 64;         // parts are not split more often than that

constexpr double kSpare = 1.001;   // for distances that are themselves rounded
constexpr float kNowhere = 1e18f;  // where the boxes of the padding are
constexpr Size kBoxPadding = 16;   // boxes whose distances are computed together

std::vector<Index> evenly_spaced(const Index* ids, Size n, Size count) {
  std::vector<Index> out(std::min(n, count));
  for (Size s = 0; s < out.size(); ++s) out[s] = ids[s * n / out.size()];
  return out;
}

std::vector<Index> first_ids(Size count) {
  std::vector<Index> out(count);
  for (Size i = 0; i < count; ++i) out[i] = Index(i);
  return out;
}

}  // namespace

Locality::Locality(const Samples& samples) : samples_(samples) {
  if (samples.size() < kFewest || samples.features() > kMostFeatures) return;
  if (share_of_pairs() > kMostNear) return;
  const double share = share_of_segments();
  if (share > kMostNear) return;
  near_share_ = share;
  const std::vector<Index> order = in_order(first_ids(samples.size()));
  places_.resize(order.size());
  for (Size k = 0; k < order.size(); ++k) places_[Size(order[k])] = Index(k);
}

double Locality::share_of_pairs() const {
  const Size features = samples_.features();
  const std::vector<Index> ids =
      evenly_spaced(first_ids(samples_.size()).data(), samples_.size(), kPairs);
  std::vector<float> packed(features * kPairs);
  samples_.pack(ids.data(), kPairs, kPairs, packed.data());
  Size near = 0;
  for (Size i = 0; i < kPairs; ++i) {
    float squares[kPairs] = {};
    for (Size k = 0; k < features; ++k) {
      const float* values = packed.data() + k * kPairs;
      for (Size j = 0; j < kPairs; ++j)
        squares[j] += (values[j] - values[i]) * (values[j] - values[i]);
    }
    for (Size j = 0; j < kPairs; ++j) near += 0.5 * double(squares[j]) < kNegligible<float>;
  }
  return double(near) / double(kPairs * kPairs);
}

// Of some samples in order: among all of them boxes are smaller.
double Locality::share_of_segments() const {
  const std::vector<Index> tried =
      in_order(evenly_spaced(first_ids(samples_.size()).data(), samples_.size(), kTried));
  const std::vector<Index> rows = evenly_spaced(tried.data(), tried.size(), kTriedRows);
  Boxes boxes;
  enclose(tried.data(), tried.size(), boxes);
  NearSegments near(rows.size(), boxes.count);
  find_near(rows.data(), rows.size(), boxes, 0, kNegligible<float>, near);
  Size count = 0;
  for (Size r = 0; r < rows.size(); ++r)
    for (Size s = 0; s < boxes.count; ++s) count += is_near(near.rows()[r], s);
  return double(count) / double(rows.size() * boxes.count);
}

// Split at the mean of the feature of largest variance, until a part is small: features of two
// values, as those of categories, are split between them.
std::vector<Index> Locality::in_order(std::vector<Index> ids) const {
  struct Part {
    Size begin, end, depth;
  };
  const Size features = samples_.features();
  std::vector<float> packed(features * kJudged);
  std::vector<Part> parts{{0, ids.size(), 0}};
  while (!parts.empty()) {
    const Part part = parts.back();
    parts.pop_back();
    if (part.end - part.begin <= kLeaf || part.depth == kDeepest) continue;
    const std::vector<Index> judged =
        evenly_spaced(ids.data() + part.begin, part.end - part.begin, kJudged);
    const Size count = judged.size(), width = (count + 3) / 4 * 4;
    samples_.pack(judged.data(), count, width, packed.data());
    Size feature = 0;
    float widest = 0.0f, middle = 0.0f;
    for (Size k = 0; k < features; ++k) {
      const float* values = packed.data() + k * width;
      float sum = 0.0f, squares = 0.0f;
      for (Size c = 0; c < count; ++c) sum += values[c];
      const float mean = sum / float(count);
      for (Size c = 0; c < count; ++c) squares += (values[c] - mean) * (values[c] - mean);
      if (squares > widest) widest = squares, feature = k, middle = mean;
    }
    const auto begin = ids.begin() + std::ptrdiff_t(part.begin);
    const auto end = ids.begin() + std::ptrdiff_t(part.end);
    const auto cut = std::stable_partition(
        begin, end, [&](Index i) { return samples_.coordinate(i, feature) <= middle; });
    if (cut == begin || cut == end) continue;
    const Size at = Size(cut - ids.begin());
    parts.push_back({at, part.end, part.depth + 1});
    parts.push_back({part.begin, at, part.depth + 1});
  }
  return ids;
}

void Locality::enclose(const Index* columns, Size count, Boxes& out) const {
  const Size features = samples_.features();
  out.count = segments_of(count);
  out.stride = (out.count + kBoxPadding - 1) / kBoxPadding * kBoxPadding;
  out.low.assign(features * out.stride, kNowhere);
  out.high.assign(features * out.stride, kNowhere);
  std::vector<float> packed(features * kSegment);
  for (Size s = 0; s < out.count; ++s) {
    const Index* ids = columns + s * kSegment;
    const Size present = std::min(kSegment, count - s * kSegment);
    samples_.pack(ids, present, kSegment, packed.data());
    for (Size k = 0; k < features; ++k) {
      const float* values = packed.data() + k * kSegment;
      float low = values[0], high = values[0];
      for (Size c = 1; c < present; ++c) {
        low = std::min(low, values[c]);
        high = std::max(high, values[c]);
      }
      out.low[k * out.stride + s] = low;
      out.high[k * out.stride + s] = high;
    }
  }
}

// Rounded coordinates of row x and column z leave u (|x| + |z|) <= u (2 |x| + r) in their distance
// r, and r^2 / 2 is the exponent of the entry.
void Locality::find_near(const Index* rows, Size n_rows, const Boxes& boxes, Size first,
                         double negligible, NearSegments& out) const {
  const float* half_norms = samples_.half_norms<float>();
  std::vector<float> point(samples_.features()), distances(boxes.stride);
  for (Size r = 0; r < n_rows; ++r) {
    samples_.pack(rows + r, 1, 1, point.data());
    routines<float>().box_distances(point.data(), point.size(), boxes.low.data(), boxes.high.data(),
                                    boxes.stride, distances.data());
    const double norm = std::sqrt(2.0 * double(half_norms[rows[r]]));
    const double reach =
        kSpare * (std::sqrt(2.0 * negligible) + 8.0 * unit_roundoff<float>() * norm);
    const float square = float(kSpare * reach * reach);
    for (Size s = first; s < boxes.count; ++s)
      if (!(distances[s] > square)) out.insert(r, s - first);
  }
}

}  // namespace widemargin
