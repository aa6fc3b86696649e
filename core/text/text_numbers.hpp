// Numbers in text: exact, independent of the locale, and fast for the usual short ones.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <system_error>

namespace widemargin {

inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
inline bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

// The first thing wrong in a text, by line and column counted from 1; line 0: nothing is.
struct ParseError {
  std::int64_t line = 0;
  std::int64_t column = 0;
  std::string what;
};

// Read a finite decimal number at `at`; on success `at` stands behind it. Up to 15 digits with
// a decimal exponent of at most 22 are one exactly rounded division or multiplication (Clinger
// 1990); everything else goes to the library.
inline bool read_number(const char*& at, const char* end, double& value) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const char* p = at;
  const bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) ++p;
  const char* number = p;
  std::int64_t mantissa = 0;
  int digits = 0, fraction = 0;
  for (; p < end && is_digit(*p) && digits < 16; ++p, ++digits)
    mantissa = 10 * mantissa + (*p - '0');
  if (p < end && *p == '.') {
    ++p;
    for (; p < end && is_digit(*p) && digits < 16; ++p, ++digits, ++fraction) {
      mantissa = 10 * mantissa + (*p - '0');
    }
  }
  const bool more = p < end && (is_digit(*p) || *p == 'e' || *p == 'E' || *p == '.');
  if (digits > 0 && digits <= 15 && !more) {
    value = double(mantissa) / powers[fraction];
  } else {
    const auto [behind, error] = std::from_chars(number, end, value);
    if (error == std::errc::invalid_argument || (number < end && *number == '-')) return false;
    if (error == std::errc::result_out_of_range) {  // too large, or so small that it is 0
      value = std::strtod(std::string(number, behind).c_str(), nullptr);
    }
    if (!std::isfinite(value)) return false;
    p = behind;
  }
  if (negative) value = -value;
  at = p;
  return true;
}

// A piece of the text for a message: without control characters, and short. A letter beyond ASCII
// is not cut.
inline std::string excerpt(const char* at, const char* end) {
  std::string text;
  for (; at < end && *at != '\n' && *at != '\r' && !is_blank(*at); ++at) {
    const auto code = static_cast<unsigned char>(*at);
    const bool goes_on = code >= 0x80 && code < 0xC0;  // UTF-8: inside of a letter
    if (text.size() >= (goes_on ? 28 : 24)) break;
    text += (code < 32 || code == 127) ? '?' : *at;
  }
  return "'" + text + "'";
}

}  // namespace widemargin
