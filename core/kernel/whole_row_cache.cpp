#include "kernel/whole_row_cache.hpp"

#include <algorithm>
#include <map>
#include <new>

#include "kernel/square_table.hpp"
#include "simd/dispatch.hpp"

namespace widemargin {

namespace {

// Of an entry, in those of few features: that of taking it from a row to another place of the row.
constexpr double kCompactionCost = 3.0;
// The same, from which it takes longer to evaluate a pair of samples twice than to mirror it.
constexpr double kMirrorCost = 1.5;

}  // namespace

template <class Real>
WholeRowCache<Real>::WholeRowCache(const Source& source, Size budget_bytes, WorkLog& log)
    : RowCache<Real>(source, log), slots_(source.size(), budget_bytes) {}

template <class Real>
const ByPosition<Index>& WholeRowCache<Real>::arrange(const std::vector<Index>& wanted,
                                                      Team& team) {
  const WorkLog::Timer timer(log_, Activity::arranging);
  auto [kept, columns] = this->arrangement(wanted);
  const bool leaving = kept.size() < columns_.size();
  if (leaving && tabled_) release_for_table(kept);
  if (leaving)
    slots_.keep(kept, team);
  else if (wanted.size() == columns_.size())
    return columns_;
  if (slots_.moves_much(columns.size())) {
    slots_.begin_use();
    slots_.release_unused();
  }
  set_columns(std::move(columns));
  return columns_;
}

// Keeps for the next table the rows of the samples that stay, unless evaluating them again is
// cheaper than moving them.
template <class Real>
void WholeRowCache<Real>::release_for_table(const std::vector<Position>& kept) {
  if (source_.entry_cost() < kCompactionCost) {
    slots_.release_all();
    return;
  }
  std::vector<Index> rows;
  for (const Position p : kept) rows.push_back(columns_[p]);
  touched_slots(rows.data(), rows.size());
  slots_.release_unused();
}

template <class Real>
void WholeRowCache<Real>::set_columns(ByPosition<Index> columns) {
  columns_ = std::move(columns);
  slots_.resize(columns_.size());
  source_.prepare(columns_.data(), columns_.size(), prepared_);
}

template <class Real>
void WholeRowCache<Real>::extend(const std::vector<Index>& appended, const std::vector<Index>& rows,
                                 const double* weights, double* gradient, Team& team) {
  const Size before = columns_.size();
  tabled_ = false;
  touched_slots(rows.data(), rows.size());
  slots_.release_unused();
  ByPosition<Index> columns = columns_;
  for (const Index sample : appended) columns.push_back(sample);
  {
    const WorkLog::Timer timer(log_, Activity::arranging);
    set_columns(std::move(columns));
  }
  // A row that is not kept is needed in the new columns only.
  std::vector<Real*> store;
  std::vector<Slot> completed;
  for (const Index sample : rows) {
    const Slot slot = slots_.find(sample);
    const bool kept = slot != Slot::none && slots_.known(slot) == before;
    store.push_back(kept ? slots_.entries(slot) + before : nullptr);
    if (kept) completed.push_back(slot);
  }
  const Size count = columns_.size() - before;
  const WorkLog::Timer timer(log_, Activity::entries);
  source_.sweep(Sweep<Real>{rows.data(), rows.size(), columns_.data() + before, count, store.data(),
                            weights, gradient + before},
                team);
  log_.count(Purpose::stages, rows.size() * count);
  for (const Slot slot : completed) slots_.set_known(slot, columns_.size());
}

template <class Real>
Size WholeRowCache<Real>::incomplete(const std::vector<Index>& rows) const {
  return Size(std::count_if(rows.begin(), rows.end(), [&](Index sample) {
    const Slot slot = slots_.find(sample);
    return slot == Slot::none || slots_.known(slot) < columns_.size();
  }));
}

// The slots of rows that are in use from now on; none for a row that is not kept.
template <class Real>
std::vector<Slot> WholeRowCache<Real>::touched_slots(const Index* rows, Size count) {
  slots_.begin_use();
  std::vector<Slot> out(count);
  for (Size k = 0; k < count; ++k) {
    out[k] = slots_.find(rows[k]);
    if (out[k] != Slot::none) slots_.touch(out[k]);
  }
  return out;
}

// gradient[c] += sum_k weights[k] rows[k][c] for c < width
template <class Real>
void WholeRowCache<Real>::add_rows(const std::vector<const Real*>& rows,
                                   const std::vector<double>& weights, Size width, double* gradient,
                                   Team& team) {
  if (rows.empty()) return;
  const WorkLog::Timer timer(log_, Activity::row_sums);
  team.run(width, 16, double(width) * double(rows.size()) * 0.5, [&](Size begin, Size end) {
    std::vector<const Real*> part(rows);
    for (auto& p : part) p += begin;
    routines<Real>().combine(part.data(), weights.data(), part.size(), end - begin,
                             gradient + begin);
  });
}

// Evaluates what is missing of the rows, each kept in its slot unless it has none, and adds the
// rows that were incomplete to the gradient, where there is one.
template <class Real>
void WholeRowCache<Real>::complete(const Index* rows, const std::vector<Slot>& slots,
                                   const double* weights, double* gradient, Purpose purpose,
                                   Team& team) {
  const Size width = columns_.size();
  // Rows with the same known prefix are completed together; prefix 0 is a new row.
  std::map<Size, std::vector<Size>> missing;
  for (Size k = 0; k < slots.size(); ++k) {
    const Size known = slots[k] == Slot::none ? 0 : slots_.known(slots[k]);
    if (known < width) missing[known].push_back(k);
  }
  std::vector<Index> ids;
  std::vector<Real*> store;
  std::vector<double> row_weights;
  for (const auto& [known, members] : missing) {
    ids.clear(), store.clear(), row_weights.clear();
    for (const Size k : members) {
      ids.push_back(rows[k]);
      store.push_back(slots[k] == Slot::none ? nullptr : slots_.entries(slots[k]) + known);
      if (gradient) row_weights.push_back(weights[k]);
    }
    Sweep<Real> work{ids.data(),
                     ids.size(),
                     columns_.data() + known,
                     width - known,
                     store.data(),
                     gradient ? row_weights.data() : nullptr,
                     gradient ? gradient + known : nullptr,
                     known == 0 && !prepared_.panels.empty() ? &prepared_ : nullptr};
    {
      const WorkLog::Timer timer(log_, Activity::entries);
      source_.sweep(work, team);
    }
    log_.count(purpose, ids.size() * (width - known));
    std::vector<const Real*> prefix;
    for (const Size k : members) {
      if (slots[k] == Slot::none) continue;
      slots_.set_known(slots[k], width);
      prefix.push_back(slots_.entries(slots[k]));
    }
    if (gradient && known > 0)  // the known prefix of extended rows still has to be added
      add_rows(prefix, row_weights, known, gradient, team);
  }
}

template <class Real>
void WholeRowCache<Real>::apply(const Index* rows, const double* weights, const char* keep,
                                Size count, double* gradient, Team& team) {
  std::vector<Slot> slots = touched_slots(rows, count);
  std::vector<const Real*> complete_rows;
  std::vector<double> complete_weights;
  for (Size k = 0; k < count; ++k) {
    if (slots[k] == Slot::none && keep[k]) slots[k] = slots_.take(rows[k]);
    if (slots[k] == Slot::none || slots_.known(slots[k]) < columns_.size()) continue;
    complete_rows.push_back(slots_.entries(slots[k]));
    complete_weights.push_back(weights[k]);
  }
  complete(rows, slots, weights, gradient, Purpose::active_rows, team);
  add_rows(complete_rows, complete_weights, columns_.size(), gradient, team);
}

template <class Real>
std::vector<const Real*> WholeRowCache<Real>::table(Team& team) {
  std::vector<const Real*> out;
  const Size count = columns_.size();
  if (count > slots_.limit()) return out;
  tabled_ = true;
  std::vector<Slot> slots = touched_slots(columns_.data(), count);
  slots_.release_unused();  // so that new rows go where memory has been used before
  const bool first = slots_.held() == 0 && count > 0 && source_.entry_cost() >= kMirrorCost;
  if (first) slots_.release_all();  // so that they follow each other
  for (Size k = 0; k < count; ++k)
    if (slots[k] == Slot::none) slots[k] = slots_.take(columns_.data()[k]);
  if (first) {
    fill_square_table(source_, columns_.data(), count, prepared_, slots_.entries(slots[0]),
                      slots_.stride(), log_, team);
    for (const Slot slot : slots) slots_.set_known(slot, count);
  } else {
    complete(columns_.data(), slots, nullptr, nullptr, Purpose::tables, team);
  }
  const Size padded = (count + kRowPadding - 1) / kRowPadding * kRowPadding;
  for (const Slot slot : slots) {
    Real* row = slots_.entries(slot);
    std::fill(row + count, row + padded, Real(0));
    out.push_back(row);
  }
  return out;
}

template <class Real>
void WholeRowCache<Real>::block(const Position* positions, Size count, Size first, Size stride,
                                Real* out, Team& team) {
  tabled_ = false;
  std::vector<Index> ids(count), absent;
  std::vector<Real*> store;
  Position last{};
  for (Size a = 0; a < count; ++a) {
    ids[a] = columns_[positions[a]];
    last = std::max(last, positions[a]);
  }
  for (Size a = first; a < count; ++a) {
    const Slot slot = slots_.find(ids[a]);
    Real* to = out + a * stride;
    if (!source_.cheap() && slot != Slot::none && slots_.known(slot) > Size(last)) {
      const Real* row = slots_.entries(slot);
      for (Size b = 0; b < count; ++b) to[b] = row[Size(positions[b])];
    } else {
      absent.push_back(ids[a]);
      store.push_back(to);
    }
  }
  if (absent.empty()) return;
  const WorkLog::Timer timer(log_, Activity::entries);
  source_.sweep(Sweep<Real>{absent.data(), absent.size(), ids.data(), count, store.data()}, team);
  log_.count(Purpose::blocks, absent.size() * count);
}

template <class Real>
const Real* WholeRowCache<Real>::row(Index sample, Team& team) {
  slots_.begin_use();
  Slot slot = slots_.find(sample);
  if (slot == Slot::none) slot = slots_.take(sample);
  if (slot == Slot::none) throw std::bad_alloc();
  slots_.touch(slot);
  if (slots_.known(slot) < columns_.size())
    complete(&sample, {slot}, nullptr, nullptr, Purpose::active_rows, team);
  return slots_.entries(slot);
}

template class WholeRowCache<float>;
template class WholeRowCache<double>;

}  // namespace widemargin
