// SPDX-License-Identifier: Apache-2.0
#include "datatype/signature.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace penstock::datatype {

namespace {

std::string text_of(const Signature::Run& run) {
  return fmt::format("{} of {} bytes",
                     run.kind == ElementKind::integer ? "an integer" : "a floating-point number",
                     run.bytes);
}

}  // namespace

// Where a walk over all elements stands.
class Signature::Cursor {
 public:
  explicit Cursor(const Signature& signature) : signature_(signature) { begin_run(); }

  bool at_end() const noexcept { return signature_.runs_.empty() || repetition_ == repetitions(); }
  const Run& run() const noexcept { return signature_.runs_[run_]; }
  std::uint64_t left() const noexcept { return left_; }
  void advance(std::uint64_t elements) noexcept {
    left_ -= elements;
    if (left_ > 0) return;
    if (++run_ == signature_.runs_.size()) {
      run_ = 0;
      ++repetition_;
    }
    begin_run();
  }

 private:
  std::uint64_t repetitions() const noexcept { return signature_.repetitions_; }
  void begin_run() noexcept {
    if (!at_end()) left_ = run().count;
  }

  const Signature& signature_;
  std::uint64_t repetition_ = 0;
  std::size_t run_ = 0;
  std::uint64_t left_ = 0;
};

Signature Signature::of_anything() noexcept {
  Signature signature;
  signature.anything_ = true;
  return signature;
}

void Signature::repeat(std::uint64_t count) {
  if (count == 0) {
    *this = Signature();
  } else if (runs_.size() == 1) {
    runs_.front().count *= count;
  } else {
    repetitions_ *= count;
  }
}

void Signature::append(const Signature& other) {
  if (anything_ || other.anything_) {
    *this = of_anything();
  } else if (runs_.empty()) {
    *this = other;
  } else if (runs_.size() > 1 && runs_ == other.runs_) {
    repetitions_ += other.repetitions_;
  } else if (!other.runs_.empty()) {
    Signature behind = other;
    if (!unroll() || !behind.unroll() || runs_.size() + behind.runs_.size() > most) {
      *this = of_anything();
    } else {
      for (const Run& run : behind.runs_) add(run);
    }
  }
}

bool Signature::unroll() {
  if (repetitions_ > most / runs_.size()) return false;
  const std::vector<Run> once = std::exchange(runs_, {});
  for (; repetitions_ > 1; --repetitions_)
    for (const Run& run : once) add(run);
  for (const Run& run : once) add(run);
  return true;
}

void Signature::add(const Run& run) {
  if (!runs_.empty() && runs_.back().kind == run.kind && runs_.back().bytes == run.bytes)
    runs_.back().count += run.count;
  else
    runs_.push_back(run);
}

std::vector<std::byte> Signature::to_bytes() const {
  if (anything_) return {};
  std::vector<std::byte> bytes(sizeof repetitions_ + runs_.size() * sizeof(Run));
  std::memcpy(bytes.data(), &repetitions_, sizeof repetitions_);
  if (!runs_.empty())
    std::memcpy(bytes.data() + sizeof repetitions_, runs_.data(), runs_.size() * sizeof(Run));
  return bytes;
}

Signature Signature::from_bytes(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof repetitions_) return of_anything();
  Signature signature;
  std::memcpy(&signature.repetitions_, bytes.data(), sizeof repetitions_);
  signature.runs_.resize((bytes.size() - sizeof repetitions_) / sizeof(Run));
  if (!signature.runs_.empty())
    std::memcpy(signature.runs_.data(), bytes.data() + sizeof repetitions_,
                signature.runs_.size() * sizeof(Run));
  return signature;
}

std::optional<std::string> Signature::difference(const Signature& send, const Signature& receive) {
  if (send.anything_ || receive.anything_) return std::nullopt;
  if (send.runs_ == receive.runs_) return std::nullopt;  // what is too long is another matter
  constexpr int most_looks = 1 << 20;
  std::uint64_t element = 0;
  Cursor sent(send), received(receive);
  for (int look = 0; look < most_looks && !sent.at_end() && !received.at_end(); ++look) {
    if (sent.run().kind != received.run().kind || sent.run().bytes != received.run().bytes)
      return fmt::format("element {} is {} in the send and {} in the receive", element,
                         text_of(sent.run()), text_of(received.run()));
    const std::uint64_t both = std::min(sent.left(), received.left());
    element += both;
    sent.advance(both);
    received.advance(both);
  }
  return std::nullopt;
}

}  // namespace penstock::datatype
