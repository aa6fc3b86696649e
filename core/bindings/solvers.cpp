// The solvers for Python: one options object in, one outcome out, the arrays changed in place.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "bindings/arrays.hpp"
#include "bindings/python_calls.hpp"
#include "solver/block_solver.hpp"
#include "solver/chain.hpp"
#include "solver/drawn_pairs.hpp"
#include "solver/pair_solver.hpp"

namespace widemargin {

namespace {

struct SolverOutcome {
  std::string status;
  long steps = 0;
  nb::list points;  // earlier points that `anchors` refers to; of solve_blocks alone
};

// How a solve ended, and the exception that a callback raised or None: the caller raises it, having
// noted how far the solve came.
using Result = std::pair<SolverOutcome, nb::object>;

template <class Solve>
Result run_solver(const Callback& monitor, const Callback& screen, const Solve& solve) {
  PythonCalls calls(monitor, screen);
  Outcome outcome;
  calls.released([&](const Callbacks& callbacks) { outcome = solve(callbacks); });
  return {{name_of(outcome.status), outcome.steps, nb::list()}, calls.raised()};
}

Problem make_problem(const Gram& gram, const In<double>& linear, const In<double>& lower,
                     const In<double>& upper, bool equality, const InOut<double>& beta,
                     const InOut<double>& gradient) {
  for (Size size :
       {linear.shape(0), lower.shape(0), upper.shape(0), beta.shape(0), gradient.shape(0)})
    if (size != gram.size()) throw std::invalid_argument("arrays must have one entry per sample");
  return {gram.size(), linear.data(), lower.data(), upper.data(), equality};
}

Result blocks(std::shared_ptr<Gram> gram, In<double> linear, In<double> lower, In<double> upper,
              const std::optional<In<double>>& kink, bool equality, InOut<double> beta,
              InOut<double> gradient, InOut<double> errors, InOut<Index> anchors,
              const SolverOptions& options, const Callback& monitor, const Callback& screen,
              const std::optional<InOut<double>>& multiplier, bool has_margin) {
  Problem problem = make_problem(*gram, linear, lower, upper, equality, beta, gradient);
  if (kink) problem.kink = kink->data();
  if (errors.shape(0) != problem.n || anchors.shape(0) != problem.n ||
      (kink && kink->shape(0) != problem.n))
    throw std::invalid_argument("arrays must have one entry per sample");
  SecondSum second{0.0, has_margin};
  if (multiplier) {
    if (multiplier->shape(0) != 1 || !equality || kink)
      throw std::invalid_argument("a second sum has one multiplier, an intercept and no kink");
    second.multiplier = multiplier->data()[0];
    problem.second = &second;
  }
  Iterate iterate{beta.data(), gradient.data(), errors.data(), anchors.data(), {}};
  Result result = run_solver(monitor, screen, [&](const Callbacks& callbacks) {
    return solve_blocks(problem, *gram, options, callbacks, iterate);
  });
  if (multiplier) multiplier->data()[0] = second.multiplier;
  for (std::vector<double>& point : iterate.points)
    result.first.points.append(as_array(std::move(point)));
  return result;
}

PairRule rule_named(const std::string& name) {
  if (name == "first_order") return PairRule::first_order;
  if (name == "second_order") return PairRule::second_order;
  if (name == "libsvm_first_order") return PairRule::libsvm_first_order;
  if (name == "libsvm_second_order") return PairRule::libsvm_second_order;
  throw std::invalid_argument("unknown selection rule " + name);
}

Result pairs(std::shared_ptr<Gram> gram, In<double> linear, In<double> lower, In<double> upper,
             InOut<double> beta, InOut<double> gradient, const std::string& name,
             const SolverOptions& options, const Callback& monitor) {
  const Problem problem = make_problem(*gram, linear, lower, upper, true, beta, gradient);
  const PairRule rule = rule_named(name);
  return run_solver(monitor, {}, [&](const Callbacks& callbacks) {
    return solve_pairs(problem, *gram, options, callbacks, rule, beta.data(), gradient.data());
  });
}

Result drawn_pairs(std::shared_ptr<Gram> gram, In<double> linear, In<double> lower,
                   In<double> upper, InOut<double> beta, InOut<double> gradient,
                   const DrawOptions& draw, const SolverOptions& options, const Callback& monitor) {
  const Problem problem = make_problem(*gram, linear, lower, upper, true, beta, gradient);
  DrawnPair choose(draw, options, problem.n);
  return run_solver(monitor, {}, [&](const Callbacks& callbacks) {
    return solve_by_rule(problem, *gram, options, callbacks, choose, Rows::exact, beta.data(),
                         gradient.data());
  });
}

// betas: [n_steps][n_members], the first row being the start, or each with `started`; values:
// [n_steps][members + others], those of the starts with `started`.
template <class Real>
Result chain(In2<Real> matrix, In<Index> members, In<Index> others, In2<double> linear,
             In2<double> lower, In2<double> upper, const std::optional<In2<double>>& kink,
             bool equality, InOut2<double> betas, InOut2<double> values, InOut<double> intercepts,
             InOut<std::int64_t> pair_steps, const SolverOptions& options, const Callback& monitor,
             bool started, const std::optional<In2<double>>& similar,
             const std::optional<In2<double>>& similar_values) {
  const Size n_steps = betas.shape(0), m = members.shape(0), read = m + others.shape(0);
  for (const auto* array : {&linear, &lower, &upper})
    if (array->shape(0) != n_steps || array->shape(1) != m)
      throw std::invalid_argument("arrays must have one row per step, one entry per member");
  const auto fits = [&](const auto& given, Size columns) {
    return !given || (given->shape(0) == n_steps && given->shape(1) == columns);
  };
  if (!fits(kink, m) || !fits(similar, read) || !fits(similar_values, read) ||
      similar.has_value() != similar_values.has_value())
    throw std::invalid_argument("arrays must have one row per step, one entry per member");
  if (betas.shape(1) != m || values.shape(0) != n_steps || values.shape(1) != read ||
      intercepts.shape(0) != n_steps || pair_steps.shape(0) != n_steps)
    throw std::invalid_argument("arrays must have one row per step, one entry per member");
  const MatrixPart<Real> part{matrix.data(), matrix.shape(1), members.data(), m,
                              others.data(), others.shape(0)};
  const ChainSteps steps{n_steps,
                         linear.data(),
                         lower.data(),
                         upper.data(),
                         kink ? kink->data() : nullptr,
                         equality,
                         started,
                         similar ? similar->data() : nullptr,
                         similar_values ? similar_values->data() : nullptr};
  return run_solver(monitor, {}, [&](const Callbacks& callbacks) {
    Control control(options, callbacks);
    return solve_chain(part, steps, options.tolerance, control, betas.data(), values.data(),
                       intercepts.data(), pair_steps.data());
  });
}

void bind_options(nb::module_& module) {
  const SolverOptions preset;
  nb::class_<SolverOptions>(module, "SolverOptions")
      .def(
          "__init__",
          [](SolverOptions* self, double tolerance, long max_steps, double max_seconds,
             bool shrinking, std::uint64_t seed, bool single_precision, bool every_gradient,
             double entry_error) {
            new (self) SolverOptions{tolerance, max_steps,        max_seconds,    shrinking,
                                     seed,      single_precision, every_gradient, entry_error};
            self->verify();
          },
          nb::kw_only(), nb::arg("tolerance") = preset.tolerance,
          nb::arg("max_steps") = preset.max_steps, nb::arg("max_seconds") = preset.max_seconds,
          nb::arg("shrinking") = preset.shrinking, nb::arg("seed") = preset.seed,
          nb::arg("single_precision") = preset.single_precision,
          nb::arg("every_gradient") = preset.every_gradient,
          nb::arg("entry_error") = preset.entry_error)
      .def_ro("tolerance", &SolverOptions::tolerance)
      .def_ro("max_steps", &SolverOptions::max_steps)
      .def_ro("max_seconds", &SolverOptions::max_seconds)
      .def_ro("shrinking", &SolverOptions::shrinking)
      .def_ro("seed", &SolverOptions::seed)
      .def_ro("single_precision", &SolverOptions::single_precision)
      .def_ro("every_gradient", &SolverOptions::every_gradient)
      .def_ro("entry_error", &SolverOptions::entry_error);
  const DrawOptions draw;
  nb::class_<DrawOptions>(module, "DrawOptions")
      .def(
          "__init__",
          [](DrawOptions* self, double epsilon, double sigma, bool once, bool robust_maximum) {
            new (self) DrawOptions{epsilon, sigma, once, robust_maximum};
          },
          nb::kw_only(), nb::arg("epsilon") = draw.epsilon, nb::arg("sigma") = draw.sigma,
          nb::arg("once") = draw.once, nb::arg("robust_maximum") = draw.robust_maximum)
      .def_ro("epsilon", &DrawOptions::epsilon)
      .def_ro("sigma", &DrawOptions::sigma)
      .def_ro("once", &DrawOptions::once)
      .def_ro("robust_maximum", &DrawOptions::robust_maximum);
  nb::class_<SolverOutcome>(module, "SolverOutcome")
      .def_ro("status", &SolverOutcome::status)
      .def_ro("steps", &SolverOutcome::steps)
      .def_ro("points", &SolverOutcome::points);
}

}  // namespace

void bind_solvers(nb::module_& module) {
  bind_options(module);
  module.def("solve_blocks", &blocks, nb::arg("gram"), nb::arg("linear").noconvert(),
             nb::arg("lower").noconvert(), nb::arg("upper").noconvert(),
             nb::arg("kink").noconvert().none(), nb::arg("equality"), nb::arg("beta").noconvert(),
             nb::arg("gradient").noconvert(), nb::arg("errors").noconvert(),
             nb::arg("anchors").noconvert(), nb::arg("options"), nb::arg("monitor") = nb::none(),
             nb::arg("screen") = nb::none(), nb::arg("multiplier").noconvert().none() = nb::none(),
             nb::arg("has_margin") = false);
  const auto bind_chain = [&](auto function) {
    module.def("solve_chain", function, nb::arg("matrix").noconvert(),
               nb::arg("members").noconvert(), nb::arg("others").noconvert(),
               nb::arg("linear").noconvert(), nb::arg("lower").noconvert(),
               nb::arg("upper").noconvert(), nb::arg("kink").noconvert().none(),
               nb::arg("equality"), nb::arg("betas").noconvert(), nb::arg("values").noconvert(),
               nb::arg("intercepts").noconvert(), nb::arg("pair_steps").noconvert(),
               nb::arg("options"), nb::arg("monitor") = nb::none(), nb::arg("started") = false,
               nb::arg("similar").noconvert().none() = nb::none(),
               nb::arg("similar_values").noconvert().none() = nb::none());
  };
  bind_chain(&chain<float>);
  bind_chain(&chain<double>);
  module.def("solve_pairs", &pairs, nb::arg("gram"), nb::arg("linear").noconvert(),
             nb::arg("lower").noconvert(), nb::arg("upper").noconvert(),
             nb::arg("beta").noconvert(), nb::arg("gradient").noconvert(), nb::arg("rule"),
             nb::arg("options"), nb::arg("monitor") = nb::none());
  module.def("solve_drawn_pairs", &drawn_pairs, nb::arg("gram"), nb::arg("linear").noconvert(),
             nb::arg("lower").noconvert(), nb::arg("upper").noconvert(),
             nb::arg("beta").noconvert(), nb::arg("gradient").noconvert(), nb::arg("draw"),
             nb::arg("options"), nb::arg("monitor") = nb::none());
}

}  // namespace widemargin
