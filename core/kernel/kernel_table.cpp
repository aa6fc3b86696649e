#include "kernel/kernel_table.hpp"

#include <algorithm>
#include <numeric>

#include "kernel/square_table.hpp"
#include "simd/dispatch.hpp"

namespace widemargin {

namespace {

constexpr Size kFewRows = 128;      // packed anew by the only block of rows there is
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
  std::vector<Index> all(n_);
  std::iota(all.begin(), all.end(), Index(0));
  if (n_ > kFewRows) gram_->source().prepare(all.data(), n_, prepared);
  fill_square_table(gram_->source(), all.data(), n_, prepared, entries_, stride_, gram_->log(),
                    team);
  for (Size r = 0; r < n_; ++r)
    std::fill(entries_ + r * stride_ + n_, entries_ + (r + 1) * stride_, 0.0f);
}

}  // namespace widemargin
