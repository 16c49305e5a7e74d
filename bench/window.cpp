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
    for (std::size_t i = 0; i + 1 < side.requests.size(); ++i)
      fill_pattern(side.message(i), 0, number_of(iteration, i));
    ++iteration;
  }
};

struct Check {
  Window& side;
  std::uint64_t iteration = 0;
  void operator()() noexcept {
    for (std::size_t i = 0; i + 1 < side.requests.size(); ++i) {
      side.check_result.add(side.message(i), 0, number_of(iteration, i));
    }
    ++iteration;
  }
};

template <class Engine>
void send_window(Engine& engine, Window& side, Fill* fill) {
  if (fill != nullptr) engine.run(*fill);
  engine.start(side.messages());
  engine.wait(side.messages());
  engine.start(side.answer());
  engine.wait(side.answer());
}

// Preposted: the next window's receives are started before the answer that lets rank 0 send it.
template <class Engine>
void receive_window(Engine& engine, Window& side, Order order, bool last, Check* check) {
  if (order == Order::sequential) engine.start(side.messages());
  engine.wait(side.messages());
  if (check != nullptr) engine.run(*check);
  if (order == Order::preposted && !last) engine.start(side.messages());
  engine.start(side.answer());
  engine.wait(side.answer());
}

template <class Engine>
double time_any_round(Engine& engine, Window& side, int iterations, Order order, bool check) {
  Fill fill{side};
  Check verify{side};
  const int warm_up = std::max(1, iterations / 10);
  const int total = warm_up + iterations;
  const auto prepare = [&] {
    if (side.rank == 1 && order == Order::preposted) engine.start(side.messages());
  };
  const auto program = [&] {
    for (int i = 0; i < total; ++i) {
      if (i == warm_up) engine.mark_begin();
      if (side.rank == 0) {
        send_window(engine, side, check ? &fill : nullptr);
      } else {
        receive_window(engine, side, order, i + 1 == total, check ? &verify : nullptr);
      }
    }
    engine.mark_end();
  };
  const double us = run_round(engine, prepare, program);
  return static_cast<double>(side.bytes * side.messages().size()) * iterations / us;
}

}  // namespace

Window::Window(std::size_t message_bytes, int count, MemoryKind memory, Mode mode, int own_rank, int tag)
    : rank(own_rank),
      bytes(message_bytes),
      stride((message_bytes + line - 1) / line * line),
      data(stride * static_cast<std::size_t>(count), memory),
      answer_data(1, memory) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    requests.add(rank == 0 ? send_init(message(i), 1, tag, MPI_COMM_WORLD, mode)
                           : recv_init(message(i), 0, tag, MPI_COMM_WORLD));
  }
  requests.add(rank == 0 ? recv_init(answer_data.all(), 1, tag + 1, MPI_COMM_WORLD)
                         : send_init(answer_data.all(), 0, tag + 1, MPI_COMM_WORLD));
}

double time_round(MpiEngine& engine, Window& side, int iterations, Order order, bool check) {
  return time_any_round(engine, side, iterations, order, check);
}

double time_round(StreamEngine& engine, Window& side, int iterations, Order order, bool check) {
  return time_any_round(engine, side, iterations, order, check);
}

}  // namespace penstock::bench
