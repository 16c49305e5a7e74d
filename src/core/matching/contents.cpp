// SPDX-License-Identifier: Apache-2.0
#include "core/matching/contents.hpp"

#include <fmt/format.h>

#include <exception>

#include "group/layout.hpp"

namespace penstock::core {

using base::Error;
using base::ErrorKind;

namespace {

// Looked for at the match alone, as all runs may have to be sorted.
constexpr char overlap_text[] =
    "its datatype has a byte of the buffer twice, which no receive may: see the displacements and "
    "lengths of blocks (indexed, struct), that the stride of a vector is not less than its block, "
    "and the extent of what comes several times (MPI_Type_create_resized) not less than what it "
    "covers";

Error misfit_of_bags(const ChannelShape& send, int sender, int tag, const ChannelShape& receive) {
  const auto text = [](const ChannelShape& shape) {
    return fmt::format("{} slots of {} elements of {} bytes", shape.slots, shape.unit,
                       shape.element_bytes);
  };
  return Error(ErrorKind::argument,
               fmt::format("rank {} has {} for its messages into the bag with tag {}, this end has "
                           "{}: give all ends the same",
                           sender, text(send), tag, text(receive)));
}

// The units of both ends are the same, one by one.
std::optional<Error> misfit_of_channels(const ChannelShape& send, int sender, int tag,
                                        const ChannelShape& receive) {
  if (send == receive) return std::nullopt;
  const auto kind = [](const ChannelShape& shape) {
    return shape.unit == 0 ? "a message" : shape.slots == 0 ? "a channel" : "a bag";
  };
  if ((send.unit == 0) != (receive.unit == 0) || (send.slots == 0) != (receive.slots == 0))
    return Error(
        ErrorKind::argument,
        fmt::format("rank {} has handed {} with tag {} to match, this end is {}: each kind matches "
                    "its own alone, so make both ends of one kind",
                    sender, kind(send), tag, kind(receive)));
  if (send.slots != 0) return misfit_of_bags(send, sender, tag, receive);
  const auto text = [](const ChannelShape& shape) {
    return fmt::format("{} elements of {} bytes in units of {}", shape.count, shape.element_bytes,
                       shape.unit);
  };
  const bool in_capacity = send.count != receive.count &&
                           send.element_bytes == receive.element_bytes && send.unit == receive.unit;
  // Partitions may differ, and units may not.
  const bool in_units = send.count == receive.count &&
                        send.element_bytes == receive.element_bytes && send.unit != receive.unit;
  return Error(in_capacity ? ErrorKind::truncate : ErrorKind::argument,
               fmt::format("the channel of rank {} with tag {} has {}, this end has {}: give both "
                           "ends the same{}",
                           sender, tag, text(send), text(receive),
                           in_units ? ", requests of MPI_Psend_init and MPI_Precv_init by the "
                                      "MPI_Info key penstock_unit on both, which divides a "
                                      "partition of either"
                                    : ""));
}

}  // namespace

void write_contents(LetterWriter& letter, const Contents& contents) {
  letter.value(contents.bytes).bytes(contents.signature.to_bytes()).text(contents.refusal);
  letter.value(contents.channel);
}

Contents read_contents(LetterReader& letter) {
  Contents contents{letter.value<std::size_t>()};
  contents.signature = datatype::Signature::from_bytes(letter.bytes());
  contents.refusal = letter.text();
  contents.channel = letter.value<ChannelShape>();
  return contents;
}

Contents contents_of(const Recording& recording, bool with_signature) {
  Contents contents{recording.bytes};
  contents.refusal = recording.refusal;
  if (recording.channel) contents.channel = recording.channel->shape();
  if (!recording.layout) return contents;
  const auto& segments = recording.layout->segments();
  try {
    if (!recording.is_send() && segments && segments->overlap()) contents.refusal = overlap_text;
    if (with_signature) contents.signature = recording.layout->signature();
  } catch (const std::exception&) {  // then less is compared, but the other end hears of us
  }
  return contents;
}

std::optional<Error> misfit(const Contents& send, int sender, int tag, const Contents& receive) {
  if (!send.refusal.empty())
    return Error(ErrorKind::argument, "the send cannot be matched: " + send.refusal);
  if (!receive.refusal.empty())
    return Error(ErrorKind::argument, "the receive cannot be matched: " + receive.refusal);
  if (auto difference = misfit_of_channels(send.channel, sender, tag, receive.channel))
    return difference;
  if (send.bytes > receive.bytes)
    return Error(
        ErrorKind::truncate,
        fmt::format("rank {} sends {} bytes with tag {}, the receive has room for {} (gaps "
                    "not counted): make it larger, or give both ends one datatype",
                    sender, send.bytes, tag, receive.bytes));
  if (const auto difference = datatype::Signature::difference(send.signature, receive.signature))
    return Error(ErrorKind::argument,
                 fmt::format("rank {} sends other elements with tag {} than the receive is for "
                             "(PENSTOCK_CHECK=1): {}: give both ends datatypes of one signature",
                             sender, tag, *difference));
  return std::nullopt;
}

}  // namespace penstock::core
