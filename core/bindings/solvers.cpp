#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <exception>
#include <optional>
#include <stdexcept>

#include "bindings/arrays.hpp"
#include "solver/block_solver.hpp"
#include "solver/drawn_pairs.hpp"
#include "solver/pair_solver.hpp"

namespace widemargin {

namespace {

const char* name_of(Status status) {
  switch (status) {
    case Status::converged:
      return "converged";
    case Status::max_steps:
      return "max_iter";
    case Status::max_seconds:
      return "max_time";
    case Status::interrupted:
      return "interrupted";
    case Status::stalled:
      return "stalled";
    case Status::exhausted:
      return "exhausted";
  }
  return "";
}

// Status, steps, violation, and what Python raised while it was asked: the caller raises it, having
// noted how far the solve came.
using Result = std::tuple<const char*, long, double, nb::object>;
using Monitor = std::optional<nb::callable>;
using Decide = std::optional<nb::callable>;

// Runs a solve without the GIL; between blocks signals are checked and the monitor is asked.
template <class Solve>
Result guarded(Options options, const Monitor& monitor, Solve&& solve, const Decide& decide = {}) {
  nb::object raised = nb::none();
  std::exception_ptr failure;
  options.go_on = [&](const Progress& progress) {
    nb::gil_scoped_acquire acquire;
    try {
      if (failure || !raised.is_none()) return false;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      return !monitor ||
             nb::cast<bool>((*monitor)(progress.steps, progress.violation, progress.active));
    } catch (const nb::python_error& error) {
      raised = nb::borrow(error.value());
    } catch (...) {
      failure = std::current_exception();
    }
    return false;
  };
  if (decide)
    options.decide = [&](long steps, const Index* samples, Size count, char* keep) {
      nb::gil_scoped_acquire acquire;
      try {
        using Samples = nb::ndarray<nb::numpy, const Index, nb::ndim<1>>;
        using Flags = nb::ndarray<nb::numpy, bool, nb::ndim<1>>;
        // Views that live as long as the call: without an owner nanobind would copy them, and what
        // is written to the flags would be lost.
        const nb::object borrowed = nb::none();
        if (!failure && raised.is_none())
          (*decide)(steps, Samples(samples, {count}, borrowed),
                    Flags(reinterpret_cast<bool*>(keep), {count}, borrowed));
      } catch (const nb::python_error& error) {
        raised = nb::borrow(error.value());
      } catch (...) {
        failure = std::current_exception();
      }
    };
  Outcome outcome;
  {
    nb::gil_scoped_release release;
    outcome = solve(options);
  }
  if (failure) std::rethrow_exception(failure);
  return {name_of(outcome.status), outcome.steps, outcome.violation, raised};
}

Problem make_problem(const Gram& gram, const In<double>& linear, const In<double>& lower,
                     const In<double>& upper, bool equality, const InOut<double>& beta,
                     const InOut<double>& gradient) {
  for (Size size :
       {linear.shape(0), lower.shape(0), upper.shape(0), beta.shape(0), gradient.shape(0)})
    if (size != gram.size()) throw std::invalid_argument("arrays must have one entry per sample");
  return {gram.size(), linear.data(), lower.data(), upper.data(), equality};
}

// What a solve by blocks leaves of earlier points: a list of arrays.
using Blocks = std::tuple<const char*, long, double, nb::object, nb::list>;

Blocks blocks(std::shared_ptr<Gram> gram, In<double> linear, In<double> lower, In<double> upper,
              bool equality, InOut<double> beta, InOut<double> gradient, InOut<double> errors,
              InOut<Index> anchors, double tolerance, long max_steps, double max_seconds,
              bool shrinking, std::uint64_t seed, bool single_precision, Monitor monitor,
              Decide decide, bool every_gradient) {
  const Problem problem = make_problem(*gram, linear, lower, upper, equality, beta, gradient);
  if (errors.shape(0) != problem.n || anchors.shape(0) != problem.n)
    throw std::invalid_argument("arrays must have one entry per sample");
  Iterate iterate{beta.data(), gradient.data(), errors.data(), anchors.data(), {}};
  const Result result = guarded(
      {tolerance, max_steps, max_seconds, shrinking, seed, every_gradient, {}, {}}, monitor,
      [&](const Options& options) {
        return single_precision ? solve_blocks<float>(problem, *gram, options, iterate)
                                : solve_blocks<double>(problem, *gram, options, iterate);
      },
      decide);
  nb::list points;
  for (std::vector<double>& point : iterate.points) {
    auto* own = new std::vector<double>(std::move(point));
    nb::capsule owner(own, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
    points.append(nb::ndarray<nb::numpy, double, nb::ndim<1>>(own->data(), {own->size()}, owner));
  }
  return std::tuple_cat(result, std::make_tuple(points));
}

Result pairs(std::shared_ptr<Gram> gram, In<double> linear, In<double> lower, In<double> upper,
             InOut<double> beta, InOut<double> gradient, const std::string& rule, double tolerance,
             long max_steps, double max_seconds, Monitor monitor) {
  const Problem problem = make_problem(*gram, linear, lower, upper, true, beta, gradient);
  return guarded({tolerance, max_steps, max_seconds, false, 0, false, {}, {}}, monitor,
                 [&](const Options& options) {
                   const bool compatible = rule.rfind("libsvm_", 0) == 0;
                   const Ties ties = compatible ? Ties::last : Ties::lowest;
                   if (rule == "first_order" || rule == "libsvm_first_order") {
                     FirstOrder choose{ties};
                     return solve_pairs(problem, *gram, options, choose, compatible, beta.data(),
                                        gradient.data());
                   }
                   if (rule != "second_order" && rule != "libsvm_second_order")
                     throw std::invalid_argument("unknown selection rule " + rule);
                   SecondOrder choose{ties};
                   return solve_pairs(problem, *gram, options, choose, compatible, beta.data(),
                                      gradient.data());
                 });
}

Result drawn_pairs(std::shared_ptr<Gram> gram, In<double> linear, In<double> lower,
                   In<double> upper, InOut<double> beta, InOut<double> gradient, double epsilon,
                   double sigma, bool once, bool robust_maximum, bool shrinking, std::uint64_t seed,
                   double tolerance, long max_steps, double max_seconds, Monitor monitor) {
  const Problem problem = make_problem(*gram, linear, lower, upper, true, beta, gradient);
  DrawnPair choose({epsilon, sigma, once, robust_maximum, shrinking, seed}, problem.n);
  return guarded({tolerance, max_steps, max_seconds, shrinking, seed, false, {}, {}}, monitor,
                 [&](const Options& options) {
                   return solve_pairs(problem, *gram, options, choose, false, beta.data(),
                                      gradient.data());
                 });
}

}  // namespace

void bind_solvers(nb::module_& module) {
  module.def("solve_blocks", &blocks, nb::arg("gram"), nb::arg("linear").noconvert(),
             nb::arg("lower").noconvert(), nb::arg("upper").noconvert(), nb::arg("equality"),
             nb::arg("beta").noconvert(), nb::arg("gradient").noconvert(),
             nb::arg("errors").noconvert(), nb::arg("anchors").noconvert(), nb::arg("tolerance"),
             nb::arg("max_steps"), nb::arg("max_seconds"), nb::arg("shrinking"), nb::arg("seed"),
             nb::arg("single_precision"), nb::arg("monitor").none(), nb::arg("decide") = nb::none(),
             nb::arg("every_gradient") = false);
  module.def("solve_pairs", &pairs, nb::arg("gram"), nb::arg("linear").noconvert(),
             nb::arg("lower").noconvert(), nb::arg("upper").noconvert(),
             nb::arg("beta").noconvert(), nb::arg("gradient").noconvert(), nb::arg("rule"),
             nb::arg("tolerance"), nb::arg("max_steps"), nb::arg("max_seconds"),
             nb::arg("monitor").none());
  module.def("solve_drawn_pairs", &drawn_pairs, nb::arg("gram"), nb::arg("linear").noconvert(),
             nb::arg("lower").noconvert(), nb::arg("upper").noconvert(),
             nb::arg("beta").noconvert(), nb::arg("gradient").noconvert(), nb::arg("epsilon"),
             nb::arg("sigma"), nb::arg("once"), nb::arg("robust_maximum"), nb::arg("shrinking"),
             nb::arg("seed"), nb::arg("tolerance"), nb::arg("max_steps"), nb::arg("max_seconds"),
             nb::arg("monitor").none());
}

}  // namespace widemargin
