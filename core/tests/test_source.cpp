// Kernel entries: dense, CSR, views and threads against the formula.
#include "simd/dispatch.hpp"
#include "tests/testing.hpp"

using namespace widemargin;
using testing::Data;
using testing::require;
using testing::require_close;

namespace {

const KernelSpec kKernels[] = {
    {KernelKind::linear, 1.0, 0.0, 1},      {KernelKind::gaussian, 0.3, 0.0, 1},
    {KernelKind::laplacian, 0.2, 0.0, 1},   {KernelKind::polynomial, 0.2, 1.0, 3},
    {KernelKind::polynomial, 0.01, 0.5, 6}, {KernelKind::sigmoid, 0.1, 0.2, 1}};

template <class Real>
void compare(const Source& source, const Data& data, const KernelSpec& spec, double tolerance) {
  Team team(2);
  const auto all = testing::all_samples(data.n);
  std::vector<Real> out(data.n * data.n);
  std::vector<Real*> store(data.n);
  for (Size r = 0; r < data.n; ++r) store[r] = out.data() + r * data.n;
  std::vector<double> weights(data.n), sums(data.n, 0.5), expected(data.n, 0.5);
  for (Size r = 0; r < data.n; ++r) weights[r] = double(r % 5) - 2.0;
  source.sweep(Sweep<Real>{all.data(), data.n, all.data(), data.n, store.data(), weights.data(),
                           sums.data()},
               team);
  for (Size i = 0; i < data.n; ++i)
    for (Size j = 0; j < data.n; ++j) {
      const double value = data.kernel(spec, i, j);
      require_close(double(store[i][j]), value, tolerance * (1 + std::abs(value)), "entry");
      expected[j] += weights[i] * value;
    }
  for (Size j = 0; j < data.n; ++j)
    require_close(sums[j], expected[j], tolerance * double(data.n) * 20, "weighted sum");
}

}  // namespace

WIDEMARGIN_TEST(entries_are_the_formula) {
  for (const Size n : {Size(1), Size(5), Size(16), Size(67)})
    for (const Size features : {Size(1), Size(3), Size(17), Size(130)}) {
      const Data data(n, features, unsigned(n + features), 0.4);
      for (const KernelSpec& spec : kKernels) {
        compare<double>(*data.dense(spec), data, spec, 1e-11);
        compare<double>(*data.sparse(spec), data, spec, 1e-11);
        compare<float>(*data.dense(spec), data, spec, 5e-4);
        compare<float>(*data.sparse(spec), data, spec, 5e-4);
      }
    }
}

WIDEMARGIN_TEST(the_diagonal_is_the_formula) {
  const Data data(21, 5, 8, 0.4);
  const auto all = testing::all_samples(data.n);
  std::vector<double> out(data.n);
  for (const KernelSpec& spec : kKernels)
    for (const auto& source : {data.dense(spec), data.sparse(spec)}) {
      source->diagonal(all.data(), data.n, out.data());
      for (Size k = 0; k < data.n; ++k)
        require_close(out[k], data.kernel(spec, k, k), 1e-11, "of the diagonal");
    }
}

WIDEMARGIN_TEST(what_is_known_to_be_semidefinite) {
  const Data data(3, 2, 1);
  const auto known = [&](KernelKind kind, double gamma, double coef0) {
    return data.dense({kind, gamma, coef0, 3})->semidefinite();
  };
  require(known(KernelKind::linear, 1.0, 0.0), "linear");
  require(known(KernelKind::gaussian, 1.0, 0.0), "gaussian");
  require(known(KernelKind::laplacian, 1.0, 0.0), "laplacian");
  require(known(KernelKind::polynomial, 1.0, 0.0), "polynomial");
  require(!known(KernelKind::polynomial, 1.0, -1.0), "polynomial, negative coef0");
  require(!known(KernelKind::polynomial, -1.0, 1.0), "polynomial, negative gamma");
  require(!known(KernelKind::sigmoid, 1.0, 0.0), "sigmoid");
}

