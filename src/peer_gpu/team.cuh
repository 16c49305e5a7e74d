// SPDX-License-Identifier: Apache-2.0
// One block of a kernel that copies a message together with others (protocol/team.hpp). All its
// threads copy; thread 0 makes each access to a word.
#pragma once

#include "gpu/block.cuh"
#include "gpu/copy.cuh"
#include "gpu/copy_rows.cuh"
#include "gpu/poll_timer.cuh"
#include "peer_gpu/batch.hpp"
#include "protocol/team.hpp"

namespace penstock::peer_gpu {

using gpu::BlockIndex, gpu::DeviceWord, gpu::PollTimer, gpu::Request, gpu::SystemWord, gpu::agree,
    gpu::copy_bytes, gpu::copy_rows;

namespace team = protocol::team;

using team::Phase;
using team::Task;

class Team {
 public:
  __device__ Team(const Pair& pair, const BlockIndex& place, Phase phase, Word64 epoch)
      : pair_(pair),
        place_(place),
        epoch_(epoch),
        kernel_(team::kernel_of(epoch, phase)),
        phase_(phase) {}

  // The leader: the message is to be copied.
  __device__ void lead(Task task) {
    commanded_ = true;
    team::command(*this, kernel_, task);
    do_parts(task);
  }

  // The leader: nothing was to be copied in this kernel, the others may go.
  __device__ void dismiss() {
    if (commanded_) return;
    commanded_ = true;
    team::command(*this, kernel_, Task::none);
  }

  // later: it has been asked to leave, and nothing has been done.
  enum class Help : std::uint8_t { not_needed, needed, no_leader, later };

  // The others. `said` (may be null): words of the parts that the peer writes; once it has said
  // ours, they are its work. Not `willing`: this block copies nothing, whatever the command is.
  // `late`, asked by lane 0 after each PollTimer::polls_between polls: what is asked of the block.
  // When the wait is to end, a leader that has a place says so soon.
  template <class Late>
  __device__ Help help(Word64* said, bool willing, Late late) {
    constexpr Word64 nobody = 1u << team::task_bits, not_yet = nobody + 1;
    Word64 word = 0;
    if (threadIdx.x < warp) word = look_for_command(said, late);
    word = agree(word == no_command  ? nobody
                 : word == no_longer ? not_yet
                                     : static_cast<Word64>(team::task_of(word)));
    if (word == nobody) return Help::no_leader;
    if (word == not_yet) return Help::later;
    const auto task = static_cast<Task>(word);
    if (task == Task::none) return Help::not_needed;
    if (willing)
      do_parts(task);
    else
      be_through();
    return Help::needed;
  }
  // This block has copied, or will not.
  __device__ void be_through() {
    if (phase_ == Phase::start) return;
    counted_ = true;
    through_ = team::count_through(*this);
  }

  // A fence, sequentially consistent, lies behind what this block has copied.
  __device__ bool fenced() const { return fenced_; }
  // This block is counted, and its kernel is one that tells of failed copies.
  __device__ bool counted() const { return counted_; }

  // What this block has to tell, as thread 0 knows it.
  __device__ team::Telling end_well() { return team::end_well(*this, through_); }
  __device__ team::Telling end_badly(bool first) { return team::end_badly(*this, through_, first); }

  // What protocol/team.hpp asks of a block's hands.
  __device__ unsigned index() const { return place_.index; }
  __device__ unsigned blocks() const { return place_.blocks; }
  __device__ unsigned parts() const { return pair_.parts; }
  __device__ void store_command(Word64 command) const {
    if (threadIdx.x == 0)
      DeviceWord(pair_.words->command).store(command, ::cuda::memory_order_release);
  }
  __device__ void fence() {
    fenced_ = true;
    __syncthreads();
    if (threadIdx.x == 0)
      ::cuda::atomic_thread_fence(::cuda::memory_order_seq_cst, ::cuda::thread_scope_system);
  }
  __device__ void say(Task task, unsigned part, Word64 epoch) const {
    Word64* const words = task == Task::push ? pair_.receiver->done : pair_.sender->fin;
    if (threadIdx.x == 0) SystemWord(words[part]).store(epoch, ::cuda::memory_order_relaxed);
  }
  __device__ Word64 add_through(Word64 share) const {
    if (threadIdx.x != 0) return 1;  // thread 0 alone counts
    return DeviceWord(words_of(pair_).through).fetch_add(share, ::cuda::memory_order_relaxed) +
           share;
  }
  __device__ Word64 mark_through(Word64 bits) const {
    return DeviceWord(words_of(pair_).through).fetch_or(bits, ::cuda::memory_order_acq_rel);
  }
  __device__ static void acquire_fence() {
    ::cuda::atomic_thread_fence(::cuda::memory_order_acquire, ::cuda::thread_scope_device);
  }
  __device__ void copy(Task task, unsigned part) const {
    const Word64 begin = part * pair_.share;
    if (begin >= pair_.bytes) return;
    const Word64 bytes = min(pair_.bytes - begin, pair_.share);
    const bool pushes = task == Task::push;
    std::byte* const to = pushes ? pair_.other : pair_.buffer;
    const std::byte* const from = pushes ? pair_.buffer : pair_.other;
    if (pair_.rows.has_gaps() || pair_.other_rows.has_gaps())
      copy_rows({to, pushes ? pair_.other_rows : pair_.rows},
                {from, pushes ? pair_.rows : pair_.other_rows}, begin, bytes);
    else
      copy_bytes(to + begin, from + begin, bytes);
  }

 private:
  static constexpr unsigned warp = 32;
  static constexpr unsigned polls_for_leader = 10;  // after the wait was to end
  static constexpr Word64 no_command = ~Word64{0}, no_longer = no_command - 1;

  // A warp's. For the last time after it was to end: what is waited for may have come right before.
  template <class Late>
  __device__ Word64 look_for_command(Word64* said, Late late) const {
    unsigned lates = 0;
    for (unsigned looks = 1;; ++looks) {
      Word64 word = 0;
      if (threadIdx.x == 0)
        word = DeviceWord(pair_.words->command).load(::cuda::memory_order_acquire);
      word = __shfl_sync(~0u, word, 0);
      if (team::is_for(word, kernel_)) return word;
      if (said != nullptr && all_said(said)) return team::command_of(kernel_, Task::none);
      if (lates == polls_for_leader) return no_command;
      if (looks % PollTimer::polls_between != 0) continue;
      const auto request = static_cast<unsigned>(threadIdx.x == 0 ? late() : Request::go_on);
      const auto asked = static_cast<Request>(__shfl_sync(~0u, request, 0));
      if (asked == Request::leave) return no_longer;
      if (asked == Request::end) ++lates;
    }
  }

  // A warp calls it, which looks at all of the block's parts at once. Acquire: what the peer has
  // stored into our buffer, or loaded from it, comes before.
  __device__ bool all_said(Word64* said) const {
    bool all = true;
    for (unsigned part = place_.index + threadIdx.x * place_.blocks; part < pair_.parts;
         part += warp * place_.blocks)
      all = all && SystemWord(said[part]).load(::cuda::memory_order_acquire) >= epoch_;
    return __all_sync(~0u, all) != 0;
  }

  __device__ void do_parts(Task task) {
    team::copy_parts(*this, task, epoch_);
    be_through();
  }

  const Pair& pair_;
  BlockIndex place_;
  Word64 epoch_;
  Word64 kernel_;
  Word64 through_ = 0;
  Phase phase_;
  bool commanded_ = false;
  bool fenced_ = false;
  bool counted_ = false;
};

}  // namespace penstock::peer_gpu
