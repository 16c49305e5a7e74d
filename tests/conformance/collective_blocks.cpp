// SPDX-License-Identifier: Apache-2.0
#include "conformance/collective_blocks.hpp"

#include <algorithm>

namespace penstock::test {
namespace {

constexpr std::size_t border_bytes = 16;
constexpr std::byte border_byte{0xa5};

}  // namespace

GuardedBlock::GuardedBlock(std::size_t bytes, bool odd, Memory kind)
    : bytes_(bytes),
      kind_(kind),
      before_(border_bytes + (odd ? 1 : 0)),
      memory_(allocate(kind, all_bytes(), border_byte)),
      mirror_(make_mirror(memory_, all_bytes())) {
  std::fill_n(mirror_, all_bytes(), border_byte);
}

GuardedBlock::~GuardedBlock() {
  free_mirror(mirror_, memory_);
  free(kind_, memory_);
}

std::size_t GuardedBlock::all_bytes() const {
  return before_ + bytes_ + border_bytes;
}

void GuardedBlock::clear() {
  std::fill_n(data(), bytes_, std::byte{});
}

void GuardedBlock::to_device() {
  if (mirror_ != memory_) copy_bytes(memory_, mirror_, all_bytes());
}

void GuardedBlock::from_device() {
  if (mirror_ != memory_) copy_bytes(mirror_, memory_, all_bytes());
}

bool GuardedBlock::borders_hold() const {
  const auto is_untouched = [](std::byte each) { return each == border_byte; };
  return std::all_of(mirror_, data(), is_untouched) &&
         std::all_of(data() + bytes_, mirror_ + all_bytes(), is_untouched);
}

AlgorithmInfo::AlgorithmInfo(const std::string& algorithm) {
  if (algorithm.empty()) return;
  MPI_Info_create(&info_);
  MPI_Info_set(info_, "penstock_algorithm", algorithm.c_str());
}

AlgorithmInfo::~AlgorithmInfo() {
  if (info_ != MPI_INFO_NULL) MPI_Info_free(&info_);
}

bool run_epochs(MPI_Request request, const std::vector<GuardedBlock*>& blocks, int epochs,
                const std::function<void(int)>& fill, const std::function<void(int)>& check) {
  const int code = PST_Match(&request, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) {
    EXPECT_EQ(kind_of(code), PST_ERROR_UNSUPPORTED) << describe(code);
    MPI_Request_free(&request);
    return false;
  }
  Lane lane;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    fill(epoch);
    for (GuardedBlock* block : blocks) block->to_device();
    if (epoch % 2 == 0) {
      EXPECT_PST(PST_Enqueue_run(lane.queue(), &request));
    } else {
      lane.start(request);
      lane.wait(request);
    }
    lane.finish();
    for (GuardedBlock* block : blocks) block->from_device();
    check(epoch);
  }
  EXPECT_PST(PST_Request_free(&request));
  return true;
}

}  // namespace penstock::test
