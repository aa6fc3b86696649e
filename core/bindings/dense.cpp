// Binding of products and factors: shapes are checked, the interpreter lock is released.
#include "numerics/dense.hpp"

#include <stdexcept>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "numerics/pivoted_cholesky.hpp"
#include "numerics/sample_statistics.hpp"
#include "numerics/sparse_squares.hpp"

namespace widemargin {

namespace {

void require(bool fits) {
  if (!fits) throw std::invalid_argument("arrays differ in length");
}

// A product with a matrix or, where the weights are those of its rows, with its transpose.
template <class Value>
void bind_product(nb::module_& module, const char* name, decltype(&times<Value>) product,
                  bool transposed) {
  module.def(
      name,
      [=](In2<Value> X, In<double> weights, InOut<double> out, int threads) {
        const Size n = X.shape(0), width = X.shape(1);
        require(weights.shape(0) == (transposed ? n : width));
        require(out.shape(0) == (transposed ? width : n));
        nb::gil_scoped_release release;
        Team team(threads);
        product(X.data(), n, width, weights.data(), out.data(), team);
      },
      nb::arg("X").noconvert(), nb::arg("weights").noconvert(), nb::arg("out").noconvert(),
      nb::arg("threads"));
}

template <class Value>
void bind_products(nb::module_& module) {
  bind_product<Value>(module, "times", &times<Value>, false);
  bind_product<Value>(module, "transposed_times", &transposed_times<Value>, true);
}

template <class Value>
void bind_statistics(nb::module_& module) {
  module.def(
      "all_finite",
      [](In2<Value> X) {
        nb::gil_scoped_release release;
        return all_finite(X.data(), X.shape(0) * X.shape(1));
      },
      nb::arg("X").noconvert());
  module.def(
      "entry_moments",
      [](In2<Value> X, In<double> weights, double mass) {
        require(weights.shape(0) == X.shape(0));
        EntryMoments found;
        {
          nb::gil_scoped_release release;
          found = entry_moments(X.data(), X.shape(0), X.shape(1), weights.data(), mass);
        }
        return nb::make_tuple(found.mean, found.rest, found.squares);
      },
      nb::arg("X").noconvert(), nb::arg("weights").noconvert(), nb::arg("mass"));
  module.def(
      "feature_ranges",
      [](In2<Value> X) {
        FeatureRanges found;
        {
          nb::gil_scoped_release release;
          found = feature_ranges(X.data(), X.shape(0), X.shape(1));
        }
        return nb::make_tuple(found.largest, found.least);
      },
      nb::arg("X").noconvert());
}

void bind_labels(nb::module_& module) {
  module.def(
      "label_range",
      [](In<std::int64_t> labels) {
        require(labels.shape(0) > 0);
        const LabelRange found = label_range(labels.data(), labels.shape(0));
        return nb::make_tuple(found.least, found.most);
      },
      nb::arg("labels").noconvert());
  // The classes; None where counting would take longer than sorting.
  module.def(
      "number_classes",
      [](In<std::int64_t> labels, InOut<std::int64_t> numbers) -> nb::object {
        const Size n = labels.shape(0);
        require(n > 0 && numbers.shape(0) == n);
        const LabelRange range = label_range(labels.data(), n);
        if (Size(range.most) - Size(range.least) >= 2 * n) return nb::none();
        nb::list classes;
        for (const std::int64_t label : number_classes(labels.data(), n, range, numbers.data()))
          classes.append(label);
        return classes;
      },
      nb::arg("labels").noconvert(), nb::arg("numbers").noconvert());
}

template <class Value>
void bind_sparse_squares(nb::module_& module) {
  module.def(
      "add_sparse_squares",
      [](InOut2<double> square, In<Value> values, In<Index> columns, In<std::int64_t> starts,
         In<Index> rows, In<double> weights) {
        const Size n = rows.shape(0), width = square.shape(0) - 1;
        require(square.shape(0) > 0 && square.shape(1) == square.shape(0));
        require(weights.shape(0) == n && columns.shape(0) == values.shape(0));
        nb::gil_scoped_release release;
        add_sparse_squares(square.data(), width,
                           SparseRows<Value>{values.data(), columns.data(), starts.data()},
                           rows.data(), weights.data(), n);
      },
      nb::arg("square").noconvert(), nb::arg("values").noconvert(), nb::arg("columns").noconvert(),
      nb::arg("starts").noconvert(), nb::arg("rows").noconvert(), nb::arg("weights").noconvert());
}

}  // namespace

void bind_dense(nb::module_& module) {
  bind_products<float>(module);
  bind_products<double>(module);
  bind_statistics<double>(module);
  bind_statistics<float>(module);
  bind_labels(module);
  bind_sparse_squares<float>(module);
  bind_sparse_squares<double>(module);
  module.def(
      "add_squares",
      [](InOut2<double> square, In2<double> X, int threads) {
        require(square.shape(0) == X.shape(1) && square.shape(1) == X.shape(1));
        nb::gil_scoped_release release;
        Team team(threads);
        const Size width = X.shape(1);
        add_squares(square.data(), width, X.data(), X.shape(0), width, width, 1.0, team);
      },
      nb::arg("square").noconvert(), nb::arg("X").noconvert(), nb::arg("threads"));
  // The solution replaces the right-hand side; False where the matrix is not positive definite.
  module.def(
      "solve_definite",
      [](In2<double> matrix, InOut<double> right, int threads) {
        const Size order = right.shape(0);
        require(matrix.shape(0) == order && matrix.shape(1) == order);
        nb::gil_scoped_release release;
        Team team(threads);
        const PivotedCholesky factor(
            std::vector<double>(matrix.data(), matrix.data() + order * order), order, 0.0, team);
        std::vector<double> unused(order);
        if (factor.rank() == order) factor.solve(right.data(), unused.data());
        return factor.rank() == order;
      },
      nb::arg("matrix").noconvert(), nb::arg("right").noconvert(), nb::arg("threads"));
  module.def(
      "newton_step",
      [](In2<double> block, In<Index> members, In<double> gradient, In<Index> groups,
         double independence, InOut<double> step, int threads) {
        const Size count = members.shape(0);
        require(gradient.shape(0) == count && step.shape(0) == count);
        require(groups.shape(0) == count || groups.shape(0) == 0);
        for (Size k = 0; k < groups.shape(0); ++k)
          require(groups.data()[k] == 0 || groups.data()[k] == 1);
        for (Size k = 0; k < count; ++k)
          require(members.data()[k] >= 0 && Size(members.data()[k]) < block.shape(0) &&
                  Size(members.data()[k]) < block.shape(1));
        nb::gil_scoped_release release;
        Team team(threads);
        newton_step(block.data(), block.shape(1),
                    std::vector<Index>(members.data(), members.data() + count), gradient.data(),
                    std::vector<Index>(groups.data(), groups.data() + groups.shape(0)),
                    independence, step.data(), team);
      },
      nb::arg("block").noconvert(), nb::arg("members").noconvert(), nb::arg("gradient").noconvert(),
      nb::arg("groups").noconvert(), nb::arg("independence"), nb::arg("step").noconvert(),
      nb::arg("threads"));
}

}  // namespace widemargin
