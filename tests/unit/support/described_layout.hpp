// SPDX-License-Identifier: Apache-2.0
// The layout of a message with gaps, without an MPI datatype.
#pragma once

#include <memory>
#include <utility>

#include "group/layout.hpp"

namespace penstock::test {

class DescribedLayout final : public group::Layout {
 public:
  explicit DescribedLayout(datatype::Segments segments)
      : segments_(std::make_shared<const datatype::Segments>(std::move(segments))) {}
  bool contiguous() const noexcept override { return false; }
  std::int64_t lowest() const noexcept override { return 0; }
  const std::shared_ptr<const datatype::Segments>& segments() const noexcept override {
    return segments_;
  }
  datatype::Signature signature() const override { return {}; }

 private:
  std::shared_ptr<const datatype::Segments> segments_;
};

}  // namespace penstock::test
