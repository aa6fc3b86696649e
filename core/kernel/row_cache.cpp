#include "kernel/row_cache.hpp"

#include "kernel/near_row_cache.hpp"
#include "kernel/whole_row_cache.hpp"

namespace widemargin {

template <class Real>
typename RowCache<Real>::Arrangement RowCache<Real>::arrangement(
    const std::vector<Index>& wanted) const {
  enum class Column : char { unwanted, missing, present };
  std::vector<Column> state(source_.size(), Column::unwanted);
  for (const Index sample : wanted) state[Size(sample)] = Column::missing;
  Arrangement out;
  for (const Position p : columns_.positions()) {
    Column& own = state[Size(columns_[p])];
    if (own != Column::missing) continue;
    own = Column::present;
    out.kept.push_back(p);
    out.columns.push_back(columns_[p]);
  }
  for (const Index sample : wanted)
    if (state[Size(sample)] == Column::missing) out.columns.push_back(sample);
  return out;
}

template <class Real>
std::unique_ptr<RowCache<Real>> make_row_cache(const Source& source, Size budget_bytes,
                                               WorkLog& log) {
  if (source.near_share() < 1.0)
    return std::make_unique<NearRowCache<Real>>(source, budget_bytes, log);
  return std::make_unique<WholeRowCache<Real>>(source, budget_bytes, log);
}

template class RowCache<float>;
template class RowCache<double>;
template std::unique_ptr<RowCache<float>> make_row_cache(const Source&, Size, WorkLog&);
template std::unique_ptr<RowCache<double>> make_row_cache(const Source&, Size, WorkLog&);

}  // namespace widemargin
