#include "kernel/row_cache.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "simd/dispatch.hpp"

namespace widemargin {

namespace {

constexpr Size kMovedBytes = Size(64) << 20;
constexpr Size kPadding = 16;  // rows have room for whole panels

// gradient[c] += sum_k weights[k] rows[k][c] for c < width
template <class Real>
void add_rows(const std::vector<const Real*>& rows, const std::vector<double>& weights, Size width,
              double* gradient, Team& team) {
  if (rows.empty()) return;
  team.run(width, 16, double(width) * double(rows.size()) * 0.5, [&](Size begin, Size end) {
    std::vector<const Real*> part(rows);
    for (auto& p : part) p += begin;
    routines<Real>().combine(part.data(), weights.data(), part.size(), end - begin,
                             gradient + begin);
  });
}

}  // namespace

template <class Real>
RowCache<Real>::RowCache(const Source& source, Size budget_bytes,
                         std::atomic<std::uint64_t>& evaluated)
    : source_(source), budget_(budget_bytes), evaluated_(evaluated), slots_of_(source.size(), -1) {}

template <class Real>
void RowCache<Real>::unlink(Index slot) {
  Slot& self = slots_[Size(slot)];
  (self.newer < 0 ? newest_ : slots_[Size(self.newer)].older) = self.older;
  (self.older < 0 ? oldest_ : slots_[Size(self.older)].newer) = self.newer;
}

template <class Real>
void RowCache<Real>::touch(Index slot) {
  if (slots_[Size(slot)].sample < 0) return;
  if (newest_ != slot) {
    unlink(slot);
    slots_[Size(slot)].newer = -1;
    slots_[Size(slot)].older = newest_;
    if (newest_ >= 0) slots_[Size(newest_)].newer = slot;
    newest_ = slot;
    if (oldest_ < 0) oldest_ = slot;
  }
  stamp_[Size(slot)] = clock_;
}

template <class Real>
void RowCache<Real>::release(Index slot) {
  unlink(slot);
  slots_of_[Size(slots_[Size(slot)].sample)] = -1;
  slots_[Size(slot)] = Slot{};
  free_.push_back(slot);
}

template <class Real>
Index RowCache<Real>::take(Index sample, std::uint64_t keep_from) {
  Index slot = -1;
  if (!free_.empty()) {
    slot = free_.back();
    free_.pop_back();
  } else if (slots_.size() < slot_limit_) {
    slot = Index(slots_.size());
    slots_.emplace_back();
    stamp_.push_back(0);
  } else if (oldest_ >= 0 && stamp_[Size(oldest_)] < keep_from) {
    slot = oldest_;
    release(slot);
    free_.pop_back();
  } else {
    return -1;
  }
  Slot& self = slots_[Size(slot)];
  self = Slot{sample, 0, -1, newest_};
  if (newest_ >= 0) slots_[Size(newest_)].newer = slot;
  newest_ = slot;
  if (oldest_ < 0) oldest_ = slot;
  slots_of_[Size(sample)] = slot;
  stamp_[Size(slot)] = clock_;
  return slot;
}

// Gives every slot room for `columns` entries, moving the rows inside the slab.
template <class Real>
void RowCache<Real>::layout(Size columns) {
  const Size capacity = std::max<Size>(kPadding, (columns + kPadding - 1) / kPadding * kPadding);
  if (!slab_) {
    const Size everything = (source_.size() + 15) / 16 * 16 * source_.size() * sizeof(Real);
    const Size least = 4 * capacity * sizeof(Real);  // the pair solver holds two rows at a time
    slab_ = std::make_unique<Slab>(std::max(std::min(budget_, everything), least));
    memory_ = static_cast<Real*>(slab_->data());
  }
  const auto rows_of = [&](Size length) {
    return std::min(slab_->bytes() / (length * sizeof(Real)), source_.size());
  };
  // Rows with room to spare stay where they are while there is memory for as many again.
  if (capacity == capacity_) return;
  if (capacity < capacity_ && slots_.size() <= rows_of(capacity_) / 2) return;
  const Size limit = rows_of(capacity);
  // Many rows that know less than half of their new length are dropped: moving them apart touches
  // all of their new memory at once (seconds), and most of them had to be evaluated anyway.
  const Size moved_bytes = held() * capacity * sizeof(Real);
  const Size worth = capacity >= 2 * capacity_ && moved_bytes > kMovedBytes ? 0 : limit;
  while (held() > worth) release(oldest_);
  // Close the holes: the last used slot moves into the first free one.
  std::sort(free_.begin(), free_.end());
  for (Index hole : free_) {
    while (!slots_.empty() && slots_.back().sample < 0) {
      slots_.pop_back();
      stamp_.pop_back();
    }
    if (Size(hole) >= slots_.size()) break;
    const Index last = Index(slots_.size()) - 1;
    std::memcpy(entries(hole), entries(last), slots_.back().valid * sizeof(Real));
    slots_[Size(hole)] = slots_.back();
    stamp_[Size(hole)] = stamp_.back();
    const Slot& moved = slots_[Size(hole)];
    (moved.newer < 0 ? newest_ : slots_[Size(moved.newer)].older) = hole;
    (moved.older < 0 ? oldest_ : slots_[Size(moved.older)].newer) = hole;
    slots_of_[Size(moved.sample)] = hole;
    slots_.pop_back();
    stamp_.pop_back();
  }
  free_.clear();
  while (!slots_.empty() && slots_.back().sample < 0) {
    slots_.pop_back();
    stamp_.pop_back();
  }
  const auto move = [&](Size s) {
    std::memmove(memory_ + s * capacity, memory_ + s * capacity_, slots_[s].valid * sizeof(Real));
  };
  if (capacity > capacity_)
    for (Size s = slots_.size(); s-- > 0;) move(s);
  else
    for (Size s = 0; s < slots_.size(); ++s) move(s);
  capacity_ = capacity;
  slot_limit_ = limit;
}

// Keeps the columns at the given increasing positions.
template <class Real>
void RowCache<Real>::keep(const std::vector<Index>& positions, Team& team) {
  if (positions.size() == columns_.size()) return;
  const double cost = double(slots_.size()) * double(positions.size());
  team.run(slots_.size(), 1, cost, [&](Size begin, Size end) {
    for (Size s = begin; s < end; ++s) {
      Slot& slot = slots_[s];
      if (slot.sample < 0) continue;
      Real* row = entries(Index(s));
      Size kept = 0;
      while (kept < positions.size() && Size(positions[kept]) < slot.valid) {
        row[kept] = row[positions[kept]];
        ++kept;
      }
      slot.valid = kept;
    }
  });
  for (Size k = 0; k < positions.size(); ++k) columns_[k] = columns_[Size(positions[k])];
  columns_.resize(positions.size());
}

template <class Real>
const std::vector<Index>& RowCache<Real>::arrange(const std::vector<Index>& wanted, Team& team) {
  std::vector<char> state(source_.size(), 0);  // 1 wanted, 2 present already
  for (Index sample : wanted) state[Size(sample)] = 1;
  std::vector<Index> kept;
  for (Size p = 0; p < columns_.size(); ++p)
    if (state[Size(columns_[p])] == 1) {
      state[Size(columns_[p])] = 2;
      kept.push_back(Index(p));
    }
  keep(kept, team);
  for (Index sample : wanted)
    if (state[Size(sample)] == 1) columns_.push_back(sample);
  layout(columns_.size());
  source_.prepare(columns_.data(), columns_.size(), prepared_);
  return columns_;
}

// Evaluates what is missing of the rows, each kept in its slot unless that is -1, and adds the rows
// that were incomplete to the gradient, where there is one.
template <class Real>
void RowCache<Real>::complete(const Index* rows, const std::vector<Index>& slots,
                              const double* weights, double* gradient, Team& team) {
  const Size width = columns_.size();
  // Rows with the same known prefix are completed together; prefix 0 is a new row.
  std::map<Size, std::vector<Size>> missing;
  for (Size k = 0; k < slots.size(); ++k) {
    const Size valid = slots[k] < 0 ? 0 : slots_[Size(slots[k])].valid;
    if (valid < width) missing[valid].push_back(k);
  }
  std::vector<Index> ids;
  std::vector<Real*> store;
  std::vector<double> row_weights;
  for (const auto& [valid, members] : missing) {
    ids.clear(), store.clear(), row_weights.clear();
    for (Size k : members) {
      ids.push_back(rows[k]);
      store.push_back(slots[k] < 0 ? nullptr : entries(slots[k]) + valid);
      if (gradient) row_weights.push_back(weights[k]);
    }
    Sweep<Real> work{ids.data(),
                     ids.size(),
                     columns_.data() + valid,
                     width - valid,
                     store.data(),
                     gradient ? row_weights.data() : nullptr,
                     gradient ? gradient + valid : nullptr,
                     valid == 0 && !prepared_.panels.empty() ? &prepared_ : nullptr};
    source_.sweep(work, team);
    evaluated_ += std::uint64_t(ids.size()) * (width - valid);
    std::vector<const Real*> prefix;
    for (Size k : members) {
      if (slots[k] < 0) continue;
      slots_[Size(slots[k])].valid = width;
      prefix.push_back(entries(slots[k]));
    }
    if (gradient && valid > 0)  // the known prefix of extended rows still has to be added
      add_rows(prefix, row_weights, valid, gradient, team);
  }
}

template <class Real>
void RowCache<Real>::apply(const Index* rows, const double* weights, const char* keep, Size count,
                           double* gradient, Team& team) {
  ++clock_;
  std::vector<Index> slots(count);
  for (Size k = 0; k < count; ++k) {
    slots[k] = slot_of(rows[k]);
    if (slots[k] >= 0) touch(slots[k]);
  }
  std::vector<const Real*> known;
  std::vector<double> known_weights;
  for (Size k = 0; k < count; ++k) {
    if (slots[k] < 0 && keep[k]) slots[k] = take(rows[k], clock_);
    if (slots[k] < 0 || slots_[Size(slots[k])].valid < columns_.size()) continue;
    known.push_back(entries(slots[k]));
    known_weights.push_back(weights[k]);
  }
  complete(rows, slots, weights, gradient, team);
  add_rows(known, known_weights, columns_.size(), gradient, team);
}

template <class Real>
std::vector<const Real*> RowCache<Real>::table(Team& team) {
  std::vector<const Real*> out;
  const Size count = columns_.size();
  if (count > slot_limit_) return out;
  ++clock_;
  std::vector<Index> slots(count);
  for (Size k = 0; k < count; ++k) {
    slots[k] = slot_of(columns_[k]);
    if (slots[k] >= 0) touch(slots[k]);
  }
  while (oldest_ >= 0 && stamp_[Size(oldest_)] < clock_) release(oldest_);  // memory used once more
  for (Size k = 0; k < count; ++k)
    if (slots[k] < 0) slots[k] = take(columns_[k], clock_);
  complete(columns_.data(), slots, nullptr, nullptr, team);
  const Size padded = (count + kPadding - 1) / kPadding * kPadding;
  for (Index slot : slots) {
    std::fill(entries(slot) + count, entries(slot) + padded, Real(0));
    out.push_back(entries(slot));
  }
  return out;
}

template <class Real>
void RowCache<Real>::block(const Index* positions, Size count, Size first, Size stride, Real* out,
                           Team& team) {
  std::vector<Index> ids(count), absent;
  std::vector<Real*> store;
  Index last = 0;
  for (Size a = 0; a < count; ++a) {
    ids[a] = columns_[Size(positions[a])];
    last = std::max(last, positions[a]);
  }
  for (Size a = first; a < count; ++a) {
    const Index slot = slot_of(ids[a]);
    Real* to = out + a * stride;
    if (!source_.cheap() && slot >= 0 && slots_[Size(slot)].valid > Size(last)) {
      const Real* row = entries(slot);
      for (Size b = 0; b < count; ++b) to[b] = row[positions[b]];
    } else {
      absent.push_back(ids[a]);
      store.push_back(to);
    }
  }
  if (absent.empty()) return;
  source_.sweep(Sweep<Real>{absent.data(), absent.size(), ids.data(), count, store.data()}, team);
  evaluated_ += std::uint64_t(absent.size()) * count;
}

template <class Real>
const Real* RowCache<Real>::row(Index sample, Team& team) {
  ++clock_;
  Index slot = slot_of(sample);
  if (slot < 0) slot = take(sample, clock_);
  if (slot < 0) throw std::bad_alloc();
  touch(slot);
  Slot& self = slots_[Size(slot)];
  if (self.valid < columns_.size()) {
    Real* to = entries(slot) + self.valid;
    const bool whole = self.valid == 0 && !prepared_.panels.empty();
    source_.sweep(
        Sweep<Real>{&sample, 1, columns_.data() + self.valid, columns_.size() - self.valid, &to,
                    nullptr, nullptr, whole ? &prepared_ : nullptr},
        team);
    evaluated_ += columns_.size() - self.valid;
    self.valid = columns_.size();
  }
  return entries(slot);
}

template class RowCache<float>;
template class RowCache<double>;

}  // namespace widemargin
