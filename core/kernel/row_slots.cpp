#include "kernel/row_slots.hpp"

#include <algorithm>
#include <cstring>

namespace widemargin {

namespace {

constexpr Size kMovedBytes = Size(64) << 20;  // rows beyond it take long to move
constexpr Size kFewestRows = 4;               // the pair solver holds two rows at a time

// Such rows get room for an eighth of their columns more, where an eighth of the memory stays free:
// moving gigabytes for a few columns at a time was a tenth of a long solve.
constexpr Size kSpare = 8;

// Rows have room for whole panels of columns.
constexpr Size padded(Size columns) {
  return (columns + kRowPadding - 1) / kRowPadding * kRowPadding;
}

constexpr Size with_spare(Size length) {
  return padded(length + length / kSpare);
}

}  // namespace

template <class Real>
RowSlots<Real>::RowSlots(Size samples, Size budget_bytes)
    : budget_(budget_bytes), slots_(samples, Slot::none) {}

template <class Real>
void RowSlots<Real>::link_newest(Slot slot) {
  row(slot).newer = Slot::none;
  row(slot).older = newest_;
  if (newest_ != Slot::none) row(newest_).newer = slot;
  newest_ = slot;
  if (oldest_ == Slot::none) oldest_ = slot;
}

template <class Real>
void RowSlots<Real>::unlink(Slot slot) {
  const Row& self = row(slot);
  (self.newer == Slot::none ? newest_ : row(self.newer).older) = self.older;
  (self.older == Slot::none ? oldest_ : row(self.older).newer) = self.newer;
}

template <class Real>
void RowSlots<Real>::touch(Slot slot) {
  if (newest_ != slot) {
    unlink(slot);
    link_newest(slot);
  }
  row(slot).last_use = clock_;
}

template <class Real>
void RowSlots<Real>::release(Slot slot) {
  unlink(slot);
  slots_[Size(row(slot).sample)] = Slot::none;
  row(slot) = Row{};
  free_.push_back(slot);
}

template <class Real>
Slot RowSlots<Real>::take(Index sample) {
  if (free_.empty() && rows_.size() >= limit_) {
    if (oldest_ == Slot::none || row(oldest_).last_use == clock_) return Slot::none;
    release(oldest_);
  }
  if (free_.empty()) {
    free_.push_back(Slot(rows_.size()));
    rows_.emplace_back();
  }
  const Slot slot = free_.back();
  free_.pop_back();
  row(slot).sample = sample;
  row(slot).last_use = clock_;
  slots_[Size(sample)] = slot;
  link_newest(slot);
  return slot;
}

template <class Real>
void RowSlots<Real>::release_unused() {
  while (oldest_ != Slot::none && row(oldest_).last_use < clock_) release(oldest_);
}

template <class Real>
void RowSlots<Real>::release_all() {
  for (const Row& own : rows_)
    if (own.sample >= 0) slots_[Size(own.sample)] = Slot::none;
  rows_.clear(), free_.clear();
  newest_ = oldest_ = Slot::none;
}

template <class Real>
Size RowSlots<Real>::rows_of(Size length) const {
  return std::min(slab_->bytes() / (length * sizeof(Real)), slots_.size());
}

template <class Real>
Size RowSlots<Real>::rows_beside_spare(Size length) const {
  return rows_of(length) - rows_of(length) / kSpare;
}

template <class Real>
void RowSlots<Real>::resize(Size columns) {
  const Size length = std::max(kRowPadding, padded(columns));
  if (!slab_) allocate(length);
  if (layout_suits(length)) return;
  const Size roomy = with_spare(length);
  const bool spares = held() * length * sizeof(Real) > kMovedBytes &&
                      std::max(held(), columns) <= rows_beside_spare(roomy);  // room for a table
  const Size given = spares ? roomy : length;
  evict_for(given);
  close_holes();
  move_rows(given);
}

template <class Real>
void RowSlots<Real>::allocate(Size length) {
  const Size all_rows = padded(slots_.size()) * slots_.size() * sizeof(Real);
  const Size least = kFewestRows * length * sizeof(Real);
  slab_ = std::make_unique<Slab>(std::max(std::min(budget_, all_rows), least));
  memory_ = static_cast<Real*>(slab_->data());
}

// Rows with much room to spare stay where they are while there is memory for as many again.
template <class Real>
bool RowSlots<Real>::layout_suits(Size length) const {
  if (length >= length_) return length == length_;
  const bool is_little = length_ <= with_spare(length);
  return rows_.size() <= (is_little ? rows_beside_spare(length_) : rows_of(length_) / 2);
}

// Moving rows apart touches all of their new memory at once (seconds); of rows that know less than
// half of their new length most has to be evaluated anyway.
template <class Real>
bool RowSlots<Real>::moves_much(Size columns) const {
  const Size length = padded(columns);
  return length >= 2 * length_ && held() * length * sizeof(Real) > kMovedBytes;
}

template <class Real>
void RowSlots<Real>::evict_for(Size length) {
  limit_ = rows_of(length);
  while (held() > limit_) release(oldest_);
}

// The last row in use moves into the first free slot, until the rows lie without a gap.
template <class Real>
void RowSlots<Real>::close_holes() {
  std::sort(free_.begin(), free_.end());
  for (const Slot hole : free_) {
    drop_free_tail();
    if (Size(hole) >= rows_.size()) break;
    const Slot last = Slot(rows_.size() - 1);
    std::memcpy(entries(hole), entries(last), row(last).known * sizeof(Real));
    row(hole) = row(last);
    const Row& moved = row(hole);
    (moved.newer == Slot::none ? newest_ : row(moved.newer).older) = hole;
    (moved.older == Slot::none ? oldest_ : row(moved.older).newer) = hole;
    slots_[Size(moved.sample)] = hole;
    rows_.pop_back();
  }
  free_.clear();
  drop_free_tail();
}

template <class Real>
void RowSlots<Real>::drop_free_tail() {
  while (!rows_.empty() && rows_.back().sample < 0) rows_.pop_back();
}

template <class Real>
void RowSlots<Real>::move_rows(Size length) {
  const auto move = [&](Size slot) {
    std::memmove(memory_ + slot * length, memory_ + slot * length_,
                 rows_[slot].known * sizeof(Real));
  };
  if (length > length_)
    for (Size slot = rows_.size(); slot-- > 0;) move(slot);
  else
    for (Size slot = 0; slot < rows_.size(); ++slot) move(slot);
  length_ = length;
}

template <class Real>
void RowSlots<Real>::keep(const std::vector<Position>& positions, Team& team) {
  const double cost = double(rows_.size()) * double(positions.size());
  Size unmoved = 0;  // the first entries stay where they are
  while (unmoved < positions.size() && Size(positions[unmoved]) == unmoved) ++unmoved;
  team.run(rows_.size(), 1, cost, [&](Size begin, Size end) {
    for (Size slot = begin; slot < end; ++slot) {
      if (rows_[slot].sample < 0) continue;
      Real* entry = entries(Slot(slot));
      const auto end_of_known =
          std::lower_bound(positions.begin(), positions.end(), Position(rows_[slot].known));
      const Size kept = Size(end_of_known - positions.begin());
      for (Size k = unmoved; k < kept; ++k) entry[k] = entry[Size(positions[k])];
      rows_[slot].known = kept;
    }
  });
}

template class RowSlots<float>;
template class RowSlots<double>;

}  // namespace widemargin
