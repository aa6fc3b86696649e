// Pairs of classes, for Python: what they are trained on, and the table of their coefficients.
#include "numerics/class_pairs.hpp"

#include <stdexcept>

#include "bindings/arrays.hpp"

namespace widemargin {

namespace {

using Numbers = In<std::int64_t>;

void require_within(const std::int64_t* numbers, Size count, Size end, const char* refusal) {
  for (Size k = 0; k < count; ++k)
    if (numbers[k] < 0 || Size(numbers[k]) >= end) throw std::out_of_range(refusal);
}

nb::list pair_rows(Numbers labels, In2<std::int64_t> pairs, Size n_classes,
                   InOut<std::int64_t> rows, InOut<double> signs) {
  const Size n = labels.shape(0), n_pairs = pairs.shape(0);
  require_within(labels.data(), n, n_classes, "labels must be class numbers");
  require_within(pairs.data(), 2 * n_pairs, n_classes, "pairs must be class numbers");
  if (pairs.shape(1) != 2 || n_classes < 2 || 2 * n_pairs != n_classes * (n_classes - 1))
    throw std::invalid_argument("pairs must be all pairs of classes");
  std::vector<Size> met(n_classes, 0);
  for (Size k = 0; k < 2 * n_pairs; ++k) ++met[Size(pairs.data()[k])];
  for (const Size count : met)
    if (count != n_classes - 1) throw std::invalid_argument("pairs must be all pairs of classes");
  if (rows.shape(0) != n * (n_classes - 1) || signs.shape(0) != rows.shape(0))
    throw std::invalid_argument("a row is in the pairs of its class with each of the others");
  nb::list offsets;
  for (const Size offset :
       rows_of_pairs(labels.data(), n, n_classes, pairs.data(), n_pairs, rows.data(), signs.data()))
    offsets.append(offset);
  return offsets;
}

PairCoefficients checked(const Numbers& labels, const Numbers& rows, const In<double>& coefficients,
                         Size n_classes) {
  const Size n = labels.shape(0);
  require_within(labels.data(), n, n_classes, "labels must be class numbers");
  require_within(rows.data(), rows.shape(0), n, "rows refer to a sample that is not there");
  if (coefficients.shape(0) != rows.shape(0))
    throw std::invalid_argument("each row must have a coefficient");
  return {labels.data(), n, n_classes, rows.data(), coefficients.data(), rows.shape(0)};
}

Size pair_support(Numbers labels, Numbers rows, In<double> coefficients,
                  InOut<std::int64_t> support, InOut<std::int32_t> n_support) {
  if (support.shape(0) < labels.shape(0))
    throw std::invalid_argument("all rows may be support vectors");
  return support_of_pairs(checked(labels, rows, coefficients, n_support.shape(0)), support.data(),
                          n_support.data());
}

void pair_table(Numbers labels, Numbers rows, In<double> coefficients, Numbers offsets,
                In2<std::int64_t> places, Numbers support, InOut2<double> table) {
  const Size n_pairs = places.shape(0), n_classes = places.shape(1);
  const PairCoefficients pairs = checked(labels, rows, coefficients, n_classes);
  if (offsets.shape(0) != n_pairs + 1 || offsets.data()[0] != 0 ||
      Size(offsets.data()[n_pairs]) != pairs.count)
    throw std::invalid_argument("offsets must run from 0 to the number of rows");
  for (Size p = 0; p < n_pairs; ++p)
    if (offsets.data()[p] > offsets.data()[p + 1]) throw std::invalid_argument("offsets must rise");
  for (Size k = 0; k < n_pairs * n_classes; ++k)
    if (places.data()[k] >= std::int64_t(table.shape(0)))
      throw std::out_of_range("places refer to a row that is not there");
  require_within(support.data(), support.shape(0), pairs.n, "support refers to no sample");
  if (table.shape(1) != support.shape(0))
    throw std::invalid_argument("a support vector has a column");
  stack_pairs(pairs, offsets.data(), places.data(), support.data(), support.shape(0), table.data());
}

}  // namespace

void bind_class_pairs(nb::module_& module) {
  module.def("pair_rows", &pair_rows, nb::arg("labels").noconvert(), nb::arg("pairs").noconvert(),
             nb::arg("n_classes"), nb::arg("rows").noconvert(), nb::arg("signs").noconvert());
  module.def("pair_support", &pair_support, nb::arg("labels").noconvert(),
             nb::arg("rows").noconvert(), nb::arg("coefficients").noconvert(),
             nb::arg("support").noconvert(), nb::arg("n_support").noconvert());
  module.def("pair_table", &pair_table, nb::arg("labels").noconvert(), nb::arg("rows").noconvert(),
             nb::arg("coefficients").noconvert(), nb::arg("offsets").noconvert(),
             nb::arg("places").noconvert(), nb::arg("support").noconvert(),
             nb::arg("table").noconvert());
}

}  // namespace widemargin
