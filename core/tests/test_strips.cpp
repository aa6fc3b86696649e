// Strips without the features that their rows lack: the same entries to the last bit.
#include "kernel/strips.hpp"

#include "kernel/source.hpp"
#include "tests/testing.hpp"

using namespace widemargin;
using testing::Data;
using testing::require;

namespace {

// Sparse samples with many zeros, but for the last, which has none.
Data with_zeros(Size n, Size features) {
  Data data(n, features, 5, 0.1);
  for (Size k = 0; k < features; ++k) data.values[(n - 1) * features + k] = 1.0 + 0.01 * double(k);
  return data;
}

template <class Real>
std::vector<Real> entries(const Source& source, const std::vector<Index>& rows, Size n) {
  Team team(1);
  const auto all = testing::all_samples(n);
  std::vector<Real> out(rows.size() * n);
  std::vector<Real*> store;
  for (Size r = 0; r < rows.size(); ++r) store.push_back(out.data() + r * n);
  source.sweep(Sweep<Real>{rows.data(), rows.size(), all.data(), n, store.data()}, team);
  return out;
}

// A row's entries beside rows that have the same zeros, and beside one that has none.
template <class Real>
void require_same_entries(const Data& data, const KernelSpec& spec) {
  const auto source = data.dense(spec);
  const std::vector<Real> shortened = entries<Real>(*source, {0, 1, 2, 3}, data.n);
  const std::vector<Real> whole = entries<Real>(*source, {0, Index(data.n - 1)}, data.n);
  for (Size c = 0; c < data.n; ++c) require(shortened[c] == whole[c], "bitwise equal");
}

}  // namespace

WIDEMARGIN_TEST(features_that_a_strip_lacks_are_left_out) {
  for (const Size features : {Size(15), Size(16), Size(300)}) {
    const Data data = with_zeros(8, features);
    const Samples samples(data.values.data(), data.n, features);
    const KernelSpec spec{KernelKind::linear, 1.0, 0.0, 1};
    const Index rows[8] = {0, 1, 2, 3, 7, 4, 5, 6};
    const Strips<double> strips(samples, spec, rows, 8);
    StripCall<double> call{};
    strips.use(1, call);
    require(call.present == nullptr && call.ends == nullptr, "a row without zeros: a whole strip");
    for (Size k = 0; k < features; ++k)
      for (Size r = 0; r < 4; ++r)
        require(call.strip[k * 4 + r] == data.values[Size(rows[4 + r]) * features + k], "packed");
    strips.use(0, call);
    require((call.present != nullptr) == (features >= 16), "few features stay");
    if (call.present == nullptr) continue;
    const Size blocks = dot_blocks(features);
    Size at = 0;
    for (Size k = 0; k < features; ++k) {
      if (k % kDotBlock == 0 && k > 0) require(Size(call.ends[k / kDotBlock - 1]) == at, "block");
      bool any = false;
      for (Size r = 0; r < 4; ++r) any = any || data.values[r * features + k] != 0.0;
      if (!any) continue;
      require(Size(call.present[at]) == k, "a feature that a row has");
      for (Size r = 0; r < 4; ++r)
        require(call.strip[at * 4 + r] == data.values[r * features + k], "its values");
      ++at;
    }
    require(Size(call.ends[blocks - 1]) == at, "and no other");
  }
}

WIDEMARGIN_TEST(entries_of_shortened_strips_are_the_same_to_the_last_bit) {
  const KernelSpec kernels[] = {{KernelKind::linear, 1.0, 0.0, 1},
                                {KernelKind::polynomial, 0.1, 1.0, 3},
                                {KernelKind::gaussian, 0.01, 0.0, 1},
                                {KernelKind::sigmoid, 0.01, 0.1, 1}};
  for (const Size features : {Size(16), Size(54), Size(128), Size(129), Size(300)}) {
    const Data data = with_zeros(75, features);  // tiles of four panels and of one
    for (const KernelSpec& spec : kernels) {
      require_same_entries<float>(data, spec);
      require_same_entries<double>(data, spec);
    }
  }
}

namespace {

// Memory as the caller gave it, samples that are converted, and whole or partly filled panels.
template <class Real, class Given>
void require_packed(Size features, Size count, Size width) {
  const Size n = 40;
  std::vector<Given> values(n * features);
  for (Size k = 0; k < values.size(); ++k) values[k] = Given(0.25 * double(k) - 7.0);
  const Samples samples(values.data(), n, features);
  std::vector<Index> ids(count);
  for (Size c = 0; c < count; ++c) ids[c] = Index((7 * c + 3) % n);
  std::vector<Real> panel(width * features, Real(-1));
  samples.fetch_ahead<Real>(ids.data(), count);  // asks only
  samples.pack(ids.data(), count, width, panel.data());
  for (Size k = 0; k < features; ++k)
    for (Size c = 0; c < width; ++c) {
      const Real expected = c < count ? Real(values[Size(ids[c]) * features + k]) : Real(0);
      require(panel[k * width + c] == expected, "feature by feature");
    }
}

}  // namespace

WIDEMARGIN_TEST(samples_are_packed_feature_by_feature) {
  for (const Size features : {Size(0), Size(1), Size(4), Size(7), Size(22)})
    for (const Size count : {Size(1), Size(4), Size(6), Size(16)}) {
      require_packed<float, float>(features, count, 16);
      require_packed<float, double>(features, count, 16);
      require_packed<double, double>(features, count, 16);
      require_packed<double, float>(features, count, 16);
    }
}
