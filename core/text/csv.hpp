// Comma-separated values: numbers in every column but the one that holds the label, or, where
// the caller says so, categories in some columns and values that are missing.
//
// As svmlight.hpp: whole lines at a time, bounded memory, and the first error by line and
// column. Labels are arbitrary text; each distinct one is kept once.
#pragma once

#include <limits>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/text_numbers.hpp"

namespace widemargin {

// Distinct texts of one column, in order of appearance.
class Distinct {
 public:
  std::int32_t number(const std::string& text) {
    const auto [entry, fresh] = numbers_.emplace(text, std::int32_t(texts.size()));
    if (fresh) texts.push_back(text);
    return entry->second;
  }

  std::vector<std::string> texts;

 private:
  std::unordered_map<std::string, std::int32_t> numbers_;
};

struct TableLines {
  std::vector<double> values;        // row by row, without the label
  std::vector<std::int32_t> labels;  // position in `distinct`, one per row
  Distinct distinct;                 // labels
  std::int64_t rows = 0;
  std::int64_t lines = 0;
  ParseError error;
  std::int64_t text_column = -1;  // where the error is text in a column of numbers
  // Of mixed tables, by column: the categories, whose positions stand in `values`, and the
  // first line without a value, 0 if there is none.
  std::vector<Distinct> categories;
  std::vector<std::int64_t> missing;
};

class CsvParser {
 public:
  // `label` is the label's column counted from 0, or -1 when there is none.
  CsvParser(const char* begin, const char* end, std::int64_t first_line, char separator,
            std::int64_t columns, std::int64_t label)
      : at_(begin),
        end_(end),
        line_(first_line),
        separator_(separator),
        columns_(columns),
        label_(label) {}

  // A mixed table: 't' in `kinds` marks a column of categories; values may be missing.
  void allow(std::string kinds) {
    kinds_ = std::move(kinds);
    result_.categories.resize(columns_);
    result_.missing.assign(columns_, 0);
  }

  TableLines parse() {
    const std::int64_t first = line_;
    for (; at_ < end_ && result_.error.line == 0; ++line_) {
      start_ = at_;
      stop_ = at_;
      while (stop_ < end_ && *stop_ != '\n') ++stop_;
      const char* next = stop_ < end_ ? stop_ + 1 : stop_;
      if (stop_ > at_ && stop_[-1] == '\r') --stop_;
      if (stop_ > at_ && !row()) break;  // an empty line is no row
      at_ = next;
    }
    result_.lines = line_ - first;
    return std::move(result_);
  }

 private:
  bool row() {
    for (std::int64_t column = 0; column < columns_; ++column) {
      if (column > 0) {
        if (at_ >= stop_) {
          return offend(at_, "only " + std::to_string(column) + " of " + std::to_string(columns_) +
                                 " columns");
        }
        ++at_;  // the separator
      }
      if (!(column == label_ ? label() : value(column))) return false;
    }
    if (at_ < stop_)
      return offend(at_, "more than " + std::to_string(columns_) +
                             " columns: text with separators in it needs quotation marks");
    ++result_.rows;
    return true;
  }

  bool value(std::int64_t column) {
    if (kinds_.empty()) return number();
    if (is_missing()) {
      result_.values.push_back(std::numeric_limits<double>::quiet_NaN());
      if (result_.missing[column] == 0) result_.missing[column] = line_;
      while (at_ < stop_ && *at_ != separator_) ++at_;
      return true;
    }
    if (kinds_[column] == 't') {
      std::string category;
      if (!text(category)) return false;
      result_.values.push_back(result_.categories[column].number(category));
      return true;
    }
    if (number()) return true;
    result_.text_column = column;
    return false;
  }

  // Whether the field is one of the ways to write that there is no value.
  bool is_missing() const {
    const char* from = at_;
    const char* to = at_;
    while (to < stop_ && *to != separator_) ++to;
    while (from < to && is_blank(*from)) ++from;
    while (to > from && is_blank(to[-1])) --to;
    if (to - from >= 2 && *from == '"' && to[-1] == '"') ++from, --to;
    if (to - from > 4) return false;
    std::string lower(from, to);
    for (char& letter : lower) {
      if (letter >= 'A' && letter <= 'Z') letter = char(letter - 'A' + 'a');
    }
    for (std::string_view none :
         {"", "?", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "none", "null"}) {
      if (lower == none) return true;
    }
    return false;
  }

  bool number() {
    while (at_ < stop_ && is_blank(*at_) && *at_ != separator_) ++at_;
    const char* before = at_;
    if (at_ >= stop_ || *at_ == separator_) return offend(before, "empty value");
    const bool quoted = *at_ == '"';
    if (quoted) ++at_;
    double value;
    if (!read_number(at_, stop_, value)) {
      return offend(before, field(before) + " is not a finite number");
    }
    if (quoted && (at_ >= stop_ || *at_++ != '"')) {
      return offend(before, field(before) + " is not a finite number");
    }
    while (at_ < stop_ && is_blank(*at_) && *at_ != separator_) ++at_;
    if (at_ < stop_ && *at_ != separator_) {
      return offend(before, field(before) + " is not a finite number");
    }
    result_.values.push_back(value);
    return true;
  }

  bool label() {
    const char* before = at_;
    std::string name;
    if (!text(name)) return false;
    if (name.empty()) return offend(before, "empty label");
    result_.labels.push_back(result_.distinct.number(name));
    return true;
  }

  // A field as text, without blanks around it or quotation marks.
  bool text(std::string& text) {
    const char* before = at_;
    if (at_ < stop_ && *at_ == '"') {
      for (++at_;; ++at_) {
        if (at_ >= stop_)
          return offend(
              before,
              "the quotation mark is not closed on this line: take line breaks out of the text");
        if (*at_ == '"') {
          if (at_ + 1 < stop_ && at_[1] == '"') {
            ++at_;  // a doubled mark stands for one
          } else {
            break;
          }
        }
        text += *at_;
      }
      ++at_;
      if (at_ < stop_ && *at_ != separator_) {
        return offend(at_, "text behind the closing quotation mark");
      }
    } else {
      while (at_ < stop_ && *at_ != separator_) text += *at_++;
      while (!text.empty() && is_blank(text.back())) text.pop_back();
      text.erase(0, text.find_first_not_of(" \t"));
    }
    if (text.find('\0') != std::string::npos) return offend(before, "a NUL byte in the text");
    return true;
  }

  std::string field(const char* from) const {
    const char* to = from;
    while (to < stop_ && *to != separator_) ++to;
    return excerpt(from, to);
  }

  bool offend(const char* where, std::string what) {
    result_.error = {line_, where - start_ + 1, std::move(what)};
    return false;
  }

  const char* at_;
  const char* end_;
  const char* start_ = nullptr;  // of the line
  const char* stop_ = nullptr;   // its end, without carriage return
  std::int64_t line_;
  char separator_;
  std::int64_t columns_;
  std::int64_t label_;
  std::string kinds_;  // empty unless the table is mixed
  TableLines result_;
};

}  // namespace widemargin
