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
  slab_ = std::make_unique<Slab>(std::max(std::min(budget_bytes, samples * row), kFewestRows * row));
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
  for (const Index piece : own.pieces) give_back(piece);
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
  own.pieces.resize(segments, kNone);
  for (Size s = first; s < segments; ++s) {
    if (own.pieces[s] != kNone || !is_near(near, s - first)) continue;
    own.pieces[s] = take();
    if (s * kSegment < own.known)
      std::fill_n(piece(row, s), own.known - s * kSegment, Real(0));
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
  for (Size row = 0; row < rows_.size(); ++row)
    if (rows_[row].sample >= 0) keep_of(rows_[row], positions, unmoved);
}

template <class Real>
void NearRows<Real>::keep_of(Row& row, const std::vector<Position>& positions, Size unmoved) {
  const auto end = std::lower_bound(positions.begin(), positions.end(), Position(row.known));
  const Size kept = Size(end - positions.begin()), segments = segments_of(kept);
  std::vector<Index> pieces(row.pieces.begin(),
                            row.pieces.begin() + std::ptrdiff_t(std::min(unmoved, segments)));
  std::vector<Real> entries;  // of the others that are not zero, which come in their place
  std::vector<Size> moved;
  for (Size s = pieces.size(); s < segments; ++s) {
    const Size first = s * kSegment, count = std::min(kSegment, kept - first);
    Real values[kSegment] = {};
    bool zero = true;
    for (Size c = 0; c < count; ++c) {
      const Size from = Size(positions[first + c]);
      const Index piece = row.pieces[from / kSegment];
      if (piece == kNone) continue;
      values[c] = memory_[Size(piece) * kSegment + from % kSegment];
      zero = false;
    }
    if (zero) continue;
    moved.push_back(s);
    entries.insert(entries.end(), values, values + kSegment);
  }
  for (Size s = pieces.size(); s < row.pieces.size(); ++s) give_back(row.pieces[s]);
  pieces.resize(segments, kNone);
  row.pieces = std::move(pieces);
  row.known = kept;
  if (capacity_ - used_ + free_.size() < moved.size()) return release(numbers_[Size(row.sample)]);
  for (Size k = 0; k < moved.size(); ++k) {
    row.pieces[moved[k]] = take();
    std::copy_n(entries.data() + k * kSegment, kSegment,
                memory_ + Size(row.pieces[moved[k]]) * kSegment);
  }
}

template <class Real>
void NearRows<Real>::expand(Index row, Real* out) const {
  const Row& own = rows_[Size(row)];
  for (Size s = 0; s < own.pieces.size(); ++s) {
    const Size first = s * kSegment, count = std::min(kSegment, own.known - first);
    if (const Real* entries = piece(row, s))
      std::copy_n(entries, count, out + first);
    else
      std::fill_n(out + first, count, Real(0));
  }
}

template class NearRows<float>;
template class NearRows<double>;

}  // namespace widemargin
