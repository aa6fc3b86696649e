// Data files for Python: a piece of text in, arrays out.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "text/csv.hpp"
#include "text/svmlight.hpp"

namespace widemargin {
namespace {

nb::object as_tuple(const ParseError& found) {
  if (found.line == 0) return nb::none();
  // the file may be in any encoding
  PyObject* what =
      PyUnicode_DecodeUTF8(found.what.data(), Py_ssize_t(found.what.size()), "replace");
  return nb::make_tuple(found.line, found.column, nb::steal(what));
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
                        parsed.lines, as_tuple(parsed.error));
}

nb::list as_list(const Distinct& distinct) {
  nb::list texts;
  for (const std::string& one : distinct.texts) texts.append(nb::bytes(one.data(), one.size()));
  return texts;
}

nb::tuple csv(nb::bytes text, std::int64_t first_line, char separator, std::int64_t columns,
              std::int64_t label, const std::string& kinds) {
  if (!kinds.empty() && std::int64_t(kinds.size()) != columns) {
    throw nb::value_error("kinds must have a letter for each column");
  }
  const char* begin = text.c_str();
  TableLines parsed;
  {
    nb::gil_scoped_release released;
    CsvParser parser(begin, begin + text.size(), first_line, separator, columns, label);
    if (!kinds.empty()) parser.allow(kinds);
    parsed = parser.parse();
  }
  nb::list categories;
  for (const Distinct& column : parsed.categories) categories.append(as_list(column));
  return nb::make_tuple(as_array(std::move(parsed.values)), as_array(std::move(parsed.labels)),
                        as_list(parsed.distinct), parsed.rows, parsed.lines, as_tuple(parsed.error),
                        parsed.text_column, categories, parsed.missing);
}

}  // namespace

void bind_text(nb::module_& module) {
  module.def("parse_svmlight", &svmlight, nb::arg("text"), nb::arg("first_line"),
             nb::arg("zero_allowed"));
  module.def("parse_csv", &csv, nb::arg("text"), nb::arg("first_line"), nb::arg("separator"),
             nb::arg("columns"), nb::arg("label"), nb::arg("kinds") = "");
}

}  // namespace widemargin
