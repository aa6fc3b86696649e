#include "kernel/square_table.hpp"

#include <algorithm>

#include "simd/dispatch.hpp"

namespace widemargin {

namespace {

constexpr Size kRows = 128;  // evaluated at a time, whole panels; only the columns from there on

template <class Real>
struct SquareTable {
  const Source& source;
  const Index* samples;
  Size count;
  const Prepared<Real>& prepared;
  Real* entries;
  Size stride;
  WorkLog& log;

  // Rows [first, first + rows), columns from `from` on.
  void evaluate(Size first, Size rows, Size from) const {
    const WorkLog::Timer timer(log, Activity::entries);
    std::vector<Real*> store(rows);
    for (Size r = 0; r < rows; ++r) store[r] = entries + (first + r) * stride + from;
    Sweep<Real> work{samples + first, rows, samples + from, count - from, store.data()};
    if (!prepared.panels.empty()) work.prepared = &prepared, work.prepared_before = from;
    Team alone(1);
    source.sweep(work, alone);
    log.count(Purpose::tables, rows * (count - from));
  }

  // Copies the columns behind these rows to the rows below.
  void mirror(Size first, Size rows) const {
    const WorkLog::Timer timer(log, Activity::arranging);
    const Size begin = first + rows;
    routines<Real>().transposed(entries + first * stride + begin, stride, rows, count - begin,
                                entries + begin * stride + first, stride);
  }
};

}  // namespace

template <class Real>
void fill_square_table(const Source& source, const Index* samples, Size count,
                       const Prepared<Real>& prepared, Real* entries, Size stride, WorkLog& log,
                       Team& team) {
  const SquareTable<Real> table{source, samples, count, prepared, entries, stride, log};
  const bool mirrors = source.mirrors();
  // Blocks of rows by themselves: each alone is too little to wake a thread for.
  const double cost = double(count) * double(count) * source.entry_cost();
  team.run((count + kRows - 1) / kRows, 1, cost, [&](Size begin, Size end) {
    for (Size block = begin; block < end; ++block) {
      const Size first = block * kRows, rows = std::min(kRows, count - first);
      table.evaluate(first, rows, mirrors ? first : 0);
      if (mirrors) table.mirror(first, rows);
    }
  });
}

template void fill_square_table(const Source&, const Index*, Size, const Prepared<float>&, float*,
                                Size, WorkLog&, Team&);
template void fill_square_table(const Source&, const Index*, Size, const Prepared<double>&, double*,
                                Size, WorkLog&, Team&);

}  // namespace widemargin
