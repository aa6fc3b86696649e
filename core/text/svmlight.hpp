// LIBSVM's text format: `label index:value index:value ...`, one sample per line.
//
// A caller passes whole lines, as many as it likes at a time, so that memory is bounded by the
// piece and not by the file. Parsing stops at the first error and says where it is.
#pragma once

#include <limits>
#include <vector>

#include "common.hpp"
#include "text/text_numbers.hpp"

namespace widemargin {

struct SparseLines {
  std::vector<double> labels;
  std::vector<std::int64_t> counts;   // entries of each sample
  std::vector<std::int32_t> indices;  // as written: counted from 1, or 0 where that is allowed
  std::vector<double> values;
  std::int64_t lines = 0;  // lines passed, empty ones and comments included
  ParseError error;
};

class SvmlightParser {
 public:
  SvmlightParser(const char* begin, const char* end, std::int64_t first_line, bool zero_allowed)
      : at_(begin), end_(end), line_(first_line), lowest_(zero_allowed ? 0 : 1) {}

  SparseLines parse() {
    const std::int64_t first = line_;
    for (; at_ < end_ && result_.error.line == 0; ++line_) {
      start_ = at_;
      if (!sample()) break;
      if (at_ < end_) ++at_;  // the end of the line
    }
    result_.lines = line_ - first;
    return std::move(result_);
  }

 private:
  // One line; false on an error.
  bool sample() {
    skip_blanks();
    if (at_line_end()) return finish_line();
    double label;
    const char* before = at_;
    if (!read_number(at_, end_, label) || !at_boundary()) {
      return offend(before, "label " + excerpt(before, end_) + " is not a finite number");
    }
    const Size entries = result_.indices.size();
    std::int64_t previous = lowest_ - 1;
    for (skip_blanks(); !at_line_end(); skip_blanks()) {
      if (!entry(previous)) return false;
    }
    result_.labels.push_back(label);
    result_.counts.push_back(std::int64_t(result_.indices.size() - entries));
    return finish_line();
  }

  bool entry(std::int64_t& previous) {
    const char* before = at_;
    const bool negative = *at_ == '-';
    std::int64_t index = 0;
    const char* digits = at_;
    while (at_ < end_ && is_digit(*at_) && index <= limit) index = 10 * index + (*at_++ - '0');
    if (index > limit) return offend(before, "index " + excerpt(before, end_) + " is too large");
    if (negative) return offend(before, "index " + excerpt(before, end_) + " is negative");
    if (at_ == digits || at_ >= end_ || *at_ != ':') {
      return offend(before, excerpt(before, end_) + " is not index:value");
    }
    if (index < lowest_) return offend(before, "index 0: indices start at 1");
    if (index <= previous) {
      return offend(before, "index " + std::to_string(index) +
                                (index == previous ? " is given twice" : " is out of order: ") +
                                (index == previous ? "" : "indices must ascend"));
    }
    const char* written = ++at_;
    double value;
    if (!read_number(at_, end_, value) || !at_boundary()) {
      return offend(written, "value " + excerpt(written, end_) + " is not a finite number");
    }
    previous = index;
    result_.indices.push_back(std::int32_t(index));
    result_.values.push_back(value);
    return true;
  }

  bool finish_line() {
    while (at_ < end_ && *at_ != '\n') ++at_;
    return true;
  }

  bool offend(const char* where, std::string what) {
    result_.error = {line_, where - start_ + 1, std::move(what)};
    return false;
  }

  void skip_blanks() {
    while (at_ < end_ && is_blank(*at_)) ++at_;
  }

  bool at_line_end() const {
    return at_ >= end_ || *at_ == '\n' || *at_ == '#' ||
           (*at_ == '\r' && (at_ + 1 == end_ || at_[1] == '\n'));
  }

  bool at_boundary() const { return at_line_end() || is_blank(*at_); }

  static constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();
  const char* at_;
  const char* end_;
  const char* start_ = nullptr;  // of the line
  std::int64_t line_;
  std::int64_t lowest_;  // index a sample may start with
  SparseLines result_;
};

}  // namespace widemargin
