// SPDX-License-Identifier: Apache-2.0
// Moves libfabric along: posts deferred operations, rings doorbells, lets the provider make
// progress and looks at what is under way.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "group/world.hpp"
#include "ofi/deferred_queue.hpp"
#include "ofi/endpoint_names.hpp"
#include "ofi/engine_client.hpp"
#include "ofi/fabric.hpp"
#include "ofi/gpu_memory.hpp"
#include "ofi/pair_end.hpp"
#include "ofi/window_origin.hpp"
#include "ofi/window_target.hpp"
#include "plan/active_list.hpp"
#include "plan/progress_engine.hpp"

namespace penstock::ofi {

class OfiEngine final : public plan::ProgressEngine<EngineClient> {
 public:
  struct OfiOptions {
    plan::ProgressOptions progress;
    unsigned slots;
    std::size_t eager_max;
    std::size_t window_eager_max;
    base::Throttle throttle;
    unsigned entries;
    std::optional<std::uint64_t> counter_limit;  // empty: what the counters can hold
  };

  OfiEngine(const OfiOptions& options, group::World& world,
            FabricInfo provider);  // throws base::Error
  ~OfiEngine() override;  // inside MPI_Finalize: delivers what is owed, then waits for the others

  const std::string& provider() const noexcept { return fabric_.provider(); }
  std::vector<std::byte> name() const { return fabric_.name(); }
  bool takes_gpu_memory() const noexcept { return ofi::takes_gpu_memory(fabric_.info()); }
  bool needs_registered_sources() const noexcept { return fabric_.has(FI_MR_LOCAL); }
  const base::Verdict& moves_without_gpu_runtime() const noexcept {
    return fabric_.moves_without_gpu_runtime();
  }
  // Keeps the name of its endpoint, which the provider is given with the first pair: a process has
  // pairs with few of many. Our own it gets at once. Throws base::Error, std::bad_alloc.
  void add_peer(int rank, std::span<const std::byte> name);

  // ---- At match, and when a window is attached; throw base::Error
  Cut cut_for(const transport::Message& send) const;
  std::shared_ptr<PairEnd> add(const transport::Message& message, protocol::Mode send_mode,
                               const Cut& cut);
  std::shared_ptr<WindowOrigin> add_origin(int peer);
  std::shared_ptr<WindowTarget> add_target(int peer, const transport::WindowMemory& ours);
  void enroll(const std::shared_ptr<End>& end) noexcept;  // it is complete
  // Its owner has no use for it any more.
  template <class ItsEnd>
  void release(std::shared_ptr<ItsEnd>& end) noexcept {
    const std::lock_guard lock(progress_lock_);
    if (!end->seat.enrolled) --promised_;
    end.reset();
  }

  // ---- Where starts are enqueued
  void expect_start(End& end) noexcept;  // one more start will come
  void reclaim() noexcept;               // PST_Queue_wait has ended

  // ---- On a stream's worker
  // See ProgressEngine::state_of_buffer. Asks the receiver's memory, which takes the network alone.
  plan::BufferState find_buffer(PairEnd& end, protocol::Epoch epoch, bool& asked) noexcept;
  // A message that has not been asked for is here.
  bool arrived(End& end, protocol::Epoch epoch) noexcept;
  // This half is gone: tells the peer.
  void close(End& end, protocol::Epoch closed) noexcept;
  // The same, and gives it up.
  void poison(End& end, protocol::Epoch closed, base::ErrorKind reason) noexcept;
  // Of what has been given up: nothing reads or writes the program's buffer any more.
  bool untouched(End& end) const noexcept;

  Statistics statistics() const noexcept;

 private:
  template <class Make>
  auto make_end(Make make);        // make() returns it; throws base::Error
  fi_addr_t address_of(int peer);  // throws base::Error
  bool take_ready() noexcept override;
  bool pass(EngineClient* favourite) noexcept override;
  bool under_way() const noexcept override { return !active_.empty() || !deferred_.empty(); }
  bool must_listen() const noexcept override { return !ends_.empty(); }
  bool owes_messages() const noexcept override;
  bool owes_notices() const noexcept override;

  bool move(EngineClient& client) noexcept;
  bool take_completions() noexcept;
  bool take_failure() noexcept;  // false: there is none
  void list(EngineClient& client) noexcept;
  void destroy_one_closed() noexcept;
  void let_some_part(std::size_t most) noexcept;
  void forget(End& end) noexcept;

  const OfiOptions options_;
  Fabric fabric_;
  WordPool words_;
  OperationPool operations_;
  std::vector<fi_addr_t> addresses_;  // by world rank
  EndpointNames names_;
  Common common_;
  WordPool::Position constants_;
  DeferredQueue deferred_;
  std::vector<std::shared_ptr<End>> ends_;
  std::size_t promised_ = 0;               // ends added and not enrolled yet
  plan::ActiveList<EngineClient> active_;  // those that have work; has room for all
  std::vector<End*> leaving_;              // closed here; has room for all
  std::size_t leaving_cursor_ = 0;
  std::size_t parting_cursor_ = 0;  // in ends_
  std::uint64_t taken_over_ = 0;
};

}  // namespace penstock::ofi
