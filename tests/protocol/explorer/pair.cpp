// SPDX-License-Identifier: Apache-2.0
#include "protocol/explorer/pair.hpp"

#include <stdexcept>

namespace penstock::explorer {

namespace {

std::uint8_t add_location(Shape& shape, std::uint8_t readers, bool exchange_only = false) {
  if (shape.locations == max_locations)
    throw std::logic_error("the model has too few locations for this set of pairs");
  shape.readers[shape.locations] = readers;
  shape.exchange_only[shape.locations] = exchange_only;
  return static_cast<std::uint8_t>(shape.locations++);
}

std::uint8_t add_cell(Shape& shape) {
  if (shape.cells == max_cells)
    throw std::logic_error("the model has too few cells for this set of pairs");
  return static_cast<std::uint8_t>(shape.cells++);
}

}  // namespace

PairPlaces place_pair(const PairSpec& spec, Shape& shape, std::uint8_t sender_threads,
                      std::uint8_t receiver_threads) {
  PairPlaces places;
  places.words.fill(no_place);
  auto word = [&](Word which, std::uint8_t readers, bool exchange_only = false) {
    places.words[static_cast<unsigned>(which)] = add_location(shape, readers, exchange_only);
  };
  if (spec.may_close) {
    word(Word::sender_closed, receiver_threads);
    word(Word::receiver_closed, sender_threads);
    shape.fences = true;
    if (spec.path != Path::ring) {
      places.reused = {add_location(shape, receiver_threads), add_location(shape, sender_threads)};
      shape.mixed_fences = true;  // the new use of a buffer is published by a fence
    }
  }
  // A word that the pair does not need has no place, and an access to it is a fault.
  const bool checked = spec.mode == Mode::ready && spec.checks_ready;
  if (spec.mode == Mode::synchronous || checked ||
      (spec.path == Path::rendezvous && spec.mode != Mode::ready) || spec.path == Path::window)
    word(Word::cts, sender_threads);
  if (spec.path == Path::ring || spec.mode != Mode::ready || spec.shares || spec.may_close)
    word(Word::fin, sender_threads);
  for (unsigned line = 0; line < spec.lines; ++line) {
    places.outgoing[line] = add_cell(shape);
    places.incoming[line] = add_cell(shape);
  }
  if (spec.path != Path::rendezvous) {
    for (unsigned i = 0; i < spec.slots * spec.slot_lines(); ++i) {
      places.flags[i] = add_location(shape, receiver_threads);
      places.slots[i] = add_cell(shape);
    }
    for (unsigned part = 0; spec.path == Path::window && part < spec.lines; ++part)
      places.parts[part] = add_location(shape, receiver_threads);
    return places;
  }
  word(Word::done, receiver_threads);
  if (spec.shares) {
    places.pushed_parts = add_location(shape, sender_threads | receiver_threads);
    places.pulled_parts = add_location(shape, sender_threads | receiver_threads);
  }
  if (spec.mode == Mode::ready && spec.untouched)
    word(Word::claim, sender_threads | receiver_threads, true);
  if (spec.mode == Mode::ready) return places;
  word(Word::rts, receiver_threads);
  if (spec.claim == ClaimBy::exchange) {
    word(Word::claim, sender_threads | receiver_threads, true);
  } else {
    word(Word::pull, sender_threads);
    word(Word::push, receiver_threads);
    shape.fences = true;
  }
  return places;
}

const char* name_of(Word word) {
  constexpr const char* names[] = {
      "CTS", "FIN", "PULL", "PUSH", "CLAIM", "RTS", "DONE", "CLOSED (sender)", "CLOSED (receiver)"};
  return names[static_cast<unsigned>(word)];
}

std::string describe(const PairSpec& spec) {
  constexpr const char* modes[] = {"standard", "synchronous", "ready", "buffered"};
  constexpr const char* paths[] = {"ring", "rendezvous", "window"};
  std::string text = paths[static_cast<unsigned>(spec.path)];
  if (spec.path == Path::window)
    text += spec.stored         ? " stored"
            : spec.direct == 0  ? " eager"
            : ~spec.direct == 0 ? " direct"
                                : " mixed (" + std::to_string(~spec.direct) + ")";
  else
    text += std::string(" ") + modes[static_cast<unsigned>(spec.mode)];
  if (spec.path != Path::rendezvous) {
    text += ", " + std::to_string(spec.slots) + " slots of " + std::to_string(spec.lines) +
            " lines, " + std::to_string(spec.flag_bits) + "-bit flags" +
            (spec.deferred ? ", deferred" : "") + (spec.send_waits ? " but for the send" : "");
  } else {
    text += spec.claim == ClaimBy::exchange ? ", claim by exchange" : ", claim by flags";
    if (spec.shares) text += ", shared copies of " + std::to_string(spec.lines) + " parts";
  }
  if (spec.promised != 0) text += ~spec.promised == 0 ? ", promised" : ", some promised";
  if (spec.may_close) text += ", may close";
  if (spec.untouched) text += ", ends untouched";
  if (spec.copy_may_fail) text += ", copies may fail";
  return text;
}

}  // namespace penstock::explorer
