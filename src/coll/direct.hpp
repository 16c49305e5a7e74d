// SPDX-License-Identifier: Apache-2.0
// Collectives without messages: where one transport serves all members, each stores what it has for
// each other one into memory of that one's: into slots, or right into its buffer.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/verdict.hpp"
#include "coll/collective_call.hpp"
#include "core/matching/letter.hpp"
#include "core/transports.hpp"
#include "transport/group.hpp"

namespace penstock::coll {

// What a member tells of its offer.
struct DirectTold {
  std::string name;       // of the algorithm that is offered
  std::string transport;  // empty: there is none
  std::string why_not;
  bool is_fastest = false;  // it is expected to be
  transport::WireRecord record;
};
DirectTold read_direct_told(core::LetterReader& letter);
// Whether all members have offered it over one transport.
base::Verdict can_connect(const std::vector<DirectTold>& told, const core::Transports& transports);
void write_direct_choice(const std::vector<DirectTold>& told, core::LetterWriter& choice);

// Made where the program asks for it, it is expected to be fastest, or a file may say that it is.
class DirectOffer {
 public:
  DirectOffer(const Arguments& arguments, const core::Transports& transports);
  void tell(core::LetterWriter& letter) const;
  // Messages have been chosen: its memory is free for theirs.
  void drop() noexcept;
  // `choice`: behind the name. Throws base::Error.
  std::unique_ptr<core::CollectivePart> connect(core::LetterReader& choice);

 private:
  void open(const transport::GroupMessage& message, const core::Transports::Entry& entry);

  const std::size_t members_;
  std::string name_;
  bool is_fastest_ = false;
  std::string transport_, why_not_;
  std::unique_ptr<transport::GroupOffer> offer_;
};

}  // namespace penstock::coll
