// SPDX-License-Identifier: Apache-2.0
#include "plan/operation_stream.hpp"

#include <algorithm>
#include <cstring>

#include "plan/accumulate.hpp"

namespace penstock::plan {

using transport::Operation;
using transport::Verb;

namespace {

constexpr std::size_t padded(std::size_t bytes) noexcept {
  return (bytes + sizeof(StreamWord) - 1) / sizeof(StreamWord) * sizeof(StreamWord);
}

StreamWord kind_of(const Operation& operation, bool apart) noexcept {
  return static_cast<StreamWord>(operation.verb) |
         static_cast<StreamWord>(operation.reduction) << 8 |
         static_cast<StreamWord>(operation.element) << 16 | static_cast<StreamWord>(apart) << 24;
}

}  // namespace

std::size_t words_of(const Operation& operation, bool apart) noexcept {
  return operation_header_words + (apart ? 0 : padded(operation.bytes) / sizeof(StreamWord));
}

void OperationWriter::begin(const Operation& operation, bool apart) noexcept {
  header_ = {operation.displacement, operation.bytes, kind_of(operation, apart)};
  header_at_ = 0;
  from_ = static_cast<const std::byte*>(operation.origin);
  bytes_ = apart ? 0 : operation.bytes;
  through_ = 0;
}

std::size_t OperationWriter::write(std::byte* to, std::size_t room) noexcept {
  std::size_t written = 0;
  while (written < room && header_at_ < header_.size()) {
    std::memcpy(to + written, &header_[header_at_++], sizeof(StreamWord));
    written += sizeof(StreamWord);
  }
  const std::size_t count = std::min(room - written, bytes_ - through_);
  if (count == 0) return written;
  std::memcpy(to + written, from_ + through_, count);
  through_ += count;
  return written + padded(count);
}

std::size_t OperationReader::read(const std::byte* from, std::size_t bytes,
                                  std::byte* window) noexcept {
  std::size_t taken = 0;
  while (taken < bytes && header_at_ < header_.size()) {
    std::memcpy(&header_[header_at_++], from + taken, sizeof(StreamWord));
    taken += sizeof(StreamWord);
    if (header_at_ == header_.size()) take_header();
  }
  if (header_at_ < header_.size()) return taken;
  const std::size_t count = std::min(bytes - taken, bytes_ - through_);
  if (count == 0) return taken;
  apply(from + taken, count, window);
  through_ += count;
  return taken + padded(count);
}

void OperationReader::take_header() noexcept {
  operation_.displacement = header_[0];
  operation_.bytes = header_[1];
  operation_.verb = static_cast<Verb>(header_[2] & 0xff);
  operation_.reduction = static_cast<transport::Reduction>(header_[2] >> 8 & 0xff);
  operation_.element = static_cast<transport::Element>(header_[2] >> 16 & 0xff);
  apart_ = (header_[2] >> 24 & 1) != 0;
  bytes_ = apart_ ? 0 : operation_.bytes;
  through_ = 0;
}

void OperationReader::apply(const std::byte* from, std::size_t bytes,
                            std::byte* window) const noexcept {
  std::byte* const to = window + operation_.displacement + through_;
  if (operation_.verb == Verb::accumulate)
    accumulate(operation_, to, from, bytes);
  else
    std::memcpy(to, from, bytes);
}

}  // namespace penstock::plan
