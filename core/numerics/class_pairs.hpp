// One-vs-one: what each pair of classes is trained on, and one table of the coefficients of all.
#pragma once

#include <vector>

#include "common.hpp"

namespace widemargin {

// Writes the rows of pairs of classes, one pair behind the other, each rising, and +1 where a row
// is of the first class of its pair, else -1; returns where each pair begins, and the end of the
// last. `labels`: class numbers below `n_classes`, of n rows; `pairs`: two numbers a pair, every
// two classes once, so that there are n (n_classes - 1) rows.
std::vector<Size> rows_of_pairs(const std::int64_t* labels, Size n, Size n_classes,
                                const std::int64_t* pairs, Size n_pairs, std::int64_t* rows,
                                double* signs);

// Coefficients of rows in pairs of classes, one pair behind the other.
struct PairCoefficients {
  const std::int64_t* labels;  // class number of each row of the training data
  Size n, n_classes;
  const std::int64_t* rows;
  const double* coefficients;
  Size count;
};

// Writes the support vectors, the rows with a coefficient in any pair: class by class, each class
// rising; and how many each class has. Returns how many there are.
Size support_of_pairs(const PairCoefficients& pairs, std::int64_t* support,
                      std::int32_t* n_support);

// Writes the coefficients to a table of zeros with a column a support vector. Pair p has those from
// offsets[p] to offsets[p + 1]. `places`: the row of the table by pair and class, n_classes a pair;
// negative ones are refused.
void stack_pairs(const PairCoefficients& pairs, const std::int64_t* offsets,
                 const std::int64_t* places, const std::int64_t* support, Size n_support,
                 double* table);

}  // namespace widemargin
