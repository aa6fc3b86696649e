#include "kernel/far_samples.hpp"

#include <algorithm>
#include <cmath>

#include "kernel/rounding.hpp"
#include "simd/dispatch.hpp"

namespace widemargin {

namespace {

constexpr double kSteering = 1e3;    // half squared norm up to which single precision steers
constexpr double kAccurate = 1e-12;  // relative error of an entry in double precision
constexpr Size kColumns = 64;        // evaluated at a time: a multiple of the panel width

}  // namespace

template <>
bool is_far<float>(double half_norm, Size) {
  return !(half_norm < kSteering);
}

template <>
bool is_far<double>(double half_norm, Size terms) {
  return !(expansion_error<double>(half_norm, half_norm, terms) <= kAccurate);
}

template <class Real>
FarRows<Real>::FarRows(const KernelSpec& kernel, const Samples& samples, const Sweep<Real>& work)
    : work_(work) {
  if (kernel.kind != KernelKind::gaussian) return;
  const Real* norms = samples.half_norms<Real>();
  const Size terms = samples.most_terms();
  const auto far = [&](Index id) { return is_far<Real>(double(norms[id]), terms); };
  if (std::none_of(work.rows, work.rows + work.n_rows, far)) return;
  for (Size r = 0; r < work.n_rows; ++r) {
    Part& part = far(work.rows[r]) ? far_ : near_;
    part.rows.push_back(work.rows[r]);
    if (work.weights) part.weights.push_back(work.weights[r]);
    if (work.store) part.store.push_back(work.store[r]);
  }
}

template <class Real>
Sweep<Real> FarRows<Real>::part(const Part& chosen) const {
  Sweep<Real> out = work_;
  out.rows = chosen.rows.data();
  out.n_rows = chosen.rows.size();
  if (work_.weights) out.weights = chosen.weights.data();
  if (work_.store) out.store = chosen.store.data();
  return out;
}

namespace {

// entries[r][c] = K(rows[r], columns[c]) for one strip of rows and one piece of columns
class Distances {
 public:
  Distances(const KernelSpec& kernel, const Samples& rows, const Samples& columns)
      : kernel_(kernel), row_samples_(rows), column_samples_(columns) {}

  void choose_columns(const Index* columns, Size count) {
    columns_ = columns;
    count_ = count;
    if (column_samples_.sparse()) return;
    constexpr Size width = panel_width<double>();
    panels_.resize(kColumns * column_samples_.features());
    for (Size first = 0; first < count; first += width)
      column_samples_.pack_given(columns + first, std::min(width, count - first), width,
                                 panels_.data() + first * column_samples_.features());
  }

  void evaluate(const Index* rows, Size count, double (*entries)[kColumns]) {
    if (column_samples_.sparse()) {
      for (Size r = 0; r < count; ++r)
        for (Size c = 0; c < count_; ++c)
          entries[r][c] = std::exp(
              -kernel_.gamma * row_samples_.square_distance(rows[r], column_samples_, columns_[c]));
      return;
    }
    strip_.resize(kStripRows * row_samples_.features());
    row_samples_.pack_given(rows, count, kStripRows, strip_.data());
    StripCall<double> call{};
    call.kernel = kernel_;
    call.features = column_samples_.features();
    call.strip = strip_.data();
    call.panels = panels_.data();
    call.n_panels = (count_ + panel_width<double>() - 1) / panel_width<double>();
    for (Size r = 0; r < count; ++r) call.store[r] = entries[r];
    routines<double>().distances(call);
  }

 private:
  const KernelSpec& kernel_;
  const Samples& row_samples_;
  const Samples& column_samples_;
  const Index* columns_ = nullptr;
  Size count_ = 0;
  std::vector<double> panels_, strip_;
};

}  // namespace

template <class Real>
void sweep_distances(const KernelSpec& kernel, const Samples& row_samples,
                     const Samples& column_samples, const Sweep<Real>& work, Team& team) {
  const double cost =
      2.0 * double(work.n_rows) * double(work.n_columns) * column_samples.entry_cost();
  team.run(work.n_columns, kColumns, cost, [&](Size begin, Size end) {
    Distances distances(kernel, row_samples, column_samples);
    double entries[kStripRows][kColumns];
    for (Size first = begin; first < end; first += kColumns) {
      const Size count = std::min(kColumns, end - first);
      distances.choose_columns(work.columns + first, count);
      for (Size row = 0; row < work.n_rows; row += kStripRows) {
        const Size present = std::min(kStripRows, work.n_rows - row);
        distances.evaluate(work.rows + row, present, entries);
        for (Size r = 0; r < present; ++r) {
          if (work.store && work.store[row + r])
            for (Size c = 0; c < count; ++c) work.store[row + r][first + c] = Real(entries[r][c]);
          if (work.accumulate)
            for (Size c = 0; c < count; ++c)
              work.accumulate[first + c] += work.weights[row + r] * entries[r][c];
        }
      }
    }
  });
}

template class FarRows<float>;
template class FarRows<double>;
template void sweep_distances<float>(const KernelSpec&, const Samples&, const Samples&,
                                     const Sweep<float>&, Team&);
template void sweep_distances<double>(const KernelSpec&, const Samples&, const Samples&,
                                      const Sweep<double>&, Team&);

}  // namespace widemargin
