// The row cache: whatever is appended, dropped or evicted, entries stay the kernel's.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernel/whole_row_cache.hpp"
#include "tests/testing.hpp"

using namespace widemargin;
using testing::Data;
using testing::require;
using testing::require_close;

namespace {

const KernelSpec kGaussian{KernelKind::gaussian, 0.4, 0.0, 1};

// A sample is no position, and a position no sample.
static_assert(!std::is_convertible_v<Position, Index> && !std::is_convertible_v<Index, Position>);

void check_apply(RowCache<double>& cache, const Data& data, const std::vector<Index>& rows,
                 Team& team) {
  const std::vector<Index>& columns = cache.columns().values();
  std::vector<double> weights(rows.size());
  for (Size k = 0; k < rows.size(); ++k) weights[k] = 0.25 * double(k) - 1.0;
  std::vector<double> gradient(columns.size(), 2.0);
  const std::vector<char> keep(rows.size(), 1);
  cache.apply(rows.data(), weights.data(), keep.data(), rows.size(), gradient.data(), team);
  for (Size c = 0; c < columns.size(); ++c) {
    double expected = 2.0;
    for (Size k = 0; k < rows.size(); ++k)
      expected += weights[k] * data.kernel(kGaussian, Size(rows[k]), Size(columns[c]));
    require_close(gradient[c], expected, 1e-10, "applied row");
  }
}

}  // namespace

WIDEMARGIN_TEST(rows_survive_growing_shrinking_and_eviction) {
  const Data data(120, 5, 1);
  const auto source = data.dense(kGaussian);
  Team team(2);
  std::mt19937 generator(7);
  for (const Size budget : {Size(0), Size(4000), Size(30000), Size(1 << 20)}) {
    WorkLog log;
    WholeRowCache<double> cache(*source, budget, log);
    for (int round = 0; round < 60; ++round) {
      std::vector<Index> wanted = testing::all_samples(120);
      std::shuffle(wanted.begin(), wanted.end(), generator);
      wanted.resize(1 + generator() % 120);
      const std::vector<Index> given = wanted;
      const std::vector<Index> order = cache.arrange(wanted, team).values();
      std::vector<Index> a = given, b = order;
      std::sort(a.begin(), a.end());
      std::sort(b.begin(), b.end());
      require(a == b, "the columns are the wanted set");
      std::vector<Index> rows = order;
      std::shuffle(rows.begin(), rows.end(), generator);
      rows.resize(std::min<Size>(rows.size(), 1 + generator() % 20));
      check_apply(cache, data, rows, team);
      const std::vector<Index>& columns = cache.columns().values();
      std::vector<Position> positions(std::min<Size>(9, columns.size()));
      for (Size k = 0; k < positions.size(); ++k)
        positions[k] = Position(k * columns.size() / 9 % columns.size());
      std::vector<double> block(16 * positions.size());
      cache.block(positions.data(), positions.size(), 0, 16, block.data(), team);
      for (Size i = 0; i < positions.size(); ++i)
        for (Size j = 0; j < positions.size(); ++j)
          require_close(block[i * 16 + j],
                        data.kernel(kGaussian, Size(columns[Size(positions[i])]),
                                    Size(columns[Size(positions[j])])),
                        1e-10, "block");
      const Index sample = columns[generator() % columns.size()];
      const double* row = cache.row(sample, team);
      for (Size c = 0; c < columns.size(); ++c)
        require_close(row[c], data.kernel(kGaussian, Size(sample), Size(columns[c])), 1e-10, "row");
    }
  }
}

WIDEMARGIN_TEST(a_cached_row_is_not_evaluated_again) {
  const Data data(100, 5, 2);
  const auto source = data.dense(kGaussian);
  Team team(1);
  WorkLog log;
  WholeRowCache<double> cache(*source, 1 << 20, log);
  cache.arrange(testing::all_samples(100), team);
  const std::vector<Index> rows{3, 50, 99};
  check_apply(cache, data, rows, team);
  const std::uint64_t once = log.evaluated();
  require(once >= 300, "three rows were evaluated");
  check_apply(cache, data, rows, team);
  require(log.evaluated() == once, "and not again");
}

