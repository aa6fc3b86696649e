// Local kernels: what is left out is negligible, and rows with segments of zeros are the kernel's.
#include "kernel/locality.hpp"

#include <algorithm>
#include <cmath>

#include "kernel/gram.hpp"
#include "kernel/near_row_cache.hpp"
#include "kernel/symmetric_products.hpp"
#include "tests/testing.hpp"

using namespace widemargin;
using testing::Data;
using testing::require;
using testing::require_close;

namespace {

const KernelSpec kNarrow{KernelKind::gaussian, 40.0, 0.0, 1};
constexpr Size kSamples = 4200;

// Twenty clouds in three features; some samples are far from all, where differences are taken.
Data local_data() {
  Data data(kSamples, 3, 5);
  for (Size i = 0; i < kSamples; ++i) {
    data.values[i * 3 + 1] += 6.0 * double(i % 5);
    data.values[i * 3 + 2] += 6.0 * double(i / 5 % 4);
    if (i % 50 == 0) data.values[i * 3] += 40.0;
  }
  return data;
}

std::vector<Index> drawn(Size count, std::mt19937& generator) {
  std::vector<Index> out = testing::all_samples(kSamples);
  std::shuffle(out.begin(), out.end(), generator);
  out.resize(count);
  return out;
}

double negligible_or(double tolerance, Size terms) {
  return tolerance + double(terms) * std::exp2(-44.0);
}

template <class Real>
void check_sums(const Source& source, const Data& data, Team& team) {
  std::mt19937 generator(3);
  const std::vector<Index> rows = drawn(300, generator), columns = drawn(700, generator);
  std::vector<double> weights, sums(columns.size(), 0.0), sizes(sums), error(sums);
  for (Size r = 0; r < rows.size(); ++r) weights.push_back(0.1 * double(r % 17) - 0.9);
  Sweep<Real> work{rows.data(), rows.size(),    columns.data(), columns.size(),
                   nullptr,     weights.data(), sums.data()};
  work.sizes = sizes.data();
  const Size evaluated = source.sweep(work, team);
  require(evaluated < rows.size() * columns.size() / 2, "most entries are left out");
  source.rounding(work, error.data());
  std::vector<std::vector<Real>> kept(rows.size(), std::vector<Real>(columns.size(), Real(7)));
  std::vector<Real*> store;
  for (auto& row : kept) store.push_back(row.data());
  store[5] = nullptr;
  source.sweep(Sweep<Real>{rows.data(), rows.size(), columns.data(), columns.size(), store.data()},
               team);
  for (Size c = 0; c < columns.size(); ++c) {
    double expected = 0.0;
    for (Size r = 0; r < rows.size(); ++r) {
      const double entry = data.kernel(kNarrow, Size(rows[r]), Size(columns[c]));
      expected += weights[r] * entry;
      if (store[r]) require_close(double(store[r][c]), entry, 2e-4 * entry + 1e-12, "kept entry");
    }
    require_close(sums[c], expected, error[c], "sum within its bound");
  }
}

template <class Real>
void check_cache(RowCache<Real>& cache, const Data& data, const std::vector<Index>& rows,
                 double tolerance, Team& team) {
  const std::vector<Index>& columns = cache.columns().values();
  std::vector<double> weights(rows.size());
  for (Size k = 0; k < rows.size(); ++k) weights[k] = 0.25 * double(k) - 1.0;
  std::vector<double> gradient(columns.size(), 2.0);
  std::vector<char> keep(rows.size(), 1);
  keep[0] = 0;
  cache.apply(rows.data(), weights.data(), keep.data(), rows.size(), gradient.data(), team);
  for (Size c = 0; c < columns.size(); ++c) {
    double expected = 2.0;
    for (Size k = 0; k < rows.size(); ++k)
      expected += weights[k] * data.kernel(kNarrow, Size(rows[k]), Size(columns[c]));
    require_close(gradient[c], expected, negligible_or(tolerance, 40), "applied row");
  }
}

}  // namespace

