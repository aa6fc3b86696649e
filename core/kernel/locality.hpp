// Which samples are near each other under a narrow Gaussian kernel.
//
// Where most entries are zero but for rounding, samples are put in an order in which near ones are
// neighbours. Columns in that order fall into segments, each in a box; a row is near a segment
// unless the distance to its box proves that every entry between them is negligible, and only such
// segments are evaluated, kept and added up (mathematics 8.2).
#pragma once

#include <vector>

#include "common.hpp"
#include "kernel/samples.hpp"

namespace widemargin {

constexpr Size kSegment = 64;  // columns: a whole number of tiles

// Entries that are proven to be below 2^-kNegligible count as zero. A sum of n such entries is far
// below the rounding of the other entries: of one of them, u n, in double precision.
template <class Real>
constexpr double kNegligible = sizeof(Real) == 4 ? 44.0 : 60.0;

constexpr Size segments_of(Size columns) {
  return (columns + kSegment - 1) / kSegment;
}

// Of consecutive segments of columns, in the coordinates of the kernel.
struct Boxes {
  Size count = 0, stride = 0;
  std::vector<float> low, high;  // [feature][stride]
};

// A set of segments for each of some rows.
class NearSegments {
 public:
  NearSegments(Size rows, Size segments)
      : words_((segments + 63) / 64), bits_(rows * words_, 0), rows_(rows) {
    for (Size r = 0; r < rows; ++r) rows_[r] = bits_.data() + r * words_;
  }
  NearSegments(const NearSegments&) = delete;
  NearSegments& operator=(const NearSegments&) = delete;

  void insert(Size row, Size segment) {
    bits_[row * words_ + segment / 64] |= std::uint64_t(1) << segment % 64;
  }
  const std::uint64_t* const* rows() const { return rows_.data(); }

 private:
  Size words_;
  std::vector<std::uint64_t> bits_;
  std::vector<const std::uint64_t*> rows_;
};

inline bool is_near(const std::uint64_t* segments, Size segment) {
  return segments[segment / 64] >> segment % 64 & 1;
}

class Locality {
 public:
  explicit Locality(const Samples& samples);  // dense, transformed for a Gaussian kernel

  // Of a row with all samples, the part that is near, judged by some rows; 1 where it is too large
  // to be worth an order.
  double near_share() const { return near_share_; }
  Index place(Index sample) const { return places_[Size(sample)]; }  // in the order

  // The boxes of these columns, segment by segment.
  void enclose(const Index* columns, Size count, Boxes& out) const;
  // Which of the segments from `first` on are near each row: entries of the others are below
  // 2^-negligible.
  void find_near(const Index* rows, Size n_rows, const Boxes& boxes, Size first, double negligible,
                 NearSegments& out) const;

 private:
  std::vector<Index> in_order(std::vector<Index> ids) const;
  double share_of_pairs() const;
  double share_of_segments() const;

  const Samples& samples_;
  double near_share_ = 1.0;
  std::vector<Index> places_;  // by sample
};

}  // namespace widemargin
