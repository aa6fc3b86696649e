// Many small dual problems over one kernel table: pairs of classes, folds, costs.
//
// Each is solved by one thread, problems side by side: results do not depend on how many threads
// there are. Single precision steps to the tolerance, the exact polish where it pays, and K beta of
// the final point with bounds on its rounding.
#pragma once

#include <functional>

#include "solver/options.hpp"
#include "solver/problem.hpp"
#include "solver/table_certificate.hpp"
#include "solver/table_point.hpp"

namespace widemargin {

// A second sum, that of |beta|, that the start has and a solve keeps (see matrix_point.hpp); what
// it finds is the margin of nu-SVC, or the tube of nu-SVR.
enum class SecondSumOf { none, margin, tube };

enum class PolishRule { never, where_it_pays, always };

struct BatchOptions {
  double tolerance = 1e-3;
  long max_steps = kUnlimitedSteps;  // of each problem
  double max_seconds = kInfinity;    // of all
  PolishRule polish = PolishRule::where_it_pays;
  Size polish_limit = 5000;  // margin members that are polished at most
  bool certify = true;       // bounds on the rounding of K beta
  int threads = 1;
  bool from_vertex = false;  // a problem goes from its start to a vertex of the same sums first
};

// Problem p has the members, and the entries of all arrays, from offsets[p] to offsets[p + 1], in
// any order.
struct Batch {
  Size count;
  const std::int64_t* offsets;
  const Index* members;  // rows of the table, none twice in a problem
  const double* linear;
  const double* lower;
  const double* upper;
  const double* kink;    // nullptr: none
  const double* totals;  // one a problem
  bool equality;
  SecondSumOf second_sum;
  const double* budgets;  // of the second sum, one a problem; nullptr without
  double* multipliers;    // and where the solve found its multiplier
  double*
      beta;  // a feasible start, then the point reached; verified, of nu-SVC in units of its margin
  double* values;  // K beta of that point
  double* errors;  // bounds on the rounding of values; infinite where they were not verified
  bool* summed;    // whether a value is of double precision entries
  Outcome* outcomes;
  bool* exact;                     // whether the polish came to its end
  TableCertificate* certificates;  // of the points that were verified

  Size size(Size p) const { return Size(offsets[p + 1] - offsets[p]); }
};

// `monitor` is called by the calling thread a few times a second; false ends all problems.
void solve_batch(const KernelTable& table, const Batch& batch, const BatchOptions& options,
                 const std::function<bool(const Progress&)>& monitor);

}  // namespace widemargin
