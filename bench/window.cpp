// SPDX-License-Identifier: Apache-2.0
#include "window.hpp"

#include <algorithm>

namespace penstock::bench {
namespace {

constexpr std::size_t line = 64;

std::uint64_t number_of(std::uint64_t iteration, std::size_t index) {
  return iteration * 4096 + index;
}

struct Fill {
  Window& side;
  std::uint64_t iteration = 0;
  void operator()() noexcept {
    for (std::size_t i = 0; i < side.messages.transfers().size(); ++i)
      fill_pattern(side.message(i), static_cast<std::uint64_t>(side.pairing.rank),
                   number_of(iteration, i));
    ++iteration;
  }
};

struct Check {
  Window& side;
  std::uint64_t iteration = 0;
  void operator()() noexcept {
    for (std::size_t i = 0; i < side.messages.transfers().size(); ++i)
      side.check_result.add(side.message(i), static_cast<std::uint64_t>(side.pairing.peer),
                            number_of(iteration, i));
    ++iteration;
  }
};

template <class Engine>
void send_window(Engine& engine, Window& side, Fill* fill) {
  if (fill != nullptr) engine.run(*fill);
  engine.start(side.messages);
  engine.wait(side.messages);
  engine.start(side.answer);
  engine.wait(side.answer);
}

// Preposted: the next window's receives are started before the answer that lets rank 0 send it.
template <class Engine>
void receive_window(Engine& engine, Window& side, Order order, bool last, Check* check) {
  if (order == Order::sequential) engine.start(side.messages);
  engine.wait(side.messages);
  if (check != nullptr) engine.run(*check);
  if (order == Order::preposted && !last) engine.start(side.messages);
  engine.start(side.answer);
  engine.wait(side.answer);
}

std::vector<Transfer> window_of(Window& side, int count, int tag) {
  std::vector<Transfer> transfers;
  for (int i = 0; i < count; ++i)
    transfers.push_back(
        {side.message(static_cast<std::size_t>(i)), side.pairing.peer, tag, side.pairing.sends});
  return transfers;
}

}  // namespace

Window::Window(std::size_t message_bytes, int count, MemoryKind memory, Mode mode, Pairing who,
               int tag, Calls calls)
    : pairing(who),
      bytes(message_bytes),
      stride((message_bytes + line - 1) / line * line),
      data(stride * static_cast<std::size_t>(count), memory),
      answer_data(1, memory),
      messages(window_of(*this, count, tag), mode, calls),
      answer({{answer_data.all(), pairing.peer, tag + 1, !pairing.sends}}, Mode::standard, calls) {}

void Window::match() {
  penstock::match(messages.requests());
  penstock::match(answer.requests());
}

template <class Engine>
WindowTime time_round(Engine& engine, Window& side, int iterations, Order order, bool check) {
  Fill fill{side};
  Check verify{side};
  const int warm_up = std::max(1, iterations / 10);
  const int total = warm_up + iterations;
  const auto prepare = [&] {
    if (!side.pairing.sends && order == Order::preposted) engine.start(side.messages);
  };
  const auto program = [&] {
    for (int i = 0; i < total; ++i) {
      if (i == warm_up) engine.mark_begin();
      if (side.pairing.sends) {
        send_window(engine, side, check ? &fill : nullptr);
      } else {
        receive_window(engine, side, order, i + 1 == total, check ? &verify : nullptr);
      }
    }
    engine.mark_end();
  };
  WindowTime time{};
  time.us = run_round(engine, prepare, program, &time.call_us);
  time.call_us *= static_cast<double>(iterations) / total;
  return time;
}

template WindowTime time_round(MpiEngine&, Window&, int, Order, bool);
template WindowTime time_round(NonblockingEngine&, Window&, int, Order, bool);
template WindowTime time_round(StreamEngine&, Window&, int, Order, bool);

}  // namespace penstock::bench
