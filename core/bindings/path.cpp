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
#include "path/removals.hpp"

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

// What a path did, and which samples crossed where.
nb::dict account_of(const PathReport& report) {
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
  return account;
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
  std::vector<std::int8_t> sides(rows);
  std::transform(path.side().begin(), path.side().end(), sides.begin(),
                 [](Side value) { return std::int8_t(value); });
  return nb::make_tuple(as_array(path.beta()), as_array(path.gradient()),
                        as_array(std::move(sides)), account_of(report));
}

// The removals of a solution over a matrix that stays the caller's, and alive with this.
class RemovalsHandle {
 public:
  RemovalsHandle(Vector beta, Vector gradient, Vector lower, Vector upper, bool has_equality,
                 double linear_scale, InOut2<double> matrix, int threads)
      : matrix_(std::move(matrix)), team_(threads) {
    const Size rows = beta.shape(0);
    if (matrix_.shape(0) != rows || matrix_.shape(1) != rows)
      throw std::invalid_argument("arrays differ in length");
    RemovalProblem problem{rows,
                           has_equality,
                           linear_scale,
                           copied(beta, rows),
                           copied(gradient, rows),
                           copied(lower, rows),
                           copied(upper, rows)};
    nb::gil_scoped_release unlock;
    removals_.emplace(std::move(problem), matrix_.data(), team_);
  }

  bool ready() const { return removals_->ready(); }

  void remove(const In<std::int32_t>& rows, InOut2<double> betas, InOut<std::int8_t> reached) {
    const Size count = rows.shape(0), width = betas.shape(1);
    if (betas.shape(0) != count || reached.shape(0) != count || width != matrix_.shape(0))
      throw std::invalid_argument("arrays differ in length");
    for (Size k = 0; k < count; ++k)
      if (rows.data()[k] < 0 || Size(rows.data()[k]) >= width)
        throw std::invalid_argument("no such row");
    nb::gil_scoped_release unlock;
    team_.run(count, 1, double(count) * double(width) * 64, [&](Size begin, Size end) {
      for (Size k = begin; k < end; ++k)
        reached.data()[k] = removals_->remove(Size(rows.data()[k]), betas.data() + k * width);
    });
  }

 private:
  InOut2<double> matrix_;
  Team team_;
  std::optional<Removals> removals_;
};

}  // namespace

void bind_path(nb::module_& module) {
  using nb::arg;
  module.def("follow_path", &follow_path, arg("beta").noconvert(), arg("gradient").noconvert(),
             arg("diagonal").noconvert(), arg("lower").noconvert(), arg("upper").noconvert(),
             arg("lower_to").noconvert(), arg("upper_to").noconvert(),
             arg("linear_rate").noconvert(), arg("drive").noconvert(), arg("side").noconvert(),
             arg("has_equality"), arg("total_rate"), arg("linear_scale"), arg("column"),
             arg("max_steps"), arg("seed"), arg("observed").noconvert() = nb::none());
  nb::class_<RemovalsHandle>(module, "Removals")
      .def(nb::init<Vector, Vector, Vector, Vector, bool, double, InOut2<double>, int>(),
           arg("beta").noconvert(), arg("gradient").noconvert(), arg("lower").noconvert(),
           arg("upper").noconvert(), arg("has_equality"), arg("linear_scale"),
           arg("matrix").noconvert(), arg("threads"))
      .def_prop_ro("ready", &RemovalsHandle::ready)
      .def("remove", &RemovalsHandle::remove, arg("rows").noconvert(), arg("betas").noconvert(),
           arg("reached").noconvert());
}

}  // namespace widemargin
