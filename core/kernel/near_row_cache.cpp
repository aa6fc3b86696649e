#include "kernel/near_row_cache.hpp"

#include <algorithm>
#include <map>
#include <new>

#include "kernel/row_slots.hpp"
#include "kernel/segment_runs.hpp"
#include "simd/dispatch.hpp"

namespace widemargin {

template <class Real>
NearRowCache<Real>::NearRowCache(const Source& source, Size budget_bytes, WorkLog& log)
    : RowCache<Real>(source, log), budget_(budget_bytes), rows_(source.size(), budget_bytes) {}

template <class Real>
bool NearRowCache<Real>::has_room_for(Size rows) const {
  return rows_.has_room_for(double(rows) * double(source_.size()) * source_.near_share());
}

template <class Real>
Size NearRowCache<Real>::incomplete(const std::vector<Index>& rows) const {
  return Size(std::count_if(rows.begin(), rows.end(), [&](Index sample) {
    const Index row = rows_.find(sample);
    return row == Rows::kNone || rows_[row].known < columns_.size();
  }));
}

template <class Real>
const ByPosition<Index>& NearRowCache<Real>::arrange(const std::vector<Index>& wanted, Team&) {
  const WorkLog::Timer timer(log_, Activity::arranging);
  std::vector<Index> in_order = wanted;
  std::sort(in_order.begin(), in_order.end(),
            [&](Index a, Index b) { return source_.place(a) < source_.place(b); });
  auto [kept, columns] = this->arrangement(in_order);
  if (kept.size() < columns_.size())
    rows_.keep(kept);
  else if (wanted.size() == columns_.size())
    return columns_;
  set_columns(std::move(columns));
  return columns_;
}

template <class Real>
void NearRowCache<Real>::set_columns(ByPosition<Index> columns) {
  columns_ = std::move(columns);
  source_.prepare(columns_.data(), columns_.size(), prepared_);
  source_.enclose(columns_.data(), columns_.size(), boxes_);
}

// The rows of a sum, which are in use from now on.
template <class Real>
std::vector<typename NearRowCache<Real>::Term> NearRowCache<Real>::terms(const Index* rows,
                                                                         const double* weights,
                                                                         Size count) {
  rows_.begin_use();
  std::vector<Term> out(count);
  for (Size k = 0; k < count; ++k) {
    out[k] = {rows[k], source_.place(rows[k]), rows_.find(rows[k]), weights ? weights[k] : 0.0};
    if (out[k].row != Rows::kNone) rows_.touch(out[k].row);
  }
  return out;
}

template <class Real>
void NearRowCache<Real>::sort_by_place(std::vector<Term>& rows) const {
  std::sort(rows.begin(), rows.end(),
            [](const Term& a, const Term& b) { return a.place < b.place; });
}

template <class Real>
void NearRowCache<Real>::extend(const std::vector<Index>& appended, const std::vector<Index>& rows,
                                const double* weights, double* gradient, Team& team) {
  const Size before = columns_.size();
  std::vector<Term> members = terms(rows.data(), weights, rows.size());
  rows_.release_unused();
  std::vector<Index> in_order = appended;
  std::sort(in_order.begin(), in_order.end(),
            [&](Index a, Index b) { return source_.place(a) < source_.place(b); });
  ByPosition<Index> columns = columns_;
  for (const Index sample : in_order) columns.push_back(sample);
  {
    const WorkLog::Timer timer(log_, Activity::arranging);
    set_columns(std::move(columns));
  }
  // A row that is not kept, or not all of it, is needed in the new columns only.
  for (Term& term : members)
    if (term.row != Rows::kNone && rows_[term.row].known < before) {
      rows_.release(term.row);
      term.row = Rows::kNone;
    }
  evaluate(std::move(members), before, gradient, Purpose::stages, team);
}

// gradient[c] += sum_k weights[k] K[rows[k], columns[c]] for c >= known, where there is a gradient.
// Rows that are kept know as much before, and all columns afterwards.
template <class Real>
void NearRowCache<Real>::evaluate(std::vector<Term> members, Size known, double* gradient,
                                  Purpose purpose, Team& team) {
  const WorkLog::Timer timer(log_, Activity::entries);
  sort_by_place(members);
  const Size count = members.size(), width = columns_.size();
  const Size first = known / kSegment, segments = segments_of(width) - first;
  std::vector<Index> ids(count);
  std::vector<double> weights(count);
  for (Size k = 0; k < count; ++k) ids[k] = members[k].sample, weights[k] = members[k].weight;
  NearSegments near(count, segments);
  source_.find_near(ids.data(), count, boxes_, first, kNegligible<Real>, near);
  std::vector<Real*> pieces(count * segments, nullptr);
  std::vector<Real* const*> rows(count, nullptr);
  for (Size k = 0; k < count; ++k) {
    const Index row = members[k].row;
    if (row == Rows::kNone) continue;
    if (!rows_.complete(row, width, first, near.rows()[k])) continue;
    rows[k] = pieces.data() + k * segments;
    const typename Rows::Row& own = rows_[row];
    for (Size s = own.segments.size(); s-- > 0 && own.segments[s] >= Index(first);)
      pieces[k * segments + Size(own.segments[s]) - first] = rows_.entries(own.pieces[s]);
  }
  Sweep<Real> work{ids.data(), count, columns_.data() + known, width - known};
  work.near = near.rows();
  work.pieces = rows.data();
  work.begun = known - first * kSegment;
  if (gradient) work.weights = weights.data(), work.accumulate = gradient + known;
  if (known == 0 && !prepared_.panels.empty()) work.prepared = &prepared_;
  log_.count(purpose, count * (width - known), source_.sweep(work, team));
}

// Evaluates what is missing of the rows, and adds all of them to the gradient, where there is one.
template <class Real>
void NearRowCache<Real>::complete(const std::vector<Term>& all, double* gradient, Team& team) {
  const Size width = columns_.size();
  std::map<Size, std::vector<Term>> missing;  // by what is known
  for (const Term& term : all)
    missing[term.row == Rows::kNone ? 0 : rows_[term.row].known].push_back(term);
  for (const auto& [known, members] : missing) {
    if (gradient && known > 0) add_rows(members, known, gradient, team);
    if (known < width) evaluate(members, known, gradient, Purpose::active_rows, team);
  }
}

// gradient[c] += sum_k weights[k] rows[k][c] for c < width. Rows next to each other in the order of
// places have most segments in common: a few of them are added at a time.
template <class Real>
void NearRowCache<Real>::add_rows(std::vector<Term> rows, Size width, double* gradient,
                                  Team& team) {
  const WorkLog::Timer timer(log_, Activity::row_sums);
  sort_by_place(rows);
  const double cost = double(width) * double(rows.size()) * 0.5 * source_.near_share();
  team.run(segments_of(width), 1, cost, [&](Size begin, Size end) {
    for (Size first = 0; first < rows.size(); first += SegmentRuns<Real>::kMost) {
      SegmentRuns<Real> runs(rows_, begin, end);
      for (Size k = first; k < std::min(first + SegmentRuns<Real>::kMost, rows.size()); ++k)
        runs.add(rows[k].row, rows[k].weight);
      while (runs.next()) {
        const Size column = runs.segment() * kSegment;
        const Size columns = std::min(runs.length() * kSegment, width - column);
        routines<Real>().combine(runs.entries(), runs.weights(), runs.rows(), columns,
                                 gradient + column);
      }
    }
  });
}

template <class Real>
void NearRowCache<Real>::apply(const Index* rows, const double* weights, const char* keep,
                               Size count, double* gradient, Team& team) {
  std::vector<Term> all = terms(rows, weights, count);
  for (Size k = 0; k < count; ++k)
    if (all[k].row == Rows::kNone && keep[k]) all[k].row = rows_.add(rows[k]);
  complete(all, gradient, team);
}

template <class Real>
void NearRowCache<Real>::block(const Position* positions, Size count, Size first, Size stride,
                               Real* out, Team& team) {
  std::vector<Index> ids(count);
  std::vector<Real*> store(count);
  for (Size a = 0; a < count; ++a) {
    ids[a] = columns_[positions[a]];
    store[a] = out + a * stride;
  }
  const WorkLog::Timer timer(log_, Activity::entries);
  const Sweep<Real> work{ids.data() + first, count - first, ids.data(), count,
                         store.data() + first};
  log_.count(Purpose::blocks, (count - first) * count, source_.sweep(work, team));
}

template <class Real>
std::vector<const Real*> NearRowCache<Real>::table(Team& team) {
  const Size count = columns_.size(),
             padded = (count + kRowPadding - 1) / kRowPadding * kRowPadding;
  if (count * padded * sizeof(Real) > budget_) return {};
  table_.assign(count * padded, Real(0));
  std::vector<Real*> store(count);
  for (Size k = 0; k < count; ++k) store[k] = table_.data() + k * padded;
  const WorkLog::Timer timer(log_, Activity::entries);
  const Sweep<Real> work{columns_.data(), count, columns_.data(), count, store.data()};
  log_.count(Purpose::tables, count * count, source_.sweep(work, team));
  return {store.begin(), store.end()};
}

template <class Real>
const Real* NearRowCache<Real>::row(Index sample, Team& team) {
  std::vector<Term> term = terms(&sample, nullptr, 1);
  if (term[0].row == Rows::kNone) term[0].row = rows_.add(sample);
  complete(term, nullptr, team);
  if (rows_.find(sample) == Rows::kNone) throw std::bad_alloc();
  next_ = 1 - next_;
  whole_[next_].resize(columns_.size());
  rows_.expand(term[0].row, whole_[next_].data());
  return whole_[next_].data();
}

template class NearRowCache<float>;
template class NearRowCache<double>;

}  // namespace widemargin
