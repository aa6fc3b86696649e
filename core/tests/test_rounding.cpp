// Bounds on rounding hold against long double, and entries of far samples do not cancel.
#include <cmath>

#include "kernel/rounding.hpp"
#include "kernel/symmetric_products.hpp"
#include "simd/dispatch.hpp"
#include "tests/testing.hpp"

namespace widemargin {
namespace tested {
namespace {
#include "simd/lanes.inl"
}
}  // namespace tested
}  // namespace widemargin

using namespace widemargin;
using testing::Data;
using testing::require;

namespace {

const KernelSpec kKernels[] = {
    {KernelKind::linear, 1.0, 0.0, 1},     {KernelKind::gaussian, 0.3, 0.0, 1},
    {KernelKind::gaussian, 40.0, 0.0, 1},  {KernelKind::laplacian, 0.2, 0.0, 1},
    {KernelKind::laplacian, 30.0, 0.0, 1}, {KernelKind::polynomial, 0.2, 1.0, 3},
    {KernelKind::polynomial, 2.0, 0.0, 5}, {KernelKind::sigmoid, 0.1, 0.2, 1}};

long double exact_kernel(const Data& data, const KernelSpec& spec, Size i, Size j) {
  long double inner = 0.0L, square = 0.0L, absolute = 0.0L;
  for (Size k = 0; k < data.features; ++k) {
    const long double a = data.values[i * data.features + k],
                      b = data.values[j * data.features + k];
    inner += a * b;
    square += (a - b) * (a - b);
    absolute += std::abs(a - b);
  }
  const long double argument = (long double)spec.gamma * inner + (long double)spec.coef0;
  if (spec.kind == KernelKind::linear) return inner;
  if (spec.kind == KernelKind::gaussian) return std::exp(-(long double)spec.gamma * square);
  if (spec.kind == KernelKind::laplacian) return std::exp(-(long double)spec.gamma * absolute);
  if (spec.kind == KernelKind::polynomial) return std::pow(argument, (long double)spec.degree);
  return std::tanh(argument);
}

// Moves the samples out, where the norm expansion cancels: a few of them, or all.
Data moved(Size n, Size features, double offset, bool all) {
  Data data(n, features, 5, 0.7);
  Size next = 0;
  for (Size i = 0; i < n; ++i)
    for (Size k = 0; k < features; ++k) {
      double& value = data.values[i * features + k];
      if (value == 0.0) continue;
      if (all || i % 7 == 0) value += offset;
      data.data[next++] = value;
    }
  return data;
}

std::vector<double> drawn_weights(Size n) {
  std::vector<double> weights(n);
  for (Size r = 0; r < n; ++r) weights[r] = (r % 3 ? 1.0 : -2.5) * double(r % 11) / 3.0;
  return weights;
}

template <class Real>
void require_bounded(const Source& source, const Data& data, const KernelSpec& spec) {
  Team team(2);
  const auto all = testing::all_samples(data.n);
  const std::vector<double> weights = drawn_weights(data.n);
  std::vector<double> sums(data.n), sizes(data.n), error(data.n);
  Sweep<Real> work{all.data(), data.n, all.data(), data.n, nullptr, weights.data(), sums.data()};
  work.sizes = sizes.data();
  source.sweep(work, team);
  source.rounding(work, error.data());
  for (Size j = 0; j < data.n; ++j) {
    long double exact = 0.0L;
    for (Size i = 0; i < data.n; ++i) exact += weights[i] * exact_kernel(data, spec, i, j);
    const bool overflows = sizeof(Real) == 4 && std::isinf(error[j]);
    require(overflows || std::abs(sums[j] - double(exact)) <= error[j], "rounding is bounded");
  }
}

template <class Real>
void require_exp2(double least, double bound) {
  using Vector = typename tested::Lanes<Real>::Vector;
  for (double x = 0.0; x > least; x -= -least / 1.7e6) {
    const Real at = Real(x);
    const Vector found = tested::exp2_negative<Real>(tested::splat<Real>(at));
    const long double exact = std::exp2((long double)at);
    require(std::abs((long double)found[0] - exact) <= bound * exact, "exp2");
  }
}

// Products of the first of several vectors among n samples, against those in long double.
void require_symmetric_products(Size n, const KernelSpec& spec, Size n_vectors) {
  const Data data(n, n == 70 ? 40 : 4, 3, n == 70 ? 0.2 : 1.0);
  const auto all = testing::all_samples(n);
  std::vector<double> weights = drawn_weights(n);
  for (Size v = 1; v < n_vectors; ++v)  // of fewer and fewer samples
    for (Size i = 0; i < n; ++i) weights.push_back(i % v ? 0.0 : i % 2 ? 0.5 : -0.25);
  std::vector<double> first;
  for (const int threads : {1, 3}) {
    Gram gram(data.dense(spec), Size(1) << 20, threads);
    Team team(threads);
    std::vector<double> values(n), error(n), squares(n_vectors);
    require(symmetric_products(
                gram, team, all.data(), n, weights.data(), n_vectors, [] { return true; },
                values.data(), error.data(), squares.data()),
            "not stopped");
    values.insert(values.end(), squares.begin(), squares.end());
    if (!first.empty()) {
      require(first == values, "the same for any number of threads");
      continue;
    }
    first = values;
    if (n > 200) continue;  // long double is slow
    std::vector<long double> exact_squares(n_vectors, 0.0L);
    for (Size i = 0; i < n; ++i) {
      std::vector<long double> sums(n_vectors, 0.0L);
      for (Size j = 0; j < n; ++j) {
        const long double entry = exact_kernel(data, spec, i, j);
        for (Size v = 0; v < n_vectors; ++v) sums[v] += weights[v * n + j] * entry;
      }
      require(std::abs(values[i] - double(sums[0])) <= error[i], "value within its bound");
      for (Size v = 0; v < n_vectors; ++v) exact_squares[v] += weights[v * n + i] * sums[v];
    }
    for (Size v = 0; v < n_vectors; ++v) {
      const double exact = double(exact_squares[v]);
      require(squares[v] >= exact, "an upper bound on the square");
      const double sum = std::abs(exact) + 1e-3 * double(n * n);
      require(squares[v] <= exact + 1e-6 * sum, "and not far above it");
    }
  }
}

}  // namespace

