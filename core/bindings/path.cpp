// Binding of the path engine: copies the arrays in, runs without the interpreter lock,
// takes it back for kernel columns and signals. The caller's arrays never change, so an
// error or Ctrl-C on the way leaves no half-made move behind.
#include "path/path.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

#include "bindings/arrays.hpp"

namespace widemargin {

namespace {

using Vector = In<double>;
using Sides = In<std::int8_t>;

std::vector<double> copied(const Vector& values, Size rows) {
  if (values.shape(0) != rows) throw std::invalid_argument("arrays differ in length");
  return std::vector<double>(values.data(), values.data() + rows);
}

const char* name_of(PathStatus status) {
  switch (status) {
    case PathStatus::complete:
      return "complete";
    case PathStatus::stalled:
      return "stalled";
    default:
      return "infeasible";
  }
}

nb::tuple follow_path(Vector beta, Vector gradient, Vector diagonal, Vector lower, Vector upper,
                      Vector lower_to, Vector upper_to, Vector linear_rate, Vector drive,
                      Sides side, bool has_equality, double total_rate, double linear_scale,
                      nb::callable column, long max_steps, std::uint64_t seed,
                      const std::optional<Sides>& observed) {
  const Size rows = beta.shape(0);
  if (side.shape(0) != rows) throw std::invalid_argument("arrays differ in length");
  PathProblem problem;
  problem.rows = rows;
  problem.has_equality = has_equality;
  problem.total_rate = total_rate;
  problem.linear_scale = linear_scale;
  problem.beta = copied(beta, rows);
  problem.gradient = copied(gradient, rows);
  problem.diagonal = copied(diagonal, rows);
  problem.lower = copied(lower, rows);
  problem.upper = copied(upper, rows);
  problem.lower_to = copied(lower_to, rows);
  problem.upper_to = copied(upper_to, rows);
  problem.linear_rate = copied(linear_rate, rows);
  if (drive.shape(0) != 0) problem.drive = copied(drive, rows);
  problem.side.resize(rows);
  for (Size i = 0; i < rows; ++i) problem.side[i] = Side(side.data()[i]);
  if (observed) {
    if (observed->shape(0) != rows) throw std::invalid_argument("arrays differ in length");
    problem.every_point = true;
    problem.observed.assign(observed->data(), observed->data() + rows);
  }

  auto fetch = [&column, rows](Size row, double* out) {
    nb::gil_scoped_acquire lock;
    nb::object answer = column(row);
    Vector values = nb::cast<Vector>(answer);
    if (values.shape(0) != rows) throw std::invalid_argument("kernel column too short");
    std::memcpy(out, values.data(), rows * sizeof(double));
  };
  auto poll = []() {
    nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  };

  Path path(std::move(problem), fetch, poll, max_steps, seed);
  PathReport report;
  {
    nb::gil_scoped_release unlock;
    report = path.run();
  }
  nb::dict account;
  account["status"] = name_of(report.status);
  account["steps"] = report.steps;
  account["exchanges"] = report.exchanges;
  account["shifts"] = report.shifts;
  account["perturbations"] = report.perturbations;
  account["refactorisations"] = report.refactorisations;
  account["margin"] = report.largest_margin;
  std::vector<double> crossed_at;
  std::vector<std::int64_t> crossed;
  for (const Crossing& one : report.crossings) {
    crossed_at.push_back(one.eta);
    crossed.push_back(std::int64_t(one.row));
  }
  account["crossed_at"] = as_array(std::move(crossed_at));
  account["crossed"] = as_array(std::move(crossed));
  account["breakpoints"] = as_array(report.breakpoints);
  std::vector<std::int8_t> sides(rows);
  std::transform(path.side().begin(), path.side().end(), sides.begin(),
                 [](Side value) { return std::int8_t(value); });
  return nb::make_tuple(as_array(path.beta()), as_array(path.gradient()),
                        as_array(std::move(sides)), account);
}

}  // namespace

void bind_path(nb::module_& module) {
  using nb::arg;
  module.def("follow_path", &follow_path, arg("beta").noconvert(), arg("gradient").noconvert(),
             arg("diagonal").noconvert(), arg("lower").noconvert(), arg("upper").noconvert(),
             arg("lower_to").noconvert(), arg("upper_to").noconvert(),
             arg("linear_rate").noconvert(), arg("drive").noconvert(), arg("side").noconvert(),
             arg("has_equality"), arg("total_rate"), arg("linear_scale"), arg("column"),
             arg("max_steps"), arg("seed"), arg("observed").noconvert() = nb::none());
}

}  // namespace widemargin
