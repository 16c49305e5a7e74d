// SPDX-License-Identifier: Apache-2.0
// The words of one end (words.hpp), and where the peer's are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/no_copy.hpp"
#include "ofi/deferred_work.hpp"
#include "ofi/remote_address.hpp"
#include "ofi/word_pool.hpp"

namespace penstock::ofi {

class EndWords : private base::NoCopy {
 public:
  struct Processes {
    fi_addr_t self, peer;
  };

  EndWords(WordPool& pool, const Processes& processes)  // throws base::Error
      : pool_(pool), processes_(processes), place_(pool.take()) {}
  // They serve another end, unless somebody may still write them: then they are lost, which happens
  // after failures alone.
  ~EndWords() {
    if (!may_be_written_) pool_.give(place_);
  }

  PairWords& operator*() const noexcept { return *place_.words; }
  PairWords* operator->() const noexcept { return place_.words; }
  RemoteAddress address() const noexcept { return place_.region->at(place_.words); }
  fi_addr_t peer() const noexcept { return processes_.peer; }

  // The peer knows of them, and these are its own.
  void connect(const RemoteAddress& peers) noexcept {
    peers_ = peers;
    may_be_written_ = true;
  }
  // The peer may know of them, though nothing has been heard of it.
  void have_been_told() noexcept { may_be_written_ = true; }
  // The peer writes them no more.
  void are_free() noexcept { may_be_written_ = false; }

  Target own(const std::uint64_t& word) const noexcept {
    return {processes_.self, place_.region->address(&word), place_.region->key()};
  }
  Target remote(std::size_t offset) const noexcept {
    return {processes_.peer, peers_.address + offset, peers_.key};
  }
  // Where a word, or a byte of none, leaves from and is brought.
  Source local(const std::uint64_t& word,
               std::size_t bytes = sizeof(std::uint64_t)) const noexcept {
    return {&word, bytes, place_.region->descriptor()};
  }

 private:
  WordPool& pool_;
  const Processes processes_;
  const WordPool::Position place_;
  RemoteAddress peers_;
  bool may_be_written_ = false;
};

}  // namespace penstock::ofi