// Of few features entries are evaluated anew where samples leave, of more by symmetry, of many rows
// are compacted.
WIDEMARGIN_TEST(a_table_is_the_kernel_and_its_padding_is_zero) {
  constexpr Size n = 150, width = 160;
  Team team(2);
  for (const Size features : {Size(5), Size(40), Size(100)}) {
    const Data data(n, features, 3);
    const KernelSpec kernel{KernelKind::gaussian, 0.5 / double(features), 0.0, 1};
    const auto source = data.dense(kernel);
    std::mt19937 generator(11);
    {  // memory handed out next is full of what no sum survives
      std::vector<double> poison(n * width, std::nan(""));
    }
    WorkLog log;
    WholeRowCache<double> cache(*source, 1 << 20, log);
    for (int round = 0; round < 20; ++round) {
      std::vector<Index> wanted = testing::all_samples(n);
      std::shuffle(wanted.begin(), wanted.end(), generator);
      wanted.resize(1 + generator() % n);
      const std::vector<Index> columns = cache.arrange(wanted, team).values();
      const std::vector<const double*> table = cache.table(team);
      require(table.size() == columns.size(), "one row a column");
      const Size padded = (columns.size() + 15) / 16 * 16;
      for (Size r = 0; r < columns.size(); ++r) {
        for (Size c = 0; c < columns.size(); ++c)
          require_close(table[r][c], data.kernel(kernel, Size(columns[r]), Size(columns[c])), 1e-10,
                        "entry");
        for (Size c = columns.size(); c < padded; ++c) require(table[r][c] == 0.0, "padding");
      }
    }
    cache.arrange(testing::all_samples(n), team);
    cache.table(team);
    const std::uint64_t once = log.evaluated();
    cache.table(team);
    require(log.evaluated() == once, "nothing is evaluated again");
    WholeRowCache<double> small(*source, 50 * width * sizeof(double), log);
    small.arrange(testing::all_samples(n), team);
    require(small.table(team).empty(), "no table beyond the budget");
  }
}

WIDEMARGIN_TEST(samples_that_leave_a_table_cost_what_is_less) {
  constexpr Size n = 300, left = 200;
  Team team(1);
  for (const Size features : {Size(5), Size(40), Size(100)}) {
    const Data data(n, features, 5);
    const auto source = data.dense(kGaussian);
    WorkLog log;
    WholeRowCache<float> cache(*source, 1 << 20, log);
    std::vector<Index> wanted = testing::all_samples(n);
    cache.arrange(wanted, team);
    cache.table(team);
    const std::uint64_t once = log.evaluated();
    require(features == 5 ? once == n * n : once < 3 * n * n / 4, "wide ones once a pair");
    wanted.resize(left);
    cache.arrange(wanted, team);
    require(cache.held() <= left, "no row of a sample that left is kept for a table");
    cache.table(team);
    const std::uint64_t again = log.evaluated() - once;
    if (features == 100) require(again == 0, "rows of many features are kept");
    if (features == 40) require(again < 5 * left * left / 6, "each pair once");
    if (features == 5) require(again == left * left, "few features are evaluated again");
  }
}

WIDEMARGIN_TEST(rows_are_extended_by_new_columns_and_not_evaluated_again) {
  const Data data(100, 5, 4);
  const auto source = data.dense(kGaussian);
  Team team(2);
  WorkLog log;
  WholeRowCache<double> cache(*source, 1 << 20, log);
  std::vector<Index> columns = testing::all_samples(100);
  const std::vector<Index> appended(columns.begin() + 60, columns.end());
  columns.resize(60);
  cache.arrange(columns, team);
  const std::vector<Index> kept{3, 50}, rows{3, 7, 50};
  check_apply(cache, data, kept, team);
  const std::vector<double> weights{0.5, -2.0, 1.5};
  std::vector<double> gradient(100, 0.0);
  cache.extend(appended, rows, weights.data(), gradient.data(), team);
  require(log.entries(Purpose::stages) == 3 * 40, "only the new columns");
  for (Size c = 0; c < 100; ++c) {
    double expected = 0.0;
    for (Size k = 0; c >= 60 && k < rows.size(); ++k)
      expected += weights[k] * data.kernel(kGaussian, Size(rows[k]), c);
    require_close(gradient[c], expected, 1e-10, "sum over the new columns");
  }
  require(cache.incomplete(rows) == 1, "two of the rows are kept, and complete");
  const std::uint64_t once = log.evaluated();
  check_apply(cache, data, kept, team);
  require(log.evaluated() == once, "nothing is evaluated again");
}

WIDEMARGIN_TEST(rows_are_not_moved_for_a_few_columns_more) {
  constexpr Size samples = 6000, columns = 4096, few = 400;
  RowSlots<float> slots(samples, samples * columns * sizeof(float));
  slots.resize(columns / 2);
  std::vector<Slot> rows;
  for (Index sample = 0; sample < 4200; ++sample) rows.push_back(slots.take(sample));
  slots.resize(columns);
  const float* last = slots.entries(rows.back());
  slots.resize(columns + few);
  require(slots.entries(rows.back()) == last, "a row has room for them");
  for (Index sample = 4200; sample < 5000; ++sample) slots.take(sample);
  slots.resize(columns);
  require(slots.limit() == samples, "where memory is short no row is given up for that room");
}
