#include "kernel/kernel_table.hpp"

#include <algorithm>
#include <numeric>

#include "simd/dispatch.hpp"

namespace widemargin {

namespace {

constexpr Size kRows = 128;  // evaluated at a time, whole panels; only the columns from there on
constexpr Size kThreadRows = 1000;  // below, a thread starts no sooner than all is done

Size padded(Size n) {
  constexpr Size width = panel_width<float>();
  const Size panels = (n + width - 1) / width;
  return (panels | 1) * width;  // an odd number of cache lines: columns spread over the cache
}

}  // namespace

KernelTable::KernelTable(std::shared_ptr<Gram> gram, Size bytes)
    : gram_(std::move(gram)),
      n_(gram_->size()),
      stride_(padded(n_)),
      mirrors_(gram_->source().mirrors()),
      diagonal_(n_),
      slab_(bytes),
      entries_(static_cast<float*>(slab_.data())) {
  std::vector<Index> all(n_);
  std::iota(all.begin(), all.end(), Index(0));
  gram_->source().diagonal(all.data(), n_, diagonal_.data());
}

KernelTable::KernelTable(std::shared_ptr<Gram> gram, std::vector<Size> starts, Size capacity)
    : KernelTable(std::move(gram), Size(0)) {
  auto pieces = std::make_unique<RowPieces>(*gram_, std::move(starts), capacity, diagonal_);
  pieces_ = pieces.get();
  rows_ = std::move(pieces);
}

KernelTable::KernelTable(std::shared_ptr<Gram> gram)
    : KernelTable(gram, std::max<Size>(1, gram->size() * padded(gram->size())) * sizeof(float)) {
  rows_ = std::make_unique<WholeMatrix<float>>(entries_, stride_);
  Team team(n_ < kThreadRows ? 1 : gram_->threads());
  Prepared<float> prepared;
  if (n_ > kRows) {
    std::vector<Index> all(n_);
    std::iota(all.begin(), all.end(), Index(0));
    gram_->source().prepare(all.data(), n_, prepared);
  }
  // Blocks of rows by themselves: each alone is too little to wake a thread for.
  const double cost = double(n_) * double(n_) * gram_->source().entry_cost();
  team.run((n_ + kRows - 1) / kRows, 1, cost, [&](Size begin, Size end) {
    for (Size block = begin; block < end; ++block) {
      const Size first = block * kRows, count = std::min(kRows, n_ - first);
      evaluate(first, count, mirrors_ ? first : 0, prepared);
      if (mirrors_) mirror(first, count);
      for (Size r = first; r < first + count; ++r)
        std::fill(entries_ + r * stride_ + n_, entries_ + (r + 1) * stride_, 0.0f);
    }
  });
}

// Rows [first, first + count), columns from `from` on.
void KernelTable::evaluate(Size first, Size count, Size from, const Prepared<float>& prepared) {
  const WorkLog::Timer timer(gram_->log(), Activity::entries);
  std::vector<Index> rows(count), columns(n_ - from);
  std::iota(rows.begin(), rows.end(), Index(first));
  std::iota(columns.begin(), columns.end(), Index(from));
  std::vector<float*> store(count);
  for (Size r = 0; r < count; ++r) store[r] = entries_ + (first + r) * stride_ + from;
  Sweep<float> work{rows.data(), count, columns.data(), columns.size(), store.data()};
  if (!prepared.panels.empty()) work.prepared = &prepared, work.prepared_before = from;
  Team alone(1);
  gram_->source().sweep(work, alone);
  gram_->log().count(Purpose::tables, count * columns.size());
}

// Copies the columns behind these rows to the rows below.
void KernelTable::mirror(Size first, Size count) {
  const WorkLog::Timer timer(gram_->log(), Activity::arranging);
  const Size begin = first + count;
  routines<float>().transposed(entries_ + first * stride_ + begin, stride_, count, n_ - begin,
                               entries_ + begin * stride_ + first, stride_);
}

}  // namespace widemargin
