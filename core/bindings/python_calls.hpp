// Calls of Python from solves that run without the interpreter lock.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <exception>
#include <optional>

#include "bindings/arrays.hpp"
#include "solver/options.hpp"
#include "solver/problem.hpp"

namespace widemargin {

using Callback = std::optional<nb::callable>;

inline const char* name_of(Status status) {
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

// Calls Python from a solve that runs without the GIL. The first exception is kept, and nothing is
// called after it.
class PythonCalls {
 public:
  PythonCalls(const Callback& monitor, const Callback& screen) {
    callbacks_.monitor = [this, &monitor](const Progress& progress) {
      bool proceed = true;
      const bool done = guarded([&] {
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (monitor)
          proceed = nb::cast<bool>((*monitor)(progress.steps, progress.violation, progress.active));
      });
      return done && proceed;
    };
    if (!screen) return;
    callbacks_.screen = [this, &screen](long steps, const Index* samples, Size count, char* keep) {
      guarded([&] {
        using Samples = nb::ndarray<nb::numpy, const Index, nb::ndim<1>>;
        using Flags = nb::ndarray<nb::numpy, bool, nb::ndim<1>>;
        // Views that live as long as the call: without an owner nanobind would copy them, and what
        // is written to the flags would be lost.
        const nb::object borrowed = nb::none();
        (*screen)(steps, Samples(samples, {count}, borrowed),
                  Flags(reinterpret_cast<bool*>(keep), {count}, borrowed));
      });
    };
  }

  // Runs a solve without the GIL; what went wrong in a callback but for Python exceptions is
  // thrown.
  template <class Solve>
  void released(const Solve& solve) {
    {
      nb::gil_scoped_release release;
      solve(callbacks_);
    }
    if (failure_) std::rethrow_exception(failure_);
  }

  // The exception that a callback raised, or None: the caller raises it, having noted how far the
  // solve came.
  const nb::object& raised() const { return raised_; }

 private:
  template <class Call>
  bool guarded(const Call& call) {
    nb::gil_scoped_acquire acquire;
    if (failure_ || !raised_.is_none()) return false;
    try {
      call();
      return true;
    } catch (const nb::python_error& error) {
      raised_ = nb::borrow(error.value());
    } catch (...) {
      failure_ = std::current_exception();
    }
    return false;
  }

  Callbacks callbacks_;
  nb::object raised_ = nb::none();
  std::exception_ptr failure_;
};

}  // namespace widemargin
