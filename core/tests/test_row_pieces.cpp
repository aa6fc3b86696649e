// Rows in pieces: the entries of the whole table, evaluated once by the first thread that needs
// them, within the memory that was announced.
#include <thread>

#include "kernel/kernel_table.hpp"
#include "tests/testing.hpp"

using namespace widemargin;
using testing::Data;
using testing::kGaussian;
using testing::require;

namespace {

const std::vector<Size> kStarts{0, 90, 150};  // segments of 90, 60 and 50 samples
constexpr Size kSamples = 200;

std::shared_ptr<Gram> gram_of(const Data& data) {
  return std::make_shared<Gram>(data.dense(kGaussian), Size(1) << 24, 1);
}

std::vector<Index> range(Index first, Index last) {
  std::vector<Index> out;
  for (; first < last; ++first) out.push_back(first);
  return out;
}

}  // namespace

WIDEMARGIN_TEST(pieces_have_the_entries_of_the_whole_table_to_the_last_bit) {
  const Data data(kSamples, 5, 3);
  const KernelTable whole(gram_of(data)), table(gram_of(data), kStarts, 3 * kSamples);
  RowPieces& pieces = *table.pieces();
  pieces.expect({0, 1, 2});
  pieces.provide({7}, {0, 2});
  pieces.provide(range(0, kSamples), {0, 1, 2});
  const std::vector<Index> columns{199, 0, 90, 89, 3};
  std::vector<float> some(columns.size());
  for (Index i = 0; i < Index(kSamples); ++i) {
    for (Size k = Size(i); k < kSamples; ++k)  // below, that table has copies
      require(*pieces.at(i, k) == *whole.rows().at(i, k), "an entry");
    pieces.gather(i, columns.data(), columns.size(), some.data());
    for (Size c = 0; c < columns.size(); ++c)
      require(some[c] == *pieces.at(i, Size(columns[c])), "a gathered entry");
    require(pieces.diagonal(i) == 1.0f, "the diagonal");
  }
  require(table.gram().log().entries(Purpose::tables) == kSamples * kSamples, "each once");
}

WIDEMARGIN_TEST(threads_wait_for_pieces_that_others_evaluate) {
  const Data data(kSamples, 5, 3);
  const KernelTable table(gram_of(data), kStarts, 3 * kSamples);
  RowPieces& pieces = *table.pieces();
  pieces.expect({0, 1, 2});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (Index first = 0; first < Index(kSamples); first += 10) {
        const Index from = t % 2 == 0 ? first : Index(kSamples) - 10 - first;
        pieces.provide(range(from, from + 10), {0, 1, 2});
        for (Index i = from; i < from + 10; ++i)
          for (Size k = 0; k < kSamples; ++k)
            if (std::abs(*pieces.at(i, k) - float(data.kernel(kGaussian, Size(i), k))) > 2e-6f)
              ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  require(wrong == 0, "entries");
  require(table.gram().log().entries(Purpose::tables) == kSamples * kSamples, "each once");
}

WIDEMARGIN_TEST(pieces_that_no_problem_needs_any_more_make_room) {
  const Data data(kSamples, 5, 3);
  // The rows of a segment over itself, and those of two segments over each other.
  const KernelTable table(gram_of(data), kStarts, kSamples + 150);
  RowPieces& pieces = *table.pieces();
  const std::vector<std::vector<Size>> pairs{{0, 1}, {0, 2}, {1, 2}};
  for (const auto& pair : pairs) pieces.expect(pair);
  for (const auto& pair : pairs) {
    for (const Size s : pair) {
      const Size end = s == 2 ? kSamples : kStarts[s + 1];
      pieces.provide(range(Index(kStarts[s]), Index(end)), pair);
      for (const Size other : pair)
        require(std::abs(*pieces.at(Index(kStarts[s]), kStarts[other]) -
                         float(data.kernel(kGaussian, kStarts[s], kStarts[other]))) < 2e-6f,
                "an entry");
    }
    pieces.release(pair);
  }
  require(table.gram().log().entries(Purpose::tables) == kSamples * kSamples, "each once");
}

WIDEMARGIN_TEST(more_pieces_than_were_announced_are_refused) {
  const Data data(kSamples, 5, 3);
  const KernelTable table(gram_of(data), kStarts, 10);
  RowPieces& pieces = *table.pieces();
  pieces.expect({0});
  pieces.provide(range(0, 10), {0});
  bool refused = false;
  try {
    pieces.provide(range(10, 90), {0});
  } catch (const std::logic_error&) {
    refused = true;
  }
  require(refused, "memory that is not there");
}
