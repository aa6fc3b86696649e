#include "kernel/sparse_sweeps.hpp"

#include <algorithm>
#include <vector>

#include "kernel/slots.hpp"
#include "simd/dispatch.hpp"

namespace widemargin {

namespace {

constexpr Size kDirectFeatures = 4096;   // wider sparse data is renumbered per group of rows
constexpr Size kScatterBytes = 4 << 20;  // scattered rows per pass
constexpr Size kSparseColumns = 512;     // CSR rows that stay in cache while the groups pass

template <class Real>
struct Group {
  std::vector<Real> panel;
  Slots slots;
  std::vector<Real> norms, weights;
  std::vector<Real*> store;
  Size first = 0, count = 0;
};

template <class Real>
Group<Real> scatter_group(const KernelSpec& kernel, const Samples& samples, double factor,
                          const Sweep<Real>& work, Size first) {
  constexpr Size width = panel_width<Real>();
  Group<Real> group;
  group.first = first;
  group.count = std::min(width, work.n_rows - first);
  group.norms.assign(width, Real(0));
  group.weights.assign(width, Real(0));
  if (samples.features() > kDirectFeatures) group.slots = Slots(samples.features());
  samples.scatter(work.rows + first, group.count, width, factor, group.slots.data(), group.panel);
  for (Size r = 0; r < group.count; ++r) {
    if (kernel.kind == KernelKind::gaussian)
      group.norms[r] = samples.half_norms<Real>()[work.rows[first + r]];
    if (work.weights) group.weights[r] = Real(work.weights[first + r]);
  }
  return group;
}

}  // namespace

template <class Real>
Size sweep_sparse(const KernelSpec& kernel, const Samples& row_samples,
                  const Samples& column_samples, const Sweep<Real>& work, Team& team) {
  constexpr Size width = panel_width<Real>();
  const auto csr = column_samples.rows<Real>();
  const double factor = column_samples.scale_left<Real>();
  const Real* norms =
      kernel.kind == KernelKind::gaussian ? column_samples.half_norms<Real>() : nullptr;
  for (Size next = 0; next < work.n_rows;) {
    std::vector<Group<Real>> groups;
    for (Size bytes = 0; next < work.n_rows && bytes < kScatterBytes; next += width) {
      groups.push_back(scatter_group(kernel, row_samples, factor, work, next));
      bytes +=
          groups.back().panel.size() * sizeof(Real) + groups.back().slots.size() * sizeof(Index);
    }
    const double cost =
        double(groups.size() * width) * double(work.n_columns) * column_samples.entry_cost();
    team.run(work.n_columns, width, cost, [&](Size begin, Size end) {
      std::vector<Real*> store(width);
      for (Size first = begin; first < end; first += kSparseColumns) {
        const Size count = std::min(kSparseColumns, end - first);
        for (const Group<Real>& group : groups) {
          for (Size r = 0; r < group.count; ++r) {
            Real* to = work.store ? work.store[group.first + r] : nullptr;
            store[r] = to ? to + first : nullptr;
          }
          SparseCall<Real> call{kernel,
                                group.panel.data(),
                                group.slots.data(),
                                group.norms.data(),
                                csr.offsets,
                                csr.indices,
                                csr.data,
                                norms,
                                work.columns + first,
                                count,
                                group.count,
                                work.store ? store.data() : nullptr,
                                group.weights.data(),
                                work.accumulate ? work.accumulate + first : nullptr};
          routines<Real>().sparse(call);
        }
      }
    });
  }
  return work.n_rows * work.n_columns;
}

template Size sweep_sparse<float>(const KernelSpec&, const Samples&, const Samples&,
                                  const Sweep<float>&, Team&);
template Size sweep_sparse<double>(const KernelSpec&, const Samples&, const Samples&,
                                   const Sweep<double>&, Team&);

}  // namespace widemargin