WIDEMARGIN_TEST(the_baseline_agrees_with_the_dispatched_routines) {
  const Data data(64, 9, 3);
  const Routines<double>& fast = routines<double>();
  const Routines<double>& plain = baseline::table<double>();
  std::vector<double> a(64, 1.0), b(64, 1.0);
  const double* rows[3] = {data.values.data(), data.values.data() + 64, data.values.data() + 128};
  const double weights[3] = {0.5, -2.0, 1.25};
  fast.combine(rows, weights, 3, 64, a.data());
  plain.combine(rows, weights, 3, 64, b.data());
  for (Size k = 0; k < 64; ++k) require_close(a[k], b[k], 1e-14, "combine");
}

WIDEMARGIN_TEST(laplacian_strips_are_the_formula_on_every_target) {
  // samples 0 to 3 as the strip, 4 to 11 as one panel; features and gamma that overflow, too
  for (const double size : {1.0, 1e-310, 1e308}) {
    const Data data(12, 5, 9);
    std::vector<double> strip(5 * kStripRows), panel(5 * 8), out(kStripRows * 8);
    for (Size k = 0; k < 5; ++k) {
      for (Size r = 0; r < kStripRows; ++r)
        strip[k * kStripRows + r] = size * std::tanh(data.values[r * 5 + k]);
      for (Size c = 0; c < 8; ++c)
        panel[k * 8 + c] = size * std::tanh(data.values[(4 + c) * 5 + k]);
    }
    for (const double gamma : {0.0, 0.7, 1e308})
      for (const Routines<double>* target : {&routines<double>(), &baseline::table<double>()}) {
        StripCall<double> call{};
        call.kernel = {KernelKind::laplacian, gamma, 0.0, 1};
        call.features = 5, call.strip = strip.data(), call.panels = panel.data();
        call.n_panels = 1;
        for (Size r = 0; r < kStripRows; ++r) call.store[r] = out.data() + r * 8;
        target->distances(call);
        for (Size r = 0; r < kStripRows; ++r)
          for (Size c = 0; c < 8; ++c) {
            long double sum = 0.0L;
            for (Size k = 0; k < 5; ++k)
              sum += std::abs((long double)strip[k * kStripRows + r] - panel[k * 8 + c]);
            require_close(out[r * 8 + c], double(std::exp(-(long double)gamma * sum)), 1e-15,
                          "Laplacian entry");
          }
      }
  }
}

WIDEMARGIN_TEST(a_view_is_the_renumbered_matrix) {
  const Data data(40, 4, 5);
  const KernelSpec spec{KernelKind::gaussian, 0.5, 0.0, 1};
  Gram gram(data.dense(spec), 1 << 20, 1);
  const std::vector<Index> ids{7, 0, 39, 7};
  const auto view = gram.subset(ids, 1 << 20, 1);
  require(view->size() == 4, "size of the view");
  std::vector<double> out(16);
  const auto all = testing::all_samples(4);
  view->rows(all.data(), 4, all.data(), 4, out.data());
  for (Size i = 0; i < 4; ++i)
    for (Size j = 0; j < 4; ++j)
      require_close(out[i * 4 + j], data.kernel(spec, Size(ids[i]), Size(ids[j])), 1e-12, "entry");
}

WIDEMARGIN_TEST(threads_do_not_change_a_bit) {
  const Data data(300, 12, 8);
  const auto all = testing::all_samples(300);
  for (const KernelSpec& spec : kKernels) {
    std::vector<double> weights(300, 0.1);
    std::vector<double> one(300), three(300);
    Gram(data.dense(spec), 1 << 20, 1)
        .times<double>(all.data(), weights.data(), 300, all.data(), 300, one.data());
    Gram(data.dense(spec), 1 << 20, 3)
        .times<double>(all.data(), weights.data(), 300, all.data(), 300, three.data());
    for (Size k = 0; k < 300; ++k) require(one[k] == three[k], "bitwise equal");
  }
}

WIDEMARGIN_TEST(a_team_covers_the_range_exactly_once) {
  for (const int threads : {1, 2, 5}) {
    Team team(threads);
    for (const Size count : {Size(0), Size(1), Size(15), Size(1000)}) {
      std::vector<int> seen(count, 0);
      team.run(count, 16, 1e12, [&](Size begin, Size end) {
        for (Size k = begin; k < end; ++k) ++seen[k];
      });
      for (const int times : seen) require(times == 1, "each once");
    }
  }
}
