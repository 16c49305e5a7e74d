// SPDX-License-Identifier: Apache-2.0
// How much a message is and of what, as its two ends tell each other, and whether they fit.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "core/matching/letter.hpp"
#include "core/recording.hpp"
#include "datatype/signature.hpp"

namespace penstock::core {

struct Contents {
  std::size_t bytes = 0;
  datatype::Signature signature = datatype::Signature::of_anything();
  std::string refusal{};  // why it can never be matched; empty: it can
  ChannelShape channel{};
};
void write_contents(LetterWriter& letter, const Contents& contents);
Contents read_contents(LetterReader& letter);

// With its signature, if that is asked for and there is memory for it.
Contents contents_of(const Recording& recording, bool with_signature);
// Why the send of that rank does not fit the receive, for both ends to print; nothing: it does.
std::optional<base::Error> misfit(const Contents& send, int sender, int tag,
                                  const Contents& receive);

}  // namespace penstock::core
