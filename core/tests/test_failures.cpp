// What fails in one thread, for lack of memory say, is thrown to the caller; no thread waits for
// ever, and what was being evaluated can be evaluated again.
#include <chrono>
#include <new>
#include <thread>

#include "kernel/kernel_table.hpp"
#include "solver/table_batch.hpp"
#include "tests/testing.hpp"

using namespace widemargin;
using testing::Data;
using testing::require;

namespace {

const KernelSpec kGaussian{KernelKind::gaussian, 0.3, 0.0, 1};

// Entries by the formula, from the given call on failing as often as asked.
struct Failing {
  const Data& data;
  std::atomic<int> calls_before{0}, failures{0};
  std::function<void()> before_failure = [] {};

  std::shared_ptr<Gram> gram() {
    const FillFunction fill = [this](const Index* rows, Size n_rows, const Index* columns,
                                     Size n_columns, double* out) {
      if (calls_before-- <= 0 && failures-- > 0) {
        before_failure();
        throw std::bad_alloc();
      }
      for (Size r = 0; r < n_rows; ++r)
        for (Size c = 0; c < n_columns; ++c)
          out[r * n_columns + c] = data.kernel(kGaussian, Size(rows[r]), Size(columns[c]));
    };
    return std::make_shared<Gram>(std::make_shared<CallbackSource>(fill, data.n), Size(1) << 24, 1);
  }
};

template <class Work>
bool throws_bad_alloc(const Work& work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    return true;
  }
  return false;
}

}  // namespace

WIDEMARGIN_TEST(a_thread_that_waits_for_a_piece_evaluates_it_where_the_other_failed) {
  const Data data(60, 3, 1);
  Failing failing{data};
  const KernelTable table(failing.gram(), {0, 40}, 120);
  RowPieces& pieces = *table.pieces();
  pieces.expect({0, 1});
  std::atomic<bool> evaluating{false};
  failing.before_failure = [&] {
    evaluating = true;  // the other thread comes now, and finds these pieces claimed
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  };
  failing.calls_before = 0, failing.failures = 1;
  const std::vector<Index> rows{3, 5, 45};
  bool failed = false;
  std::thread first([&] { failed = throws_bad_alloc([&] { pieces.provide(rows, {0, 1}); }); });
  while (!evaluating) std::this_thread::yield();
  pieces.provide(rows, {0, 1});
  first.join();
  require(failed, "thrown to the first thread");
  for (const Index row : rows)
    for (Size k = 0; k < data.n; ++k)
      require(*pieces.at(row, k) == float(data.kernel(kGaussian, Size(row), k)), "an entry");
}

WIDEMARGIN_TEST(pieces_that_failed_leave_their_memory_to_others) {
  const Data data(60, 3, 1);
  Failing failing{data};
  const KernelTable table(failing.gram(), {0}, 60);  // room for each row once
  RowPieces& pieces = *table.pieces();
  pieces.expect({0});
  failing.calls_before = 0, failing.failures = 3;
  for (int k = 0; k < 3; ++k)
    require(throws_bad_alloc([&] { pieces.provide(testing::all_samples(60), {0}); }), "it fails");
  pieces.provide(testing::all_samples(60), {0});
}

WIDEMARGIN_TEST(a_batch_that_fails_in_any_thread_throws_to_the_caller) {
  const Size n = 900, count = 6, each = n / count * 2;  // pairs of neighbouring segments
  const Data data(n, 3, 1);
  for (const int threads : {1, 2, 4})
    for (const int calls : {0, 4, 16}) {
      Failing failing{data};
      std::vector<Size> starts;
      for (Size s = 0; s < count; ++s) starts.push_back(s * n / count);
      const KernelTable table(failing.gram(), starts, count * n);
      std::vector<std::int64_t> offsets{0};
      std::vector<Index> members;
      for (Size p = 0; p + 1 < count; ++p) {
        for (Size k = 0; k < each; ++k) members.push_back(Index(starts[p] + k));
        offsets.push_back(std::int64_t(members.size()));
      }
      const Size total = members.size(), problems = count - 1;
      std::vector<double> linear, lower, upper, totals(problems, 0.0);
      for (const Index i : members) {
        const double label = data.labels[Size(i)];
        linear.push_back(label);
        lower.push_back(std::min(0.0, 5.0 * label)), upper.push_back(std::max(0.0, 5.0 * label));
      }
      std::vector<double> beta(total, 0.0), values(total), errors(total);
      const auto summed = std::make_unique<bool[]>(total), exact = std::make_unique<bool[]>(total);
      std::vector<Outcome> outcomes(problems);
      std::vector<TableCertificate> certificates(problems);
      Batch batch{};
      batch.count = problems, batch.offsets = offsets.data(), batch.members = members.data();
      batch.linear = linear.data(), batch.lower = lower.data(), batch.upper = upper.data();
      batch.totals = totals.data(), batch.equality = true, batch.beta = beta.data();
      batch.values = values.data(), batch.errors = errors.data(), batch.summed = summed.get();
      batch.outcomes = outcomes.data(), batch.exact = exact.get();
      batch.certificates = certificates.data();
      BatchOptions options;
      options.threads = threads;
      failing.calls_before = calls, failing.failures = 1;
      require(throws_bad_alloc([&] {
                solve_batch(table, batch, options, [](const Progress&) { return true; });
              }),
              "thrown to the caller");
    }
}

WIDEMARGIN_TEST(a_team_throws_what_its_work_throws_and_goes_on) {
  Team team(3);
  for (int round = 0; round < 20; ++round) {
    std::atomic<Size> done{0};
    require(throws_bad_alloc([&] {
              team.run(1200, 1, 1e9, [&](Size begin, Size end) {
                if (begin <= Size(round) * 60 && Size(round) * 60 < end) throw std::bad_alloc();
                done += end - begin;
              });
            }),
            "thrown to the caller");
    require(done < 1200, "not all was done");
    done = 0;
    team.run(1200, 1, 1e9, [&](Size begin, Size end) { done += end - begin; });
    require(done == 1200, "the team goes on");
  }
}
