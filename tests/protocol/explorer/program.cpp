// SPDX-License-Identifier: Apache-2.0
#include "protocol/explorer/program.hpp"

#include <cctype>
#include <stdexcept>

namespace penstock::explorer {

namespace {

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Program parse() {
    sequence();
    if (at_ != text_.size()) fail();
    return program_;
  }

 private:
  void sequence() {
    while (at_ < text_.size() && text_[at_] != ')') {
      if (text_[at_] == ' ')
        ++at_;
      else if (text_[at_] == '(')
        group();
      else
        call();
    }
  }

  void group() {
    const std::size_t begin = ++at_;
    std::size_t end = begin;
    sequence();
    end = at_++;
    for (unsigned times = number(); times > 1; --times) {
      const std::size_t after = at_;
      at_ = begin;
      sequence();
      if (at_ != end) fail();
      at_ = after;
    }
  }

  void call() {
    const char letter = text_[at_++];
    if (letter == 's')
      start(Side::sender);
    else if (letter == 'r')
      start(Side::receiver);
    else if (letter == 'w')
      wait();
    else if (letter == 'c')
      close();
    else if (letter == 'e')
      event(Call::Kind::record, recorded_);
    else if (letter == 'a')
      event(Call::Kind::await, awaited_);
    else if (letter == 'z')
      renewal(Call::Kind::zero);
    else if (letter == 'n')
      renewal(Call::Kind::renew);
    else
      fail();
  }

  void start(Side side) {
    const unsigned pair = digit() - 1u;
    last_side_.at(pair) = side;
    add({Call::Kind::start, static_cast<std::uint8_t>(endpoint_of(pair, side))});
  }

  void wait() {
    Call call{Call::Kind::wait};
    char side = ' ';
    for (; at_ < text_.size() && text_[at_] != ' ' && text_[at_] != ')';) {
      if (text_[at_] == 's' || text_[at_] == 'r') side = text_[at_++];
      const unsigned pair = digit() - 1u;
      const Side of = side == 's'   ? Side::sender
                      : side == 'r' ? Side::receiver
                                    : last_side_.at(pair);
      call.endpoints |= static_cast<std::uint8_t>(1u << endpoint_of(pair, of));
    }
    add(call);
  }

  void close() {
    const unsigned pair = digit() - 1u;
    add({Call::Kind::close, static_cast<std::uint8_t>(endpoint_of(pair, last_side_.at(pair)))});
  }

  void event(Call::Kind kind, std::array<std::uint8_t, max_events>& counts) {
    const std::uint8_t which = digit() - 1;
    add({kind, 0, 0, which, ++counts.at(which)});
  }

  void renewal(Call::Kind kind) {
    const std::uint8_t pair = digit() - 1;
    add({kind, 0, 0, pair});
  }

  std::uint8_t digit() {
    if (at_ == text_.size() || !std::isdigit(text_[at_])) fail();
    return static_cast<std::uint8_t>(text_[at_++] - '0');
  }

  unsigned number() {
    unsigned value = digit();
    while (at_ < text_.size() && std::isdigit(text_[at_])) value = 10 * value + digit();
    return value;
  }

  void add(const Call& call) { program_.push_back(call); }
  [[noreturn]] void fail() const { throw std::invalid_argument("not a program: " + text_); }

  const std::string& text_;
  std::size_t at_ = 0;
  Program program_;
  std::array<Side, max_pairs> last_side_{};
  std::array<std::uint8_t, max_events> recorded_{};
  std::array<std::uint8_t, max_events> awaited_{};
};

}  // namespace

Program parse_program(const std::string& text) {
  return Parser(text).parse();
}

// Calls only ever enable calls of others, so running each thread as far as it gets, in turn,
// decides the question.
bool completes_by_rule(const std::vector<Program>& programs) {
  std::vector<std::size_t> at(programs.size(), 0);
  std::array<unsigned, max_endpoints> started{}, ended{};
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t t = 0; t < programs.size(); ++t) {
      while (at[t] < programs[t].size()) {
        const Call& call = programs[t][at[t]];
        bool ready = true;
        if (call.kind == Call::Kind::start) ++started[call.endpoint];
        if (call.kind == Call::Kind::wait)
          for (unsigned e = 0; e < max_endpoints; ++e)
            if (call.endpoints >> e & 1) ready = ready && started[e ^ 1u] > ended[e];
        if (!ready) break;
        if (call.kind == Call::Kind::wait)
          for (unsigned e = 0; e < max_endpoints; ++e) ended[e] += call.endpoints >> e & 1;
        ++at[t];
        moved = true;
      }
    }
  }
  for (std::size_t t = 0; t < programs.size(); ++t)
    if (at[t] != programs[t].size()) return false;
  return true;
}

namespace {

void extend(std::string text, const std::string (&calls)[2][2], unsigned first, unsigned second,
            std::array<unsigned, 2> epochs, std::vector<std::string>& orders) {
  const unsigned firsts = 2 * epochs[0], seconds = 2 * epochs[1];
  if (first == firsts && second == seconds) orders.push_back(text);
  if (first < firsts) extend(text + calls[0][first % 2], calls, first + 1, second, epochs, orders);
  if (second < seconds)
    extend(text + calls[1][second % 2], calls, first, second + 1, epochs, orders);
}

}  // namespace

std::vector<std::string> all_orders(char first, char second, std::array<unsigned, 2> epochs) {
  const std::string calls[2][2] = {{std::string(1, first) + "1 ", "w1 "},
                                   {std::string(1, second) + "2 ", "w2 "}};
  std::vector<std::string> orders;
  extend("", calls, 0, 0, epochs, orders);
  return orders;
}

}  // namespace penstock::explorer
