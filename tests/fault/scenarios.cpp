// SPDX-License-Identifier: Apache-2.0
// The scenarios on host streams.
#include "fault/fault.hpp"

namespace penstock::fault {

std::map<std::string, Scenario> scenarios() {
  return {{"dead_peer", {dead_peer}},
          {"dead_parent", {dead_parent}},
          {"dead_peer_in_match", {dead_peer_in_match}},
          {"dead_peer_at_end", {dead_peer_at_end}},
          {"dead_sender_of_wildcard", {dead_sender_of_wildcard, 3}},
          {"stopped_peer", {stopped_peer}},
          {"fatal_handler", {fatal_handler}},
          {"released_sender", {released_sender}},
          {"released_small_sender", {released_small_sender}},
          {"released_receiver", {released_receiver}},
          {"freed_peer", {freed_peer}},
          {"unreceived_buffered", {unreceived_buffered}},
          {"failed_beside_receive", {failed_beside_receive, 3}},
          {"failed_beside_send", {failed_beside_send, 3}},
          {"match_time_out", {match_time_out}},
          {"report", {report}},
          {"own_signal_handler", {own_signal_handler}},
          {"traffic", {traffic}},
          {"small_memory", {small_memory}},
          {"no_memory", {no_memory}},
          {"no_memory_for_list", {no_memory_for_list}},
          {"dead_window_peer", {dead_window_peer}},
          {"silent_window_peer", {silent_window_peer}},
          {"stopped_window_peer", {stopped_window_peer}},
          {"dead_channel_peer", {dead_channel_peer}},
          {"silent_channel_peer", {silent_channel_peer}},
          {"dead_bag_peer", {dead_bag_peer}},
          {"silent_bag_peer", {silent_bag_peer}},
          {"dead_enqueued_peer", {dead_enqueued_peer}},
          {"dead_overlap_peer", {dead_overlap_peer}},
          {"late_overlap_peer", {late_overlap_peer}},
          {"silent_enqueued_peer", {silent_enqueued_peer}},
          {"dead_member", {dead_member}},
          {"dead_in_collective_call", {dead_in_collective_call}},
          {"silent_member", {silent_member}},
          {"idle", {idle}}};
}

}  // namespace penstock::fault
