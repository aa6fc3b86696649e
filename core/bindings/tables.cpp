// Kernel tables and the many small problems on them, for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "bindings/arrays.hpp"
#include "bindings/python_calls.hpp"
#include "solver/table_batch.hpp"

namespace widemargin {

namespace {

constexpr Size kFigures = 5;  // of a certificate: intercept, objective, bound, gap, violation

PolishRule polish_named(const std::string& name) {
  if (name == "never") return PolishRule::never;
  if (name == "auto") return PolishRule::where_it_pays;
  if (name == "always") return PolishRule::always;
  throw std::invalid_argument("unknown rule of polishing " + name);
}

SecondSumOf second_sum_named(const std::string& name) {
  if (name == "none") return SecondSumOf::none;
  if (name == "margin") return SecondSumOf::margin;
  if (name == "tube") return SecondSumOf::tube;
  throw std::invalid_argument("unknown second sum " + name);
}

void check_members(const In<std::int64_t>& offsets, const In<Index>& members, Size n) {
  const Size count = offsets.shape(0) - 1, total = members.shape(0);
  const std::int64_t* ends = offsets.data();
  if (ends[0] != 0 || ends[count] != std::int64_t(total))
    throw std::invalid_argument("offsets must run from 0 to the number of members");
  std::vector<Size> seen(n, 0);  // the last problem of each sample, counted from 1
  for (Size p = 0; p < count; ++p) {
    if (ends[p] > ends[p + 1]) throw std::invalid_argument("offsets must rise");
    for (std::int64_t k = ends[p]; k < ends[p + 1]; ++k) {
      const Index member = members.data()[k];
      if (member < 0 || Size(member) >= n)
        throw std::out_of_range("members refer to a sample that is not there");
      if (seen[Size(member)] == p + 1) throw std::invalid_argument("a problem has a member twice");
      seen[Size(member)] = p + 1;
    }
  }
}

// Whether the origin lies within all boxes, and these have finite widths, and a finite sum of them.
bool hold_origin(In<double> lower, In<double> upper) {
  if (lower.shape(0) != upper.shape(0)) throw std::invalid_argument("a box has two ends");
  double widths = 0.0;
  for (Size k = 0; k < lower.shape(0); ++k) {
    if (!(lower.data()[k] <= 0.0 && upper.data()[k] >= 0.0)) return false;
    widths += upper.data()[k] - lower.data()[k];
  }
  return widths < kInfinity;
}

// How each problem ended, its steps, and what a callback raised or None.
nb::tuple solve(const KernelTable& table, In<std::int64_t> offsets, In<Index> members,
                In<double> linear, In<double> lower, In<double> upper, In<double> totals,
                bool equality, InOut<double> beta, InOut<double> values, InOut<double> errors,
                InOut<bool> summed, InOut<bool> exact, InOut<std::int64_t> steps,
                InOut2<double> figures, InOut<bool> repaired, std::optional<In<double>> budgets,
                InOut<double> multipliers, std::optional<In<double>> kink, double tolerance,
                long max_steps, double max_seconds, const std::string& polish, Size polish_limit,
                bool certify, int threads, const Callback& monitor, const std::string& second_sum,
                bool from_vertex) {
  if (offsets.shape(0) == 0) throw std::invalid_argument("offsets need a last entry");
  const Size count = offsets.shape(0) - 1, total = members.shape(0);
  for (const Size size : {linear.shape(0), lower.shape(0), upper.shape(0), beta.shape(0),
                          values.shape(0), errors.shape(0), summed.shape(0)})
    if (size != total) throw std::invalid_argument("arrays must have one entry per member");
  for (const Size size : {totals.shape(0), exact.shape(0), steps.shape(0), figures.shape(0),
                          repaired.shape(0), multipliers.shape(0)})
    if (size != count) throw std::invalid_argument("arrays must have one entry per problem");
  if (budgets && budgets->shape(0) != count)
    throw std::invalid_argument("budgets need one entry per problem");
  if (!budgets && second_sum != "none") throw std::invalid_argument("a second sum needs budgets");
  if (kink && kink->shape(0) != total) throw std::invalid_argument("kink: one entry per member");
  if (figures.shape(1) != kFigures) throw std::invalid_argument("figures have five columns");
  check_members(offsets, members, table.size());
  const BatchOptions options{tolerance,    max_steps, max_seconds, polish_named(polish),
                             polish_limit, certify,   threads,     from_vertex};
  std::vector<Outcome> outcomes(count);
  std::vector<TableCertificate> certificates(count);
  const Batch batch{count,
                    offsets.data(),
                    members.data(),
                    linear.data(),
                    lower.data(),
                    upper.data(),
                    kink ? kink->data() : nullptr,
                    totals.data(),
                    equality,
                    second_sum_named(second_sum),
                    budgets ? budgets->data() : nullptr,
                    multipliers.data(),
                    beta.data(),
                    values.data(),
                    errors.data(),
                    summed.data(),
                    outcomes.data(),
                    exact.data(),
                    certificates.data()};
  PythonCalls calls(monitor, {});
  calls.released(
      [&](const Callbacks& callbacks) { solve_batch(table, batch, options, callbacks.monitor); });
  nb::list status;
  for (Size p = 0; p < count; ++p) {
    status.append(name_of(outcomes[p].status));
    steps.data()[p] = outcomes[p].steps;
    const TableCertificate& found = certificates[p];
    double* row = figures.data() + kFigures * p;
    row[0] = found.intercept, row[1] = found.objective, row[2] = found.bound;
    row[3] = found.gap, row[4] = found.violation;
    repaired.data()[p] = found.repaired;
  }
  return nb::make_tuple(status, calls.raised());
}

}  // namespace

void bind_tables(nb::module_& module) {
  module.def("hold_origin", &hold_origin, nb::arg("lower").noconvert(),
             nb::arg("upper").noconvert());
  nb::class_<KernelTable>(module, "KernelTable")
      .def(
          "__init__",
          [](KernelTable* self, std::shared_ptr<Gram> gram) {
            nb::gil_scoped_release release;
            new (self) KernelTable(std::move(gram));
          },
          nb::arg("gram"))
      .def(
          "__init__",
          [](KernelTable* self, std::shared_ptr<Gram> gram, In<std::int64_t> starts,
             Size capacity) {
            std::vector<Size> first(starts.data(), starts.data() + starts.shape(0));
            for (Size s = 0; s < first.size(); ++s)
              if (s == 0 ? first[s] != 0 : first[s] <= first[s - 1] || first[s] >= gram->size())
                throw std::invalid_argument("segments must rise from 0 to samples that are there");
            if (first.empty()) throw std::invalid_argument("there must be a segment");
            nb::gil_scoped_release release;
            new (self) KernelTable(std::move(gram), std::move(first), capacity);
          },
          nb::arg("gram"), nb::arg("starts").noconvert(), nb::arg("capacity"))
      .def_prop_ro("size", &KernelTable::size)
      .def("solve", &solve, nb::arg("offsets").noconvert(), nb::arg("members").noconvert(),
           nb::arg("linear").noconvert(), nb::arg("lower").noconvert(),
           nb::arg("upper").noconvert(), nb::arg("totals").noconvert(), nb::arg("equality"),
           nb::arg("beta").noconvert(), nb::arg("values").noconvert(),
           nb::arg("errors").noconvert(), nb::arg("summed").noconvert(),
           nb::arg("exact").noconvert(), nb::arg("steps").noconvert(),
           nb::arg("figures").noconvert(), nb::arg("repaired").noconvert(),
           nb::arg("budgets").noconvert().none(), nb::arg("multipliers").noconvert(),
           nb::arg("kink").noconvert().none(), nb::kw_only(), nb::arg("tolerance"),
           nb::arg("max_steps"), nb::arg("max_seconds"), nb::arg("polish"), nb::arg("polish_limit"),
           nb::arg("certify"), nb::arg("threads"), nb::arg("monitor") = nb::none(),
           nb::arg("second_sum") = "none", nb::arg("from_vertex") = false);
}

}  // namespace widemargin