WIDEMARGIN_TEST(exp2_is_as_good_as_the_bounds_say) {
  require_exp2<float>(kLeastExponent<float>, 2.5e-7);
  require_exp2<double>(kLeastExponent<double>, 4e-16);
}

WIDEMARGIN_TEST(bounds_on_rounding_hold) {
  for (const double offset : {0.0, 30.0, 1e4, 1e7, 1e9})
    for (const bool all : {false, true}) {
      const Data data = moved(83, 6, offset, all);
      for (const KernelSpec& spec : kKernels)
        for (const auto& source : {data.dense(spec), data.sparse(spec)}) {
          require_bounded<double>(*source, data, spec);
          require_bounded<float>(*source, data, spec);
        }
    }
}

// Dot products of many features are summed by blocks, and so are the norms: a sample has distance 0
// from itself.
WIDEMARGIN_TEST(bounds_on_rounding_hold_over_several_blocks_of_features) {
  for (const Size features : {kDotBlock, kDotBlock + 1, 2 * kDotBlock + 37}) {
    const Data data = moved(41, features, 30.0, false);
    for (const KernelSpec& spec : kKernels) {
      require_bounded<double>(*data.dense(spec), data, spec);
      require_bounded<float>(*data.dense(spec), data, spec);
    }
    const auto source = data.dense({KernelKind::gaussian, 0.3, 0.0, 1});
    Team team(1);
    for (Index i = 0; i < Index(data.n); ++i) {
      float entry = 0.0f;
      float* store = &entry;
      source->sweep(Sweep<float>{&i, 1, &i, 1, &store}, team);
      require(entry == 1.0f, "the entry of a sample with itself is 1");
    }
  }
}

