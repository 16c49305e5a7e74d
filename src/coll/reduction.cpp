// SPDX-License-Identifier: Apache-2.0
#include "coll/reduction.hpp"

namespace penstock::coll {

std::vector<Region> chunks(const Region& whole, std::size_t element, std::size_t count) {
  const std::size_t elements = whole.bytes / element;
  const std::size_t base = elements / count;
  const std::size_t rest = elements % count;
  std::vector<Region> all;
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t bytes = (base + (i < rest ? 1 : 0)) * element;
    all.push_back(whole.part(at, bytes));
    at += bytes;
  }
  return all;
}

void reduce_chunks(ScheduleBuilder& builder, const Members& members,
                   const std::vector<Region>& from, const Region& to) {
  const std::size_t count = members.count();
  const std::size_t chunk = from[members.self].bytes;
  const Region arrived = builder.temporary((count - 1) * chunk);
  std::vector<Region> values(count);
  values[members.self] = from[members.self];
  for (std::size_t step = 1; step < count; ++step) {
    const std::size_t next = (members.self + step) % count;
    const std::size_t before = (members.self + count - step) % count;
    values[before] = arrived.item(step - 1, chunk);
    builder.receive(members.ranks[before], values[before]);
    builder.send(members.ranks[next], from[next]);
  }
  builder.next_phase();
  builder.reduce(std::move(values), to);
}

void share_chunks(ScheduleBuilder& builder, const Members& members,
                  const std::vector<Region>& all) {
  const std::size_t count = members.count();
  for (std::size_t step = 1; step < count; ++step) {
    const std::size_t next = (members.self + step) % count;
    const std::size_t before = (members.self + count - step) % count;
    builder.receive(members.ranks[before], all[before]);
    builder.send(members.ranks[next], all[members.self]);
  }
}

void combine_two_shot(ScheduleBuilder& builder, const Members& members, std::size_t element,
                      const Region& from, const Region& to) {
  const std::vector<Region> results = chunks(to, element, members.count());
  reduce_chunks(builder, members, chunks(from, element, members.count()), results[members.self]);
  share_chunks(builder, members, results);
}

}  // namespace penstock::coll