WIDEMARGIN_TEST(segments_that_are_left_out_have_negligible_entries_only) {
  const Data data = local_data();
  const auto source = data.dense(kNarrow);
  require(source->near_share() < 0.4, "the kernel is local");
  std::vector<Index> columns = testing::all_samples(kSamples);
  std::sort(columns.begin(), columns.end(),
            [&](Index a, Index b) { return source->place(a) < source->place(b); });
  Boxes boxes;
  source->enclose(columns.data(), columns.size(), boxes);
  std::mt19937 generator(1);
  const std::vector<Index> rows = drawn(100, generator);
  for (const double exponent : {44.0, 60.0}) {
    NearSegments near(rows.size(), boxes.count);
    source->find_near(rows.data(), rows.size(), boxes, 0, exponent, near);
    double largest = 0.0;
    Size left_out = 0;
    for (Size r = 0; r < rows.size(); ++r)
      for (Size c = 0; c < columns.size(); ++c) {
        if (is_near(near.rows()[r], c / kSegment)) continue;
        largest = std::max(largest, data.kernel(kNarrow, Size(rows[r]), Size(columns[c])));
        ++left_out;
      }
    require(left_out > rows.size() * columns.size() / 2, "most entries are left out");
    require(largest < std::exp2(-exponent), "none of them is larger than it may be");
    require(largest > std::exp2(-exponent - 20.0), "and the test is not idle");
  }
}

WIDEMARGIN_TEST(wide_kernels_and_few_samples_are_not_local) {
  const Data data = local_data(), few(1000, 3, 5), wide(kSamples, 40, 6);
  require(data.dense({KernelKind::gaussian, 0.005, 0.0, 1})->near_share() == 1.0, "wide");
  require(data.dense({KernelKind::laplacian, 40.0, 0.0, 1})->near_share() == 1.0, "Laplacian");
  require(few.dense(kNarrow)->near_share() == 1.0, "few");
  // all samples are far from each other, but no box is
  require(wide.dense(KernelSpec{KernelKind::gaussian, 0.8, 0.0, 1})->near_share() == 1.0, "boxes");
}

WIDEMARGIN_TEST(sums_of_a_local_kernel_are_within_their_bounds) {
  const Data data = local_data();
  const auto source = data.dense(kNarrow);
  Team team(2);
  check_sums<float>(*source, data, team);
  check_sums<double>(*source, data, team);
}

WIDEMARGIN_TEST(rows_of_a_local_kernel_are_the_same_for_any_number_of_threads) {
  const Data data = local_data();
  const auto source = data.dense(kNarrow);
  std::mt19937 generator(4);
  const std::vector<Index> rows = drawn(1000, generator), columns = drawn(1000, generator);
  Size evaluated = 0;
  const auto kept_by = [&](int threads) {
    Team team(threads);
    std::vector<float> out(rows.size() * columns.size(), 7.0f);
    std::vector<float*> store;
    for (Size r = 0; r < rows.size(); ++r) store.push_back(out.data() + r * columns.size());
    const Sweep<float> work{rows.data(), rows.size(), columns.data(), columns.size(), store.data()};
    const Size own = source->sweep(work, team);
    if (threads == 1) evaluated = own;
    require(own < out.size() / 2, "most entries are left out");
    require(own == evaluated, "the same entries are evaluated");
    return out;
  };
  const std::vector<float> alone = kept_by(1);
  require(std::count(alone.begin(), alone.end(), 7.0f) == 0, "every entry is written");
  for (const int threads : {2, 3}) require(kept_by(threads) == alone, "to the last bit");
}

