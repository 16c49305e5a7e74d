// SPDX-License-Identifier: Apache-2.0
#include "rle.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "support/session.hpp"

namespace penstock::life {
namespace {

// Larger patterns are a broken header rather than a wish: one cell is one byte on every rank.
constexpr int max_extent = 1 << 15;

std::string_view trim(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Grid parse() {
    while (next_line()) {
      const std::string_view line = trim(line_);
      if (line.empty() || line.front() == '#') continue;
      if (!has_header_) {
        read_header(line);
      } else if (read_runs(line)) {
        return std::move(grid_);
      }
    }
    if (!has_header_) fail("no header line \"x = WIDTH, y = HEIGHT\"");
    fail("the pattern ends without '!'");
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw tool::UserError(fmt::format("{}:{}: {}", name_, std::max(line_number_, 1), what));
  }

  bool next_line() {
    if (text_.empty()) return false;
    const auto end = text_.find('\n');
    line_ = text_.substr(0, end);
    text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
    ++line_number_;
    return true;
  }

  // "x = 3, y = 3, rule = B3/S23"; the rule may be absent.
  void read_header(std::string_view line) {
    int width = 0;
    int height = 0;
    for (std::string_view rest = line; !rest.empty();) {
      const auto comma = rest.find(',');
      const std::string_view field = rest.substr(0, comma);
      const auto equals = field.find('=');
      if (equals == std::string_view::npos)
        fail(fmt::format("expected a header \"x = WIDTH, y = HEIGHT\", found \"{}\"", line));
      read_field(trim(field.substr(0, equals)), trim(field.substr(equals + 1)), width, height);
      rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
    }
    if (width == 0 || height == 0) fail("the header must give x and y");
    grid_ = Grid(width, height);
    has_header_ = true;
  }

  void read_field(std::string_view name, std::string_view value, int& width, int& height) const {
    if (name == "x") {
      width = read_extent(value);
    } else if (name == "y") {
      height = read_extent(value);
    } else if (name == "rule") {
      check_rule(value);
    } else {
      fail(fmt::format("unknown header field \"{}\"", name));
    }
  }

  int read_extent(std::string_view value) const {
    int extent = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), extent);
    if (error != std::errc() || end != value.data() + value.size() || extent < 1 ||
        extent > max_extent) {
      fail(fmt::format("\"{}\" is no extent from 1 to {}", value, max_extent));
    }
    return extent;
  }

  void check_rule(std::string_view rule) const {
    std::string lower(rule);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    if (lower != "b3/s23" && lower != "23/3")
      fail(fmt::format("the rule is {}: only B3/S23 is played here", rule));
  }

  // True when the pattern's end was read.
  bool read_runs(std::string_view line) {
    for (const char c : line) {
      if (c == '!') {
        if (count_ != 0) fail("a number must be followed by b, o or $");
        return true;
      }
      if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
        count_ = count_ * 10 + (c - '0');
        if (count_ == 0 || count_ > max_extent)
          fail(fmt::format("a run's length must be from 1 to {}", max_extent));
      } else if (std::isspace(static_cast<unsigned char>(c)) == 0) {
        add_run(c, std::exchange(count_, 0));
      }
    }
    return false;
  }

  void add_run(char tag, int count) {
    const int length = std::max(count, 1);
    if (tag == '$') {
      row_ = std::min(row_ + length, max_extent);
      column_ = 0;
    } else if (tag == 'b' || tag == 'o') {
      add_cells(length, tag == 'o');
    } else {
      fail(fmt::format("unexpected character '{}': runs are of b, o and $", tag));
    }
  }

  void add_cells(int length, bool alive) {
    if (row_ >= grid_.height())
      fail(fmt::format("more than the {} rows that the header gives", grid_.height()));
    if (length > grid_.width() - column_) {
      fail(fmt::format("row {} is longer than the {} cells that the header gives", row_ + 1,
                       grid_.width()));
    }
    for (int end = column_ + length; column_ < end; ++column_) grid_.set(column_, row_, alive);
  }

  std::string_view text_;
  const std::string& name_;
  std::string_view line_;
  int line_number_ = 0;
  bool has_header_ = false;
  Grid grid_{1, 1};
  int count_ = 0;
  int row_ = 0;
  int column_ = 0;
};

}  // namespace

Grid parse_rle(std::string_view text, const std::string& name) {
  return Parser(text, name).parse();
}

}  // namespace penstock::life
