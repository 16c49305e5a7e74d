// SPDX-License-Identifier: Apache-2.0
#include "peer_gpu/device_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "device/gpu/runtime.hpp"
#include "peer_gpu/message_words.hpp"
#include "peer_gpu/pair_batch.hpp"
#include "peer_gpu/shape.hpp"
#include "peer_gpu/window_batch.hpp"
#include "plan/broken_promise.hpp"
#include "plan/peer_closed.hpp"
#include "protocol/team.hpp"

namespace penstock::peer_gpu {

using base::Error;
using base::ErrorKind;
using gpu::LaunchStep, gpu::Standing;
using protocol::Mode;

namespace {

// What the peer cannot do without being told: small standard and ready sends find their slot free,
// and large ready sends rely on the promise alone.
bool start_has_work(const Pair& pair) noexcept {
  if (pair.path == Path::window) return !pair.sends;  // a post
  if (pair.sends || (pair.mode == protocol::Mode::ready && pair.checks_ready)) return true;
  return is_ring(pair.path) ? pair.mode == protocol::Mode::synchronous
                            : pair.mode != protocol::Mode::ready;
}

bool wait_has_work(const Pair& pair) noexcept {
  return !pair.sends || !is_ring(pair.path) ||
         protocol::ring::send_has_wait(pair.mode, rings_are_deferred);
}

PairBatch& pairs_on(const KernelQueue& queue) noexcept {
  return static_cast<PairBatch&>(*queue.batch(LaunchStep::peer));
}

WindowBatch& windows_on(const KernelQueue& queue) noexcept {
  return static_cast<WindowBatch&>(*queue.batch(LaunchStep::window));
}

std::uint64_t bytes_of(std::span<const transport::Operation> list) noexcept {
  std::uint64_t bytes = 0;
  for (const transport::Operation& operation : list) bytes += operation.bytes;
  return bytes;
}

Pair behind_gate(Pair pair) noexcept {
  pair.gated = true;
  return pair;
}

Pair with(Pair pair, const KernelShape& shape) noexcept {
  pair.blocks = shape.blocks;
  pair.threads = shape.threads;
  return pair;
}

}  // namespace

DevicePlan::DevicePlan(DevicePair pair, KernelWatchdog& watchdog, unsigned most_blocks)
    : fixed_(std::move(pair)), most_blocks_(most_blocks) {
  try {
    fixed_.pair.id = enter(watchdog);
  } catch (...) {
    // The peer's kernels may store into this half already.
    leave_at(1);
    fixed_.retired->add(std::move(fixed_.holding), &fixed_.peer_end->gone);
    throw;
  }
  if (fixed_.packed) fixed_.packed->set_id(fixed_.pair.id);
  start_ = with(fixed_.pair, shape_of_start(fixed_.pair, most_blocks));
  wait_ = with(fixed_.pair, shape_of_wait(fixed_.pair, most_blocks));
  if (!of_window()) {
    start_.work = work_of_start(start_);
    wait_.work = work_of_wait(wait_);
  }
  starts_by_kernel_ = start_has_work(fixed_.pair);
  waits_by_kernel_ = wait_has_work(fixed_.pair);
  if (fixed_.gate != nullptr && start_passes_gate(fixed_.pair)) start_gating_ = gating(true);
  if (fixed_.gate != nullptr && wait_passes_gate(fixed_.pair)) wait_gating_ = gating(false);
  if (start_opens_gate(fixed_.pair)) start_.posts = fixed_.peer_gate;
  if (wait_opens_gate(fixed_.pair)) wait_.posts = fixed_.peer_gate;
}

Gating DevicePlan::gating(bool starts) const noexcept {
  return {fixed_.gate,
          fixed_.pair.words,
          fixed_.pair.notice,
          fixed_.pair.id,
          starts,
          static_cast<std::uint8_t>(starts ? ring_slots : 0)};
}

bool DevicePlan::at_gates(KernelQueue& queue, const device::Stream& stream) const noexcept {
  const bool wanted =
      queue.choose_standing(static_cast<const device::gpu::Stream&>(stream)) == Standing::at_gates;
  return wanted || fixed_.always_at_gates;
}

DevicePlan::~DevicePlan() {
  leave_watch();
  fixed_.retired->add(std::move(fixed_.holding), &fixed_.peer_end->gone);
}

void DevicePlan::check_stream(const device::Stream& stream) const {
  gpu::require_device(label(), stream, fixed_.arena->device());
}

void DevicePlan::start(device::Stream& stream, transport::Sink& sink) {
  KernelQueue& queue = kernel_queue_on(stream, sink);
  // What the peer has of the memory may be gone with it.
  if (peer_dead())
    return queue.fail(
        Error(ErrorKind::peer_dead,
              fmt::format("{}: rank {} has ended: see its output", label(), fixed_.peer)));
  if (given_up_by_host_.load(std::memory_order_relaxed))
    return queue.fail(error_of(Failure::given_up));
  if (!starts_by_kernel_) return;
  if (of_window()) return windows_on(queue).add({start_, WindowCall::post}, {}, {}, gathered_);
  if (fixed_.packed) fixed_.packed->before_start(queue);
  if (at_gates(queue, stream) && start_gating_)
    pairs_on(queue).start(behind_gate(start_), start_gating_);
  else
    pairs_on(queue).start(start_, Gating{});
}

void DevicePlan::wait(device::Stream& stream, transport::Sink& sink) {
  KernelQueue& queue = kernel_queue_on(stream, sink);
  if (!waits_by_kernel_) return;
  const bool gated = at_gates(queue, stream) && wait_gating_;
  if (of_window()) return wait_in_window(queue, gated);
  if (gated)
    pairs_on(queue).wait(behind_gate(wait_), wait_gating_);
  else
    pairs_on(queue).wait(wait_, Gating{});
  if (fixed_.packed) fixed_.packed->after_wait(queue);
}

// A list that no launch can carry goes in several.
void DevicePlan::wait_in_window(KernelQueue& queue, bool gated) noexcept {
  WindowItem item{gated ? behind_gate(wait_) : wait_,
                  fixed_.lists != nullptr ? WindowCall::complete : WindowCall::wait};
  std::span<const transport::Operation> list;
  if (fixed_.lists != nullptr) {
    const transport::EpochList& epoch = fixed_.lists->next();
    list = epoch.operations;
    item.promise = epoch.promise;
    item.stored = epoch.step == transport::AccessStep::close;
    if (epoch.step == transport::AccessStep::open) item.call = WindowCall::open;
  }
  const std::size_t most = windows_on(queue).most_operations_of_a_kernel();
  // What kernels have stored is told behind a fence, which a slot does without.
  item.eager_cells = list.size() <= most && !item.stored ? eager_cells(list) : 0;
  Gating gating = gated ? wait_gating_ : Gating{};
  // Without the post, epoch e needs FIN of e - 4, which the target's wait of e - 3 stores. Posts
  // open gates, so it stands until that of e - 3.
  if (item.eager_cells != 0 || item.promise != transport::Promise::none)
    gating.epochs_back = ring_slots - 1;
  do {
    const auto some = list.first(std::min(list.size(), most));
    list = list.subspan(some.size());
    item.ends_epoch = list.empty();
    if (fixed_.lists != nullptr) {
      const KernelShape shape = item.eager_cells != 0
                                    ? shape_of_slot(item.eager_cells)
                                    : shape_of_complete(bytes_of(some), most_blocks_);
      static_cast<Pair&>(item) = with(item, shape);
    }
    windows_on(queue).add(item, gating, some, gathered_);
  } while (!item.ends_epoch);
}

// 0: it moves from memory to memory. Puts of no bytes take no cell.
std::uint32_t DevicePlan::eager_cells(std::span<const transport::Operation> list) const noexcept {
  if (list.size() > most_eager_puts || bytes_of(list) > fixed_.eager_max) return 0;
  std::uint32_t cells = 0;
  for (const transport::Operation& operation : list) {
    if (operation.verb != transport::Verb::put) return 0;
    cells += cells_for(operation.bytes);
  }
  return cells <= fixed_.pair.units ? cells : 0;
}

// ---- Kernels of the program's -------------------------------------------------------------------

const char* DevicePlan::why_no_handle() const noexcept {
  if (of_window()) return "a window's epochs have no handles";
  if (fixed_.packed)
    return "its datatype has gaps that kernels of the library pack: send rows of whole words of 4 "
           "bytes, or pack in the kernel";
  if (!is_ring(fixed_.pair.path))
    return "it is larger than PENSTOCK_CUDA_EAGER_MAX: raise that on both ends, or enqueue it";
  if (fixed_.gate != nullptr || fixed_.peer_gate != nullptr)
    return "ranks take turns on its GPU, or many wait there: use the multi-process service, or "
           "fewer requests";
  return nullptr;
}

void DevicePlan::enter_kernels(device::Stream& stream, transport::Sink& sink, unsigned wait_blocks,
                               std::span<std::byte> handle) {
  if (const char* const why = why_no_handle())
    throw Error(ErrorKind::unsupported, fmt::format("{}: kernels get no handle: {}", label(), why));
  KernelQueue& queue = kernel_queue_on(stream, sink);
  const auto is_kept = [&](const KernelQueue::Memory& kept) {
    return kept.report == queue.memory().report;
  };
  if (std::ranges::none_of(reports_, is_kept)) reports_.push_back(queue.memory());
  if (life_ == 0) settle_before_kernels(queue);
  const DeviceHalf half = handle_on(queue, wait_blocks);
  std::memcpy(handle.data(), &half, sizeof half);
}

// A start of the program's kernel waits for nothing, as its blocks may fill the GPU: so from now on
// a small send has a wait, and so has the one that may be left.
void DevicePlan::settle_before_kernels(KernelQueue& queue) {
  watch_in_kernels();
  static std::atomic<Word64> lives{0};
  // Large and odd: what other words count is not taken for it where they lie in this memory later.
  const Word64 life =
      (lives.fetch_add(1, std::memory_order_relaxed) + 1) * 0x9e3779b97f4a7c15u | 1u << 31;
  fixed_.arena->write(reinterpret_cast<std::byte*>(&words_of(fixed_.pair).life), &life,
                      sizeof life);
  life_ = life;
  if (waits_by_kernel_) return;
  waits_by_kernel_ = true;
  wait_.work = work_that_settles();
  pairs_on(queue).wait(wait_, Gating{});
}

DeviceHalf DevicePlan::handle_on(const KernelQueue& queue, unsigned wait_blocks) const noexcept {
  const Pair& pair = fixed_.pair;
  const gpu::Launch reports = queue.launch_on(nullptr);
  DeviceHalf half;
  half.words = pair.words;
  half.cts = &pair.sender->cts;
  half.fin = pair.sender->fin;
  half.ring = ring_of(pair);
  half.buffer = pair.buffer;
  half.notice = pair.notice;
  half.report = reports.report;
  half.queue_failure = reports.queue_failure;
  half.life = life_;
  half.bytes = pair.bytes;
  half.units = pair.units;
  half.part_units = static_cast<std::uint32_t>(pair.share);
  half.id = pair.id;
  half.wait_blocks = wait_blocks;
  half.rows = pair.rows;
  half.parts = pair.parts;
  half.sends = pair.sends;
  half.wide = pair.path == Path::wide_ring;
  half.in_words = fit_of(pair) == Fit::words;
  half.checks_ready = pair.checks_ready && pair.mode == Mode::ready;
  half.mode = pair.mode;
  return half;
}

void DevicePlan::clear_life() noexcept {
  try {
    const Word64 none = 0;
    fixed_.arena->write(reinterpret_cast<std::byte*>(&words_of(fixed_.pair).life), &none,
                        sizeof none);
  } catch (const Error&) {
    // The device does nothing any more.
  }
}

// The last epoch is known to the device alone. A handle that outlives the request finds another
// life.
bool DevicePlan::prepare_close(device::gpu::Stream& stream) noexcept {
  if (life_ != 0 && cudaMemsetAsync(&words_of(fixed_.pair).life, 0, sizeof(Word64),
                                    stream.handle()) != cudaSuccess)
    return false;
  return cudaMemcpyAsync(&notice().last, fixed_.private_words.get(), sizeof(PartWords),
                         cudaMemcpyDeviceToHost, stream.handle()) == cudaSuccess;
}

void DevicePlan::end_close(void (*ended)(void*), void* argument) noexcept {
  leave_at(first_not_served(notice().last));
  ended(argument);  // last: the plan may be gone when it returns
}

void DevicePlan::close() {
  if (life_ != 0) clear_life();
  PartWords words{};
  fixed_.arena->read(&words, fixed_.private_words.get(), sizeof words);
  leave_at(first_not_served(words));
}

// A message of the ring has been sent by its start, though the next start is yet to see to its
// wait.
protocol::Epoch DevicePlan::first_not_served(const PartWords& words) const noexcept {
  if (words.given_up != 0) return protocol::team::epoch_given_up(words.given_up);
  const protocol::Epoch next = words.done + 1;
  const bool sent = fixed_.pair.sends && is_ring(fixed_.pair.path) && has_started(words, next);
  return sent ? next + 1 : next;
}

transport::PairState DevicePlan::pair_state(protocol::Epoch epoch) const noexcept {
  using transport::PairState;
  if (closed_.load(std::memory_order_relaxed)) return PairState::given_up;
  return peer_closed(epoch) ? PairState::peer_closed : PairState::serves;
}

bool DevicePlan::peer_closed(protocol::Epoch epoch) const noexcept {
  // Acquire: what the peer did before it closed is seen with it.
  return protocol::closed_before(
      std::atomic_ref(fixed_.peer_end->closed).load(std::memory_order_acquire), epoch);
}

void DevicePlan::close_at(protocol::Epoch first_not_served) noexcept {
  if (closed_.exchange(true)) return;
  std::atomic_ref(fixed_.our_end->closed).store(first_not_served, std::memory_order_release);
}

// In the order of the stream. The peer may reuse its memory once this has come and it has left too:
// no kernel of ours stores there afterwards. CLOSED alone does not say so: when a wait has failed,
// blocks of its kernel may still have stores on their way, and others may not have begun.
void DevicePlan::leave_at(protocol::Epoch first_not_served) noexcept {
  close_at(first_not_served);
  std::atomic_ref(fixed_.our_end->gone).store(1, std::memory_order_release);
}

// Epochs are known to the device alone, so it is all of them: what the peer has of the messages, it
// may still take. If the device still works, its kernels learn of it as well, and the peer's, whose
// copies do not count any more.
void DevicePlan::poison() noexcept {
  if (given_up_by_host_.exchange(true)) return;
  const device::gpu::DeviceGuard guard(fixed_.arena->device());
  const auto set_to_one = [&](Word64& word) {
    if (cudaMemsetAsync(&word, 1, 1, fixed_.arena->stream()) != cudaSuccess)
      (void)cudaGetLastError();
  };
  set_to_one(fixed_.pair.words->given_up);
  if (!is_ring(fixed_.pair.path) && !peer_dead())
    set_to_one(fixed_.pair.sends ? fixed_.pair.receiver->closed : fixed_.pair.sender->closed);
  close_at(1);
}

void DevicePlan::follow(const KernelQueue& failed) noexcept {
  if (fixed_.packed && fixed_.packed->unpacks() && used_on(failed)) poison();
  const protocol::Epoch given_up =
      std::atomic_ref(notice().given_up).load(std::memory_order_acquire);
  if (given_up != 0) close_at(given_up);
}

protocol::Epoch DevicePlan::awaited_epoch() const noexcept {
  return std::atomic_ref(notice().awaited).load(std::memory_order_acquire);
}

protocol::Epoch DevicePlan::epoch_at_gate() const noexcept {
  return std::atomic_ref(notice().gated).load(std::memory_order_acquire);
}

// Release: what the kernel behind it is to find comes before.
void DevicePlan::open_gate() noexcept {
  if (fixed_.gate != nullptr)
    std::atomic_ref(fixed_.gate->words.open).store(1, std::memory_order_release);
}

void DevicePlan::note_death() noexcept {
  if (peer_dead()) std::atomic_ref(notice().peer_dead).store(1, std::memory_order_release);
}

void DevicePlan::give_up_if_peer_is_dead() noexcept {
  if (peer_dead()) poison();
}

// A wait that is hopeless goes on looking until it is released: what it is for may have come just
// before its sender went.
void DevicePlan::look_for_lost_cause() noexcept {
  const protocol::Epoch epoch = reported_epoch();
  try {
    if (peer_closed(epoch))
      cancel_wait(plan::peer_closed_error(fixed_.peer, epoch));
    else if (peer_dead())
      cancel_wait(plan::dead_error(fixed_.peer, epoch));
  } catch (const std::exception&) {
    // No memory for a text: the next poll tries again.
  }
}

Error DevicePlan::error_of(Failure failure) const {
  switch (failure) {
    case Failure::not_ready:
      if (of_window()) return Error(ErrorKind::ready, label() + ": " + plan::broken_promise);
      return Error(
          ErrorKind::ready,
          label() +
              ": ready send started before its receive: use a standard send, or order the start");
    case Failure::promise_broken:
      return Error(ErrorKind::ready,
                   label() +
                       ": a later ready send was started before its receive: use standard sends, "
                       "or order their starts");
    case Failure::peer_closed:
      return Error(ErrorKind::peer_freed,
                   fmt::format("{}: rank {} has freed its {}, or given it up, and what was copied "
                               "since is lost",
                               label(), fixed_.peer, of_window() ? "window" : "request"));
    case Failure::given_up:
      if (peer_dead()) return plan::dead_error(fixed_.peer, reported_epoch());
      return Error(ErrorKind::transport,
                   fmt::format("{}: the pair was given up when another queue failed; free the {}",
                               label(), of_window() ? "window" : "request"));
    case Failure::started_twice:
      return started_twice();
    case Failure::not_started:
      return Error(ErrorKind::not_started,
                   label() + ": a kernel waits for it without having started it: start it first");
    case Failure::waits_late:
      return Error(ErrorKind::argument,
                   label() +
                       ": a kernel waits for it in a block beyond the wait_blocks of its "
                       "handle: wait in the first blocks, or look by wait_for()");
    case Failure::block_shape:
      return Error(ErrorKind::argument,
                   label() +
                       ": a kernel serves it by blocks of several dimensions, or of no "
                       "multiple of 8 threads: its messages need such");
    case Failure::shares:
      return Error(ErrorKind::argument,
                   label() +
                       ": blocks of a kernel share its messages: those of synchronous sends are "
                       "received by one block");
    case Failure::handle_freed:
    case Failure::none:
    case Failure::released:
      break;
  }
  return Error(ErrorKind::internal, label() + ": failed without a reason");
}

std::string DevicePlan::describe() const {
  return fmt::format("epoch {}, {}, waits for {}", reported_epoch(), fixed_.path,
                     of_window()
                         ? (fixed_.pair.sends ? "the target's post" : "the origin's complete")
                     : fixed_.pair.sends ? "the receive"
                                         : "the send") +
         (life_ != 0 ? ", perhaps in a kernel of the program's" : "");
}

}  // namespace penstock::peer_gpu