WIDEMARGIN_TEST(far_samples_do_not_cancel) {
  const KernelSpec spec{KernelKind::gaussian, 1.0, 0.0, 1};
  for (const bool all : {false, true}) {
    const Data data = moved(40, 3, 2e7, all);
    const auto samples = testing::all_samples(data.n);
    for (const auto& source : {data.dense(spec), data.sparse(spec)}) {
      Team team(1);
      std::vector<double> out(data.n * data.n);
      std::vector<double*> store(data.n);
      for (Size r = 0; r < data.n; ++r) store[r] = out.data() + r * data.n;
      source->sweep(Sweep<double>{samples.data(), data.n, samples.data(), data.n, store.data()},
                    team);
      for (Size i = 0; i < data.n; ++i)
        for (Size j = 0; j < data.n; ++j)
          testing::require_close(store[i][j], double(exact_kernel(data, spec, i, j)), 1e-12,
                                 "entry between far samples");
    }
  }
}

WIDEMARGIN_TEST(symmetric_products_are_bounded_and_the_same_for_any_team) {
  for (const Size n : {Size(1), Size(3), Size(70), Size(200), Size(700)})
    for (const KernelSpec& spec : kKernels)
      for (const Size n_vectors : {Size(1), Size(7)})  // 7 are more than are multiplied at a time
        require_symmetric_products(n, spec, n_vectors);
}

WIDEMARGIN_TEST(sums_of_several_vectors_are_bounded_and_the_same_for_any_team) {
  constexpr Size kVectors = 6;
  for (const Size n : {Size(1), Size(70), Size(700)})
    for (const KernelSpec& spec : kKernels) {
      const Data data = moved(n, 4, 30.0, false);
      const auto all = testing::all_samples(n);
      std::vector<double> weights;
      for (Size v = 0; v < kVectors; ++v)
        for (Size i = 0; i < n; ++i)
          weights.push_back((i + v) % 3 ? 0.1 * double(v) : -double(i % 7));
      std::vector<double> first;
      for (const int threads : {1, 3}) {
        Gram gram(data.dense(spec), Size(1) << 20, threads);
        Team team(threads);
        std::vector<double> values(kVectors * n), error(kVectors * n);
        require(symmetric_sums(
                    gram, team, all.data(), n, weights.data(), kVectors, [] { return true; },
                    values.data(), error.data()),
                "not stopped");
        if (first.empty()) first = values;
        require(first == values, "the same for any number of threads");
        if (n > 70) continue;  // long double is slow
        for (Size v = 0; v < kVectors; ++v)
          for (Size i = 0; i < n; ++i) {
            long double sum = 0.0L;
            for (Size j = 0; j < n; ++j) sum += weights[v * n + j] * exact_kernel(data, spec, i, j);
            require(std::abs(values[v * n + i] - double(sum)) <= error[v * n + i],
                    "value within its bound");
          }
      }
    }
}

// Sizes may be those of larger weights: a bound must not fall where they grow.
WIDEMARGIN_TEST(bounds_on_rounding_grow_with_the_sizes) {
  const KernelSpec spec{KernelKind::gaussian, 0.3, 0.0, 1};
  Data data(40, 60, 3);
  for (Size k = 0; k < data.features; ++k) data.values[k] = 0.0;  // at the centre, nearly
  const auto source = data.dense(spec);
  const auto all = testing::all_samples(data.n);
  const std::vector<double> weights(data.n, 1.0);
  std::vector<double> before(data.n, 0.0);
  for (double size = 1e-3; size <= double(data.n); size *= 1.05) {
    std::vector<double> sizes(data.n, size), error(data.n, 0.0);
    Sweep<double> work{all.data(), data.n, all.data(), data.n, nullptr, weights.data()};
    work.sizes = sizes.data();
    source->rounding(work, error.data());
    for (Size i = 0; i < data.n; ++i) require(error[i] >= before[i], "a larger size");
    before = error;
  }
}

