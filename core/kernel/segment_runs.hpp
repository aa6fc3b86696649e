// Where a few rows of a local kernel are not zero: runs of segments that the same rows have.
#pragma once

#include <algorithm>
#include <array>

#include "kernel/near_rows.hpp"

namespace widemargin {

template <class Real>
class SegmentRuns {
 public:
  static constexpr Size kMost = 8;  // rows

  // Of the segments [begin, end).
  SegmentRuns(const NearRows<Real>& rows, Size begin, Size end)
      : rows_(rows), begin_(Index(begin)), end_(Index(end)) {}

  void add(Index row, double weight) {
    const typename NearRows<Real>::Row& own = rows_[row];
    const Index* all = own.segments.data();
    const Index* to = all + own.segments.size();
    const Index* at = std::lower_bound(all, to, begin_);
    cursors_[count_++] = {at, own.pieces.data() + (at - all), std::lower_bound(at, to, end_),
                          weight};
  }

  // Goes on to the next run; false where there is none.
  bool next() {
    segment_ = end_;
    for (Size r = 0; r < count_; ++r)
      if (cursors_[r].segment != cursors_[r].end)
        segment_ = std::min(segment_, *cursors_[r].segment);
    if (segment_ == end_) return false;
    present_ = 0;
    for (Size r = 0; r < count_; ++r) {
      Cursor& own = cursors_[r];
      if (own.segment == own.end || *own.segment != segment_) continue;
      entries_[present_] = rows_.entries(*own.piece);
      weights_[present_++] = own.weight;
    }
    length_ = 0;
    do advance();
    while (goes_on());
    return true;
  }

  Size segment() const { return Size(segment_); }  // the first one
  Size length() const { return Size(length_); }    // segments
  // Of the rows that have the run: the first segments, behind which the others lie.
  Size rows() const { return present_; }
  const Real* const* entries() const { return entries_.data(); }
  const double* weights() const { return weights_.data(); }

 private:
  struct Cursor {
    const Index* segment;
    const Index* piece;
    const Index* end;
    double weight;
  };

  void advance() {
    for (Size r = 0; r < count_; ++r) {
      Cursor& own = cursors_[r];
      if (own.segment != own.end && *own.segment == segment_ + length_) ++own.segment, ++own.piece;
    }
    ++length_;
  }

  // Whether the same rows have the next segment, and have it behind this one.
  bool goes_on() const {
    Size same = 0;
    for (Size r = 0; r < count_; ++r) {
      const Cursor& own = cursors_[r];
      if (own.segment == own.end || *own.segment != segment_ + length_) continue;
      if (same == present_ ||
          rows_.entries(*own.piece) != entries_[same] + Size(length_) * kSegment)
        return false;
      ++same;
    }
    return same == present_;
  }

  const NearRows<Real>& rows_;
  Index begin_, end_;
  std::array<Cursor, kMost> cursors_;
  Size count_ = 0, present_ = 0;
  Index segment_ = 0, length_ = 0;
  std::array<const Real*, kMost> entries_;
  std::array<double, kMost> weights_;
};

}  // namespace widemargin
