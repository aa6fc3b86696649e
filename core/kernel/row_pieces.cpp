#include "kernel/row_pieces.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "simd/dispatch.hpp"

namespace widemargin {

namespace {

constexpr Size kPackedBytes = Size(1) << 28;  // of all columns, packed once

// Rows of few features are read from the second-level cache by a strip of four as fast as by more;
// the columns of many features come from memory, for several strips at a time.
constexpr Size kTogether = kStripRows, kTogetherWide = 4 * kStripRows;

std::vector<Size> with_end(std::vector<Size> starts, Size end) {
  starts.push_back(end);
  return starts;
}

Size longest_segment(const std::vector<Size>& starts) {
  constexpr Size width = panel_width<float>();
  Size longest = 1;
  for (Size s = 0; s + 1 < starts.size(); ++s)
    longest = std::max(longest, starts[s + 1] - starts[s]);
  return (longest + width - 1) / width * width;
}

}  // namespace

RowPieces::RowPieces(Gram& gram, std::vector<Size> starts, Size capacity,
                     const std::vector<double>& diagonal)
    : gram_(gram),
      starts_(with_end(std::move(starts), gram.size())),
      segments_(gram.size()),
      diagonal_(diagonal),
      length_(longest_segment(starts_)),
      together_(gram.source().cheap() ? kTogether : kTogetherWide),
      columns_(count()),
      slab_(std::max<Size>(1, capacity) * length_ * sizeof(float)),
      slots_(std::make_unique<Slot[]>(gram.size() * count())),
      users_(count() * count(), 0) {
  for (Size k = 0; k < gram.size() * count(); ++k) slots_[k] = nullptr;
  free_.reserve(capacity);  // giving pieces up must not fail
  Size bytes = 0;
  for (Size s = 0; s < count(); ++s) {
    std::fill(segments_.begin() + std::ptrdiff_t(starts_[s]),
              segments_.begin() + std::ptrdiff_t(starts_[s + 1]), Index(s));
    std::vector<Index> columns(starts_[s + 1] - starts_[s]);
    std::iota(columns.begin(), columns.end(), Index(starts_[s]));
    if (bytes < kPackedBytes) gram.source().prepare(columns.data(), columns.size(), columns_[s]);
    bytes += columns_[s].panels.size() * sizeof(float);
  }
}

void RowPieces::gather(Index row, const Index* columns, Size count, float* out) const {
  for (Size c = 0; c < count;) {  // columns of a segment mostly stand together
    const Size s = segments_[Size(columns[c])];
    const float* piece = slot(row, s).load(std::memory_order_acquire);
    const Size begin = starts_[s], length = starts_[s + 1] - begin;
    for (; c < count && Size(columns[c]) - begin < length; ++c)  // below `begin` it wraps around
      out[c] = piece[Size(columns[c]) - begin];
  }
}

void RowPieces::provide(const std::vector<Index>& rows, const std::vector<Size>& segments) {
  for (const Size s : segments) evaluate(claim(rows, s), s);
  // A thread that waits has evaluated all that others may wait for.
  for (const Size s : segments)
    for (const Index row : rows) {
      if (slot(row, s).load(std::memory_order_acquire) == &pending_) {
        std::unique_lock<std::mutex> lock(mutex_);
        evaluated_.wait(lock, [&] { return slot(row, s).load() != &pending_; });
      }
      if (slot(row, s).load(std::memory_order_acquire) == nullptr) provide({row}, {s});
    }
}

// Those of the rows whose pieces are neither there nor being evaluated: the caller evaluates them.
std::vector<Index> RowPieces::claim(const std::vector<Index>& rows, Size s) {
  std::vector<Index> missing;
  missing.reserve(rows.size());
  for (const Index row : rows) {
    float* nothing = nullptr;
    if (slot(row, s).compare_exchange_strong(nothing, &pending_)) missing.push_back(row);
  }
  return missing;
}

std::vector<float*> RowPieces::take(Size pieces) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<float*> out;
  out.reserve(pieces);
  for (; out.size() < pieces && !free_.empty(); free_.pop_back()) out.push_back(free_.back());
  for (; out.size() < pieces; ++used_) {
    if ((used_ + 1) * length_ * sizeof(float) > slab_.bytes())
      throw std::logic_error("more pieces of rows than were announced");
    out.push_back(static_cast<float*>(slab_.data()) + used_ * length_);
  }
  return out;
}

// Evaluates claimed rows; where that throws, their claims are released.
void RowPieces::evaluate(const std::vector<Index>& rows, Size s) {
  if (rows.empty()) return;
  std::vector<float*> store;
  try {
    store = take(rows.size());
    fill(rows, s, store);
  } catch (...) {
    give_up(rows, s, store);
    throw;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  for (Size r = 0; r < rows.size(); ++r) slot(rows[r], s).store(store[r]);
  evaluated_.notify_all();
}

void RowPieces::give_up(const std::vector<Index>& rows, Size s, const std::vector<float*>& store) {
  std::lock_guard<std::mutex> lock(mutex_);
  free_.insert(free_.end(), store.begin(), store.end());
  for (const Index row : rows) slot(row, s).store(nullptr);
  evaluated_.notify_all();
}

void RowPieces::fill(const std::vector<Index>& rows, Size s, const std::vector<float*>& store) {
  std::vector<Index> columns(starts_[s + 1] - starts_[s]);
  std::iota(columns.begin(), columns.end(), Index(starts_[s]));
  const WorkLog::Timer timer(gram_.log(), Activity::entries);
  Sweep<float> work{rows.data(), rows.size(), columns.data(), columns.size(), store.data()};
  if (!columns_[s].panels.empty()) work.prepared = &columns_[s];
  Team alone(1);
  gram_.source().sweep(work, alone);
  gram_.log().count(Purpose::tables, rows.size() * columns.size());
}

void RowPieces::expect(const std::vector<Size>& segments) {
  for (const Size rows : segments)
    for (const Size columns : segments) ++users_[rows * count() + columns];
}

void RowPieces::release(const std::vector<Size>& segments) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const Size rows : segments)
    for (const Size columns : segments) {
      if (--users_[rows * count() + columns] > 0) continue;
      for (Size row = starts_[rows]; row < starts_[rows + 1]; ++row) {
        float* piece = slot(Index(row), columns).exchange(nullptr);
        if (piece != nullptr) free_.push_back(piece);
      }
    }
}

}  // namespace widemargin