// A source that refuses entries whose error rounding() does not count: by the norm expansion with a
// far column that is then taken for the row.
class FarRowsFirst final : public Source {
 public:
  explicit FarRowsFirst(std::shared_ptr<Source> base) : base_(std::move(base)) {}
  Size size() const override { return base_->size(); }
  void diagonal(const Index* ids, Size count, double* out) const override {
    base_->diagonal(ids, count, out);
  }
  Size sweep(const Sweep<float>& work, Team& team) const override {
    return base_->sweep(work, team);
  }
  Size sweep(const Sweep<double>& work, Team& team) const override {
    for (Size r = 0; r < work.n_rows; ++r)
      for (Size c = 0; c < work.n_columns; ++c)
        require(by_differences(work.rows[r]) || !by_differences(work.columns[c]),
                "of a far and a near sample the far one is the row");
    return base_->sweep(work, team);
  }
  void rounding(const Sweep<float>& work, double* error) const override {
    base_->rounding(work, error);
  }
  void rounding(const Sweep<double>& work, double* error) const override {
    base_->rounding(work, error);
  }
  bool by_differences(Index id) const override { return base_->by_differences(id); }

 private:
  std::shared_ptr<Source> base_;
};

WIDEMARGIN_TEST(symmetric_products_take_far_samples_for_rows) {
  const KernelSpec spec{KernelKind::gaussian, 1.0, 0.0, 1};
  const Data data = moved(300, 6, 2e3, false);
  const auto source = std::make_shared<FarRowsFirst>(data.dense(spec));
  const auto all = testing::all_samples(data.n);
  Size far = 0;
  for (const Index id : all) far += source->by_differences(id);
  require(far > 0 && far < data.n, "some are far");
  Gram gram(source, Size(1) << 20, 1);
  Team team(1);
  const std::vector<double> weights = drawn_weights(data.n);
  std::vector<double> values(data.n), error(data.n), squares(1);
  require(symmetric_products(
              gram, team, all.data(), data.n, weights.data(), 1, [] { return true; }, values.data(),
              error.data(), squares.data()),
          "not stopped");
}

// Far samples have the least entry there is, so that a product with any weight of a solve is a
// normal number: a hundred times as fast as one that is not.
template <class Real>
void require_normal_products(const Source& source, Size n) {
  Team team(1);
  const auto all = testing::all_samples(n);
  std::vector<Real> entries(n * n);
  std::vector<Real*> store;
  for (Size i = 0; i < n; ++i) store.push_back(entries.data() + i * n);
  source.sweep(Sweep<Real>{all.data(), n, all.data(), n, store.data()}, team);
  Size least = 0;
  for (const Real entry : entries) {
    least += entry == Real(std::exp2(kLeastExponent<Real>));
    require(std::isnormal(entry * Real(1e-18)), "a product with a small weight is normal");
  }
  require(least > 0, "far samples have the least entry");
}

WIDEMARGIN_TEST(products_of_entries_and_weights_are_normal_numbers) {
  const KernelSpec kernels[] = {{KernelKind::gaussian, 5e5, 0.0, 1},
                                {KernelKind::laplacian, 5e3, 0.0, 1}};
  for (const double offset : {0.0, 1e7}) {  // by norms, and some of the samples by differences
    const Data data = moved(83, 6, offset, false);
    for (const KernelSpec& spec : kernels)
      for (const auto& source : {data.dense(spec), data.sparse(spec)}) {
        require_normal_products<double>(*source, data.n);
        require_normal_products<float>(*source, data.n);
      }
  }
}
