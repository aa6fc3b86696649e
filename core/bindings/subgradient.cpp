// The stochastic subgradient loop for Python: checks shapes, releases the GIL, calls.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <stdexcept>
#include <variant>

#include <nanobind/stl/optional.h>

#include "solver/subgradient.hpp"

namespace nb = nanobind;

namespace widemargin {
namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Mutable = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using AnyArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

using AnyRows = std::variant<DenseRows<float>, DenseRows<double>, SparseRows<float, std::int32_t>,
                             SparseRows<double, std::int32_t>, SparseRows<float, std::int64_t>,
                             SparseRows<double, std::int64_t>>;
using AnyCovariances = std::variant<FullCovariances, DiagonalCovariances, FactorCovariances>;

template <class Real>
AnyRows rows_of(const AnyArray& data, const std::optional<AnyArray>& indices,
                const std::optional<AnyArray>& offsets, std::int64_t features) {
  const auto* values = static_cast<const Real*>(data.data());
  if (!indices || !offsets) return DenseRows<Real>{values, features};
  if (indices->dtype() != offsets->dtype()) throw std::invalid_argument("index types differ");
  if (indices->dtype() == nb::dtype<std::int32_t>())
    return SparseRows<Real, std::int32_t>{values, static_cast<const std::int32_t*>(indices->data()),
                                          static_cast<const std::int32_t*>(offsets->data())};
  if (indices->dtype() == nb::dtype<std::int64_t>())
    return SparseRows<Real, std::int64_t>{values, static_cast<const std::int64_t*>(indices->data()),
                                          static_cast<const std::int64_t*>(offsets->data())};
  throw std::invalid_argument("indices must be int32 or int64");
}

AnyCovariances covariances_of(const Table& table, const char kind, std::int64_t features) {
  const auto fits = [&](Size dimensions) {
    return table.ndim() == dimensions && std::int64_t(table.shape(1)) == features;
  };
  if (kind == 'd' && fits(2)) return DiagonalCovariances{table.data(), features};
  if (kind == 'f' && fits(3) && std::int64_t(table.shape(2)) == features)
    return FullCovariances{table.data(), features};
  if (kind == 'l' && fits(3))
    return FactorCovariances{table.data(), features, std::int64_t(table.shape(2))};
  throw std::invalid_argument("covariance table has the wrong shape");
}

// Returns (b, mean_b, steps); w and mean_w are changed in place.
nb::tuple pass(AnyArray data, std::optional<AnyArray> indices, std::optional<AnyArray> offsets,
               Table table, char kind, std::optional<Vector<std::int64_t>> groups,
               Vector<double> signs, Vector<double> costs, Vector<std::int64_t> order, Mutable w,
               Mutable mean_w, double b, double mean_b, std::int64_t steps, double kappa,
               double rows_total, bool fit_intercept, bool refined, double radius, double delay,
               double unit_of_cost) {
  const auto features = std::int64_t(w.shape(0));
  const auto n = std::int64_t(signs.shape(0));
  if (std::int64_t(costs.shape(0)) != n || std::int64_t(mean_w.shape(0)) != features)
    throw std::invalid_argument("lengths differ");
  if (groups ? std::int64_t(groups->shape(0)) != n : std::int64_t(table.shape(0)) != n)
    throw std::invalid_argument("one covariance entry for each sample is needed");
  const bool fits = indices ? offsets && std::int64_t(offsets->shape(0)) == n + 1
                            : data.ndim() == 2 && std::int64_t(data.shape(0)) == n &&
                                  std::int64_t(data.shape(1)) == features;
  if (!fits) throw std::invalid_argument("samples have the wrong shape");
  for (Size k = 0; k < order.shape(0); ++k)
    if (order.data()[k] < 0 || order.data()[k] >= n) throw std::invalid_argument("bad order");
  if (groups)
    for (std::int64_t i = 0; i < n; ++i)
      if (groups->data()[i] < 0 || groups->data()[i] >= std::int64_t(table.shape(0)))
        throw std::invalid_argument("bad covariance entry");

  AnyRows rows;
  if (data.dtype() == nb::dtype<double>())
    rows = rows_of<double>(data, indices, offsets, features);
  else if (data.dtype() == nb::dtype<float>())
    rows = rows_of<float>(data, indices, offsets, features);
  else
    throw std::invalid_argument("samples must be float32 or float64");
  const AnyCovariances covariances = covariances_of(table, kind, features);
  const SubgradientVisits visits{signs.data(), costs.data(), groups ? groups->data() : nullptr,
                                 order.data(), std::int64_t(order.shape(0))};
  const SubgradientRule rule{kappa,  rows_total, fit_intercept, refined,
                             radius, delay,      unit_of_cost};
  SubgradientState state{w.data(), mean_w.data(), b, mean_b, steps};
  {
    nb::gil_scoped_release released;
    std::visit(
        [&](const auto& samples, const auto& moments) {
          subgradient_pass(samples, moments, features, visits, rule, state);
        },
        rows, covariances);
  }
  return nb::make_tuple(state.b, state.mean_b, state.steps);
}

}  // namespace

void bind_subgradient(nb::module_& module) {
  module.def("subgradient_pass", &pass, nb::arg("data").noconvert(), nb::arg("indices").none(),
             nb::arg("offsets").none(), nb::arg("table").noconvert(), nb::arg("kind"),
             nb::arg("groups").none(), nb::arg("signs").noconvert(), nb::arg("costs").noconvert(),
             nb::arg("order").noconvert(), nb::arg("w").noconvert(), nb::arg("mean_w").noconvert(),
             nb::arg("b"), nb::arg("mean_b"), nb::arg("steps"), nb::kw_only(), nb::arg("kappa"),
             nb::arg("rows_total"), nb::arg("fit_intercept"), nb::arg("refined"), nb::arg("radius"),
             nb::arg("delay"), nb::arg("unit_of_cost"));
}

}  // namespace widemargin
