// Data files for Python: a piece of text in, arrays out.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "text/csv.hpp"
#include "text/svmlight.hpp"

namespace widemargin {
namespace {

nb::object offence(const Offence& found) {
  if (found.line == 0) return nb::none();
  return nb::make_tuple(found.line, found.column, found.what);
}

nb::tuple svmlight(nb::bytes text, std::int64_t first_line, bool zero_allowed) {
  const char* begin = text.c_str();
  SparseLines parsed;
  {
    nb::gil_scoped_release released;
    parsed = SvmlightParser(begin, begin + text.size(), first_line, zero_allowed).parse();
  }
  return nb::make_tuple(as_array(std::move(parsed.labels)), as_array(std::move(parsed.counts)),
                        as_array(std::move(parsed.indices)), as_array(std::move(parsed.values)),
                        parsed.lines, offence(parsed.offence));
}

nb::tuple csv(nb::bytes text, std::int64_t first_line, char separator, std::int64_t columns,
              std::int64_t label) {
  const char* begin = text.c_str();
  TableLines parsed;
  {
    nb::gil_scoped_release released;
    parsed = CsvParser(begin, begin + text.size(), first_line, separator, columns, label).parse();
  }
  nb::list distinct;
  for (const std::string& one : parsed.distinct) distinct.append(nb::bytes(one.data(), one.size()));
  return nb::make_tuple(as_array(std::move(parsed.values)), as_array(std::move(parsed.labels)),
                        distinct, parsed.rows, parsed.lines, offence(parsed.offence));
}

}  // namespace

void bind_text(nb::module_& module) {
  module.def("parse_svmlight", &svmlight, nb::arg("text"), nb::arg("first_line"),
             nb::arg("zero_allowed"));
  module.def("parse_csv", &csv, nb::arg("text"), nb::arg("first_line"), nb::arg("separator"),
             nb::arg("columns"), nb::arg("label"));
}

}  // namespace widemargin