WIDEMARGIN_TEST(rows_with_segments_of_zeros_survive_growing_shrinking_and_eviction) {
  const Data data = local_data();
  const auto source = data.dense(kNarrow);
  Team team(2);
  std::mt19937 generator(7);
  for (const Size budget : {Size(0), Size(3) << 20, Size(1) << 26}) {
    WorkLog log;
    NearRowCache<double> cache(*source, budget, log);
    for (int round = 0; round < 25; ++round) {
      const std::vector<Index> before = cache.columns().values();
      std::vector<Index> wanted = drawn(1 + generator() % 900, generator);
      if (round % 3 == 1) {  // some leave, some come
        wanted.resize(std::min<Size>(wanted.size(), 200));
        for (Size k = 0; k < before.size(); ++k)
          if (generator() % 3 > 0 &&
              std::find(wanted.begin(), wanted.end(), before[k]) == wanted.end())
            wanted.push_back(before[k]);
      }
      std::vector<Index> order = cache.arrange(wanted, team).values();
      const std::vector<Index> columns = order;
      std::sort(order.begin(), order.end());
      std::sort(wanted.begin(), wanted.end());
      require(order == wanted, "the columns are the wanted set");
      std::vector<Index> rows = wanted;
      std::shuffle(rows.begin(), rows.end(), generator);
      rows.resize(std::min<Size>(rows.size(), 1 + generator() % 40));
      check_cache(cache, data, rows, 1e-10, team);
      check_cache(cache, data, rows, 1e-10, team);
      const double* row = cache.row(rows[0], team);
      for (Size c = 0; c < columns.size(); ++c)
        require_close(row[c], data.kernel(kNarrow, Size(rows[0]), Size(columns[c])), 1e-12, "row");
      const Size count = std::min<Size>(columns.size(), 400), first = count / 3;
      std::vector<Position> positions;
      for (Size k = 0; k < count; ++k) positions.push_back(Position((k * 7) % columns.size()));
      std::vector<double> block(count * count);
      cache.block(positions.data(), count, first, count, block.data(), team);
      for (Size i = first; i < count; ++i)
        for (Size j = 0; j < count; ++j)
          require_close(block[i * count + j],
                        data.kernel(kNarrow, Size(columns[Size(positions[i])]),
                                    Size(columns[Size(positions[j])])),
                        1e-12, "block");
      if (round % 5 > 0) continue;
      const std::vector<const double*> table = cache.table(team);
      for (Size i = 0; i < table.size(); i += 7)
        for (Size j = 0; j < columns.size(); ++j)
          require_close(table[i][j], data.kernel(kNarrow, Size(columns[i]), Size(columns[j])),
                        1e-12, "table");
    }
  }
}

WIDEMARGIN_TEST(rows_with_segments_of_zeros_are_extended_and_not_evaluated_again) {
  const Data data = local_data();
  const auto source = data.dense(kNarrow);
  Team team(2);
  std::mt19937 generator(9);
  WorkLog log;
  NearRowCache<float> cache(*source, Size(1) << 26, log);
  std::vector<Index> columns = drawn(1500, generator);
  const std::vector<Index> appended(columns.begin() + 700, columns.end());
  columns.resize(700);
  cache.arrange(columns, team);
  const std::vector<Index> kept(columns.begin(), columns.begin() + 90);
  std::vector<Index> rows = kept;
  rows.push_back(columns[100]);
  const std::vector<char> keep(kept.size(), 1);
  std::vector<double> weights(rows.size(), 0.5), gradient(1500, 0.0);
  cache.apply(kept.data(), weights.data(), keep.data(), kept.size(), gradient.data(), team);
  std::fill(gradient.begin(), gradient.end(), 0.0);
  cache.extend(appended, rows, weights.data(), gradient.data(), team);
  require(log.entries(Purpose::stages) < rows.size() * 800 / 2, "few of the new entries");
  for (Size c = 0; c < 1500; ++c) {
    double expected = 0.0;
    for (Size k = 0; c >= 700 && k < rows.size(); ++k)
      expected += 0.5 * data.kernel(kNarrow, Size(rows[k]), Size(cache.columns().values()[c]));
    require_close(gradient[c], expected, 1e-4, "sum over the new columns");
  }
  require(cache.incomplete(rows) == 1, "all but the last are kept, and complete");
  const std::uint64_t once = log.evaluated();
  check_cache(cache, data, std::vector<Index>(kept.begin() + 1, kept.end()), 2e-3, team);
  require(log.evaluated() <= once + 1500, "nothing is evaluated again but the row not kept");
}

WIDEMARGIN_TEST(products_of_a_local_kernel_are_within_their_bounds) {
  const Data data = local_data();
  Gram gram(data.dense(kNarrow), Size(1) << 26, 1);
  Team team(2);
  std::mt19937 generator(4);
  const std::vector<Index> rows = drawn(2000, generator);
  std::vector<double> weights, values(rows.size()), error(rows.size()), squares(1);
  for (Size r = 0; r < rows.size(); ++r)
    weights.push_back(r % 3 == 0 ? -1.5 : 0.25 + double(r % 7));
  symmetric_products(
      gram, team, rows.data(), rows.size(), weights.data(), 1, [] { return true; }, values.data(),
      error.data(), squares.data());
  require(gram.log().evaluated() < rows.size() * rows.size() / 4, "most blocks are left out");
  for (Size i = 0; i < rows.size(); ++i) {
    double expected = 0.0;
    for (Size j = 0; j < rows.size(); ++j)
      expected += weights[j] * data.kernel(kNarrow, Size(rows[j]), Size(rows[i]));
    require_close(values[i], expected, error[i] + 1e-14 * std::abs(expected), "product");
  }
}
