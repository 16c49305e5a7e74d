// SPDX-License-Identifier: Apache-2.0
#include "protocol/model/memory.hpp"

#include <algorithm>
#include <cstring>

namespace penstock::explorer {

namespace {

bool acquires(Order order) {
  return order == Order::acquire || order == Order::acq_rel || order == Order::seq_cst;
}
bool releases(Order order) {
  return order == Order::release || order == Order::acq_rel || order == Order::seq_cst;
}

std::uint8_t all_known(unsigned threads) {
  return static_cast<std::uint8_t>((2u << threads) - 1);
}
std::uint8_t read_bit(unsigned thread) {
  return static_cast<std::uint8_t>(2u << thread);
}

constexpr std::uint8_t write_bit = 1;

}  // namespace

void View::join_times(const View& other) {
  for (unsigned i = 0; i < max_locations; ++i) time[i] = std::max(time[i], other.time[i]);
}

void View::join(const View& other) {
  join_times(other);
  for (unsigned i = 0; i < max_cells; ++i) known[i] |= other.known[i];
}

Memory::Memory(const Shape& shape) : shape_(&shape) {
  for (unsigned t = 0; t < shape.threads; ++t) {
    for (unsigned c = 0; c < shape.cells; ++c) current_[t].known[c] = all_known(shape.threads);
    if (shape.mixed_fences) acquired_[t] = current_[t];
  }
}

template <class Visit>
void Memory::each_view(Visit visit) {
  for (unsigned l = 0; l < shape_->locations; ++l)
    for (unsigned m = 0; m < locations_[l].count; ++m) visit(locations_[l].messages[m].view);
  for (unsigned t = 0; t < shape_->threads; ++t) {
    visit(current_[t]);
    if (shape_->mixed_fences) visit(acquired_[t]);
    if (shape_->mixed_fences) visit(released_[t]);
  }
}

unsigned Memory::choices(unsigned thread, unsigned location, Order order) const {
  unsigned oldest = current_[thread].time[location];
  if (order == Order::seq_cst) oldest = std::max<unsigned>(oldest, fenced_.time[location]);
  return locations_[location].count - oldest;
}

Value Memory::load(unsigned thread, unsigned location, Order order, unsigned choice) {
  const unsigned index = locations_[location].count - 1 - choice;
  const Message& message = locations_[location].messages[index];
  View& view = current_[thread];
  view.time[location] =
      std::max<std::uint8_t>(view.time[location], static_cast<std::uint8_t>(index));
  if (acquires(order)) view.join(message.view);
  if (shape_->mixed_fences) {
    acquired_[thread].join(view);
    acquired_[thread].join(message.view);
  }
  return message.value;
}

Message& Memory::push(unsigned location) {
  Location& list = locations_[location];
  if (list.count == max_messages) {
    overflow_ = true;
    return list.messages[list.count - 1];
  }
  return list.messages[list.count++];
}

bool Memory::store(unsigned thread, unsigned location, Order order, Value value) {
  if (!knows_newest(thread, location)) return false;
  overwrite(thread, location, order, value);
  return true;
}

void Memory::overwrite(unsigned thread, unsigned location, Order order, Value value) {
  Message& message = push(location);
  const auto index = static_cast<std::uint8_t>(locations_[location].count - 1);
  current_[thread].time[location] = index;
  message.value = value;
  message.view = releases(order) ? current_[thread] : released_[thread];
  message.view.time[location] = index;
  if (shape_->mixed_fences) acquired_[thread].time[location] = index;
  if (order == Order::seq_cst) fenced_.time[location] = index;
}

Value Memory::exchange(unsigned thread, unsigned location, Order order, Value value) {
  const Message previous = locations_[location].messages[locations_[location].count - 1];
  Message& message = push(location);
  const auto index = static_cast<std::uint8_t>(locations_[location].count - 1);
  View& view = current_[thread];
  if (acquires(order)) view.join(previous.view);
  view.time[location] = index;
  if (shape_->mixed_fences) {
    acquired_[thread].join(view);
    acquired_[thread].join(previous.view);
  }
  message.value = value;
  message.view = releases(order) ? view : released_[thread];
  message.view.join(previous.view);
  message.view.time[location] = index;
  return previous.value;
}

void Memory::fence(unsigned thread, Order order) {
  View& view = current_[thread];
  if (shape_->mixed_fences) view.join(acquired_[thread]);
  if (order == Order::acquire) return;
  view.join_times(fenced_);
  fenced_.join_times(view);
  if (shape_->mixed_fences) {
    acquired_[thread] = view;
    released_[thread] = view;
  }
}

bool Memory::read_cell(unsigned thread, unsigned cell, Value* value) {
  if (!(current_[thread].known[cell] & write_bit)) return false;
  const std::uint8_t bit = read_bit(thread);
  each_view([&](View& view) { view.known[cell] &= static_cast<std::uint8_t>(~bit); });
  current_[thread].known[cell] |= bit;
  if (shape_->mixed_fences) acquired_[thread].known[cell] |= bit;
  *value = cells_[cell];
  return true;
}

bool Memory::write_cell(unsigned thread, unsigned cell, Value value) {
  const std::uint8_t all = all_known(shape_->threads);
  if ((current_[thread].known[cell] | read_bit(thread)) != all) return false;
  each_view([&](View& view) { view.known[cell] = static_cast<std::uint8_t>(all & ~write_bit); });
  current_[thread].known[cell] = all;
  if (shape_->mixed_fences) acquired_[thread].known[cell] = all;
  cells_[cell] = value;
  return true;
}

bool Memory::knows_newest(unsigned thread, unsigned location) const {
  return current_[thread].time[location] + 1u == locations_[location].count;
}

Value Memory::newest(unsigned location) const {
  return locations_[location].messages[locations_[location].count - 1].value;
}

void Memory::settle(std::uint8_t running) {
  for (unsigned t = 0; t < shape_->threads; ++t)
    if (!(running >> t & 1)) current_[t] = acquired_[t] = released_[t] = View{};
  for (unsigned l = 0; l < shape_->locations; ++l) settle_location(l, running);
  for (unsigned l = 0; l < shape_->locations; ++l) minimise(l, running);
}

void Memory::settle_location(unsigned location, std::uint8_t running) {
  const unsigned newest = locations_[location].count - 1u;
  unsigned base = newest;
  if (!shape_->exchange_only[location])
    for (unsigned t = 0; t < shape_->threads; ++t)
      if (shape_->readers[location] & running & (1u << t))
        base = std::min<unsigned>(base, current_[t].time[location]);
  if (base > 0) forget(location, base);
}

void Memory::forget(unsigned location, unsigned base) {
  Location& list = locations_[location];
  std::move(list.messages.begin() + base, list.messages.begin() + list.count,
            list.messages.begin());
  list.count = static_cast<std::uint8_t>(list.count - base);
  auto rebase = [&](View& view) {
    std::uint8_t& time = view.time[location];
    time = time > base ? static_cast<std::uint8_t>(time - base) : std::uint8_t{0};
  };
  each_view(rebase);
  rebase(fenced_);
}

// An entry of a message's view matters only if some thread can read the message and does not know
// as much already. Threads that can read it now include all that can ever, since views only grow.
void Memory::minimise(unsigned location, std::uint8_t running) {
  Location& list = locations_[location];
  for (unsigned index = 0; index < list.count; ++index) {
    View least;
    least.time.fill(0xff);
    least.known.fill(0xff);
    for (unsigned t = 0; t < shape_->threads; ++t) {
      if (!(shape_->readers[location] & running & (1u << t))) continue;
      if (!shape_->exchange_only[location] && current_[t].time[location] > index) continue;
      for (unsigned i = 0; i < max_locations; ++i)
        least.time[i] = std::min(least.time[i], current_[t].time[i]);
      for (unsigned i = 0; i < max_cells; ++i) least.known[i] &= current_[t].known[i];
    }
    View& view = list.messages[index].view;
    for (unsigned i = 0; i < max_locations; ++i)
      view.time[i] = view.time[i] > least.time[i] ? view.time[i] : std::uint8_t{0};
    for (unsigned i = 0; i < max_cells; ++i)
      view.known[i] &= static_cast<std::uint8_t>(~least.known[i]);
    view.time[location] = 0;  // a reader learns it by reading
  }
}

namespace {

// A view is written as a byte that says whether it is empty, then its entries in use.
void append_view(std::string& bytes, const View& view, const Shape& shape) {
  static constexpr View nothing;
  const auto* times = reinterpret_cast<const char*>(view.time.data());
  const auto* known = reinterpret_cast<const char*>(view.known.data());
  const bool empty = std::memcmp(times, nothing.time.data(), shape.locations) == 0 &&
                     std::memcmp(known, nothing.known.data(), shape.cells) == 0;
  bytes.push_back(empty ? 0 : 1);
  if (empty) return;
  bytes.append(times, shape.locations);
  bytes.append(known, shape.cells);
}

const std::uint8_t* restore_view(const std::uint8_t* bytes, View& view, const Shape& shape) {
  view = View{};
  if (*bytes++ == 0) return bytes;
  std::copy_n(bytes, shape.locations, view.time.begin());
  std::copy_n(bytes + shape.locations, shape.cells, view.known.begin());
  return bytes + shape.locations + shape.cells;
}

}  // namespace

void Memory::append(std::string& bytes) const {
  for (unsigned l = 0; l < shape_->locations; ++l) {
    bytes.push_back(static_cast<char>(locations_[l].count));
    for (unsigned m = 0; m < locations_[l].count; ++m) {
      bytes.push_back(static_cast<char>(locations_[l].messages[m].value));
      append_view(bytes, locations_[l].messages[m].view, *shape_);
    }
  }
  bytes.append(reinterpret_cast<const char*>(cells_.data()), shape_->cells);
  for (unsigned t = 0; t < shape_->threads; ++t) {
    append_view(bytes, current_[t], *shape_);
    if (shape_->mixed_fences) append_view(bytes, acquired_[t], *shape_);
    if (shape_->mixed_fences) append_view(bytes, released_[t], *shape_);
  }
  if (shape_->fences) append_view(bytes, fenced_, *shape_);
}

const std::uint8_t* Memory::restore(const std::uint8_t* bytes) {
  for (unsigned l = 0; l < shape_->locations; ++l) {
    locations_[l].count = *bytes++;
    for (unsigned m = 0; m < locations_[l].count; ++m) {
      locations_[l].messages[m].value = *bytes++;
      bytes = restore_view(bytes, locations_[l].messages[m].view, *shape_);
    }
  }
  std::copy_n(bytes, shape_->cells, cells_.begin());
  bytes += shape_->cells;
  for (unsigned t = 0; t < shape_->threads; ++t) {
    bytes = restore_view(bytes, current_[t], *shape_);
    if (shape_->mixed_fences) bytes = restore_view(bytes, acquired_[t], *shape_);
    if (shape_->mixed_fences) bytes = restore_view(bytes, released_[t], *shape_);
  }
  if (shape_->fences) bytes = restore_view(bytes, fenced_, *shape_);
  return bytes;
}

}  // namespace penstock::explorer
