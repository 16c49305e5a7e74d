// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "coll/reduction.hpp"

namespace penstock::coll {

namespace {

// My value so far, and where another one arrives.
class DoublingValue {
 public:
  DoublingValue(ScheduleBuilder& builder, const Region& from, const Region& to)
      : builder_(builder), own_(from), to_(to), arrived_(builder.temporary(from.bytes)) {}

  void send(int peer) { builder_.send(peer, own_); }
  void receive(int peer) { builder_.receive(peer, arrived_); }
  void combine(bool arrived_first) {
    if (arrived_first)
      builder_.reduce({arrived_, own_}, to_);
    else
      builder_.reduce({own_, arrived_}, to_);
    own_ = to_;
  }

 private:
  ScheduleBuilder& builder_;
  Region own_;
  const Region to_, arrived_;
};

}  // namespace

// Of the first 2 * surplus members each even one is folded into the next. Those that are left keep
// their order, so the lower place has the lower rank's value.
void combine_doubling(ScheduleBuilder& builder, const Members& members, std::size_t /*element*/,
                      const Region& from, const Region& to) {
  const std::vector<int>& ranks = members.ranks;
  const std::size_t self = members.self;
  const std::size_t places = std::bit_floor(ranks.size());
  const std::size_t surplus = ranks.size() - places;
  const bool folds = self < 2 * surplus;
  if (folds && self % 2 == 0) {
    builder.send(ranks[self + 1], from);
    builder.skip_phases(std::bit_width(places));  // the fold, and each doubling
    builder.receive(ranks[self + 1], to);
    return;
  }
  if (places == 1) return builder.copy(from, to);
  DoublingValue value(builder, from, to);
  if (folds) value.receive(ranks[self - 1]);
  if (surplus > 0) builder.next_phase();
  if (folds) value.combine(true);
  const std::size_t place = folds ? self / 2 : self - surplus;
  for (std::size_t distance = 1; distance < places; distance *= 2) {
    const std::size_t other = place ^ distance;
    const int peer = ranks[other < surplus ? 2 * other + 1 : other + surplus];
    value.send(peer);
    value.receive(peer);
    builder.next_phase();
    value.combine(other < place);
  }
  if (folds) builder.send(ranks[self - 1], to);
}

}  // namespace penstock::coll
