#include "kernel/near_rows.hpp"

#include <algorithm>

namespace widemargin {

namespace {

constexpr Size kFewestRows = 4;     // whole rows that fit in any budget
constexpr Size kEvictedShare = 16;  // of the rows, that leave together: they are looked for in all

}  // namespace

template <class Real>
NearRows<Real>::NearRows(Size samples, Size budget_bytes) : numbers_(samples, kNone) {
  constexpr Size piece = kSegment * sizeof(Real);
  const Size row = segments_of(samples) * piece;
  slab_ =
      std::make_unique<Slab>(std::max(std::min(budget_bytes, samples * row), kFewestRows * row));
  memory_ = static_cast<Real*>(slab_->data());
  capacity_ = std::min(slab_->bytes() / piece, Size(std::numeric_limits<Index>::max()));
}

template <class Real>
Index NearRows<Real>::add(Index sample) {
  if (free_rows_.empty()) {
    free_rows_.push_back(Index(rows_.size()));
    rows_.emplace_back();
  }
  const Index row = free_rows_.back();
  free_rows_.pop_back();
  rows_[Size(row)].sample = sample;
  rows_[Size(row)].last_use = clock_;
  numbers_[Size(sample)] = row;
  return row;
}

template <class Real>
void NearRows<Real>::release(Index row) {
  Row& own = rows_[Size(row)];
  free_.insert(free_.end(), own.pieces.begin(), own.pieces.end());
  numbers_[Size(own.sample)] = kNone;
  own = Row{};
  free_rows_.push_back(row);
}

template <class Real>
void NearRows<Real>::release_unused() {
  for (Size row = 0; row < rows_.size(); ++row)
    if (rows_[row].sample >= 0 && rows_[row].last_use < clock_) release(Index(row));
}

// Rows that were used longest ago leave until so many pieces are free.
template <class Real>
bool NearRows<Real>::make_room(Size pieces) {
  while (capacity_ - used_ + free_.size() < pieces) {
    std::vector<std::pair<std::uint64_t, Index>> unused;
    for (Size row = 0; row < rows_.size(); ++row)
      if (rows_[row].sample >= 0 && rows_[row].last_use < clock_)
        unused.emplace_back(rows_[row].last_use, Index(row));
    if (unused.empty()) return false;
    const Size leaving = unused.size() / kEvictedShare + 1;
    std::partial_sort(unused.begin(), unused.begin() + std::ptrdiff_t(leaving), unused.end());
    for (Size k = 0; k < leaving; ++k) release(unused[k].second);
  }
  return true;
}

template <class Real>
Index NearRows<Real>::take() {
  if (free_.empty()) return Index(used_++);
  const Index piece = free_.back();
  free_.pop_back();
  return piece;
}

template <class Real>
bool NearRows<Real>::complete(Index row, Size columns, Size first, const std::uint64_t* near) {
  const Size segments = segments_of(columns);
  Size missing = 0;
  for (Size s = first; s < segments; ++s) missing += is_near(near, s - first);
  if (!make_room(missing)) {
    release(row);
    return false;
  }
  Row& own = rows_[Size(row)];
  const bool begun = !own.segments.empty() && own.segments.back() == Index(first);
  for (Size s = begun ? first + 1 : first; s < segments; ++s) {
    if (!is_near(near, s - first)) continue;
    own.segments.push_back(Index(s));
    own.pieces.push_back(take());
    if (s * kSegment < own.known)
      std::fill_n(entries(own.pieces.back()), own.known - s * kSegment, Real(0));
  }
  own.known = columns;
  return true;
}

template <class Real>
void NearRows<Real>::keep(const std::vector<Position>& positions) {
  Size unmoved = 0;  // the first segments stay where they are
  while ((unmoved + 1) * kSegment <= positions.size() &&
         Size(positions[(unmoved + 1) * kSegment - 1]) + 1 == (unmoved + 1) * kSegment)
    ++unmoved;
  std::vector<Size> starts{0};  // the first position that stays of each segment, and of none
  for (Size k = 0; k < positions.size(); ++k)
    starts.resize(std::max(starts.size(), Size(positions[k]) / kSegment + 1), k);
  const Size last = starts.size();
  for (Row& row : rows_)
    if (row.sample >= 0) {
      starts.resize(std::max(last, segments_of(row.known) + 1), positions.size());
      keep_of(row, positions, starts, unmoved);
    }
}

// Entries of segments that move are copied, and replace what was there.
template <class Real>
void NearRows<Real>::keep_of(Row& row, const std::vector<Position>& positions,
                             const std::vector<Size>& starts, Size unmoved) {
  const auto end = std::lower_bound(positions.begin(), positions.end(), Position(row.known));
  const Size kept = Size(end - positions.begin());
  const Size staying = Size(std::lower_bound(row.segments.begin(), row.segments.end(),
                                             Index(std::min(unmoved, segments_of(kept)))) -
                            row.segments.begin());
  std::vector<Real> moved;
  std::vector<Index> segments;
  for (Size k = staying; k < row.segments.size(); ++k) {
    const Size segment = Size(row.segments[k]);
    const Real* from = entries(row.pieces[k]);
    for (Size c = starts[segment]; c < std::min(starts[segment + 1], kept); ++c) {
      if (segments.empty() || Size(segments.back()) < c / kSegment) {
        segments.push_back(Index(c / kSegment));
        moved.resize(moved.size() + kSegment, Real(0));
      }
      moved[moved.size() - kSegment + c % kSegment] = from[Size(positions[c]) % kSegment];
    }
  }
  free_.insert(free_.end(), row.pieces.begin() + std::ptrdiff_t(staying), row.pieces.end());
  row.segments.resize(staying), row.pieces.resize(staying);
  row.known = kept;
  if (capacity_ - used_ + free_.size() < segments.size())
    return release(numbers_[Size(row.sample)]);
  for (Size k = 0; k < segments.size(); ++k) {
    row.segments.push_back(segments[k]);
    row.pieces.push_back(take());
    std::copy_n(moved.data() + k * kSegment, kSegment, entries(row.pieces.back()));
  }
}

template <class Real>
void NearRows<Real>::expand(Index row, Real* out) const {
  const Row& own = rows_[Size(row)];
  std::fill_n(out, own.known, Real(0));
  for (Size k = 0; k < own.segments.size(); ++k) {
    const Size first = Size(own.segments[k]) * kSegment;
    std::copy_n(entries(own.pieces[k]), std::min(kSegment, own.known - first), out + first);
  }
}

template class NearRows<float>;
template class NearRows<double>;

}  // namespace widemargin
