// Pair steps for one problem over a kernel table, on blocks of entries that stay in the
// second-level cache: all members where they are few, else a working set of the most violating
// ones beside the free ones of the last set.
#pragma once

#include <functional>
#include <vector>

#include "solver/problem.hpp"
#include "solver/table_problem.hpp"

namespace widemargin {

class TableSolver {
 public:
  // `proceed` is called between blocks; false ends the solve as interrupted. `block` is memory that
  // a thread keeps for its next problem.
  TableSolver(TablePoint& point, const std::function<bool()>& proceed, std::vector<float>& block)
      : point_(point), proceed_(proceed), block_(block) {}

  // Solves to the tolerance with at most so many steps; with a second sum it is relative to the
  // margin.
  Outcome run(double relative, long max_steps);

 private:
  struct Run {
    Size first, length;  // members
  };

  void choose();
  std::vector<Size> worst(bool growing, double side, Size count) const;
  void clear_block();
  static void fetch(void* self, Size member);
  long take_steps(double level, double tolerance, long limit, bool& moved);

  TablePoint& point_;
  const std::function<bool()>& proceed_;
  std::vector<Size> members_;
  std::vector<Index> columns_;  // of the table, that the members are
  std::vector<Run> runs_;       // of consecutive columns, where these are long
  std::vector<float>& block_;   // entries between the members, a row when a step needs it
  std::vector<const float*> rows_;
  Size stride_ = 0;
};

}  // namespace widemargin
