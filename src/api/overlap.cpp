// SPDX-License-Identifier: Apache-2.0
#include "api/overlap.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

#include "api/enqueued.hpp"
#include "api/errors.hpp"
#include "api/recorder.hpp"
#include "api/recorder_driving.hpp"
#include "base/forked.hpp"
#include "base/free_list.hpp"
#include "base/log.hpp"
#include "core/library.hpp"
#include "core/matched_request.hpp"
#include "core/registry.hpp"
#include "core/transports.hpp"
#include "datatype/copy.hpp"
#include "device/gpu.hpp"
#include "enqueued/message_request.hpp"
#include "group/mpi_communicator.hpp"
#include "group/mpi_handle.hpp"
#include "group/mpi_layout.hpp"
#include "overlap/engine.hpp"
#include "penstock_recorder_config.h"

namespace penstock::api {

using base::Error;
using base::ErrorKind;
using enqueued::MessageRequest;
using group::LargeMessages;
using overlap::Caller;
using overlap::Engine;
using overlap::Message;
using overlap::Receive;
using overlap::Send;

std::atomic<bool> overlap_begun{false};
std::atomic<int> active_persistent{0};

namespace {

// Never destroyed before the library's end: threads of the program may be inside it.
Engine* large_engine = nullptr;

// Requests of MPI's that stand for large messages, and messages that a probe has taken.
struct Requests {
  std::mutex mutex;
  base::FreeList<MessageRequest> home;
  std::unordered_map<std::uintptr_t, Message*> open;  // by the request's handle
  struct Probed {
    overlap::Arrival arrival;
    MessageRequest* request;  // whose handle is the message's
    std::shared_ptr<group::Communicator> communicator;
  };
  std::unordered_map<std::uintptr_t, Probed> probed;
  std::unordered_map<std::uintptr_t, MPI_Request> persistent;  // active ones: what stands for them
};
auto& requests = *new Requests;  // never destroyed: MPI may still have some

// Errors go to the communicator of the message.
template <class Body>
int reported(const group::Communicator& communicator, Body&& body) noexcept {
  try {
    body();
    return MPI_SUCCESS;
  } catch (const Error& error) {
    return report_error(error, &communicator, Threads::as_mpi);
  } catch (const std::exception& failure) {
    return report_error(
        base::error_by(ErrorKind::resources, [&] { return std::string(failure.what()); }),
        &communicator, Threads::as_mpi);
  }
}

// ---- Which messages

LargeMessages decide(MPI_Comm comm, const group::Communicator& communicator) {
  int inter = 0;
  if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter != 0) return LargeMessages::of_mpi;
  const int size = group::peers_of(communicator);
  for (int one = 0; one < size; ++one)
    for (int other = one; other < size; ++other)
      if (!large_engine->serves(group::world_rank(communicator, one),
                                group::world_rank(communicator, other)))
        return LargeMessages::of_mpi;
  return LargeMessages::ours;
}

// Null: its messages are MPI's.
std::shared_ptr<group::Communicator> served(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return nullptr;
  auto communicator = group::communicator_of(comm);
  if (!communicator->known) return nullptr;
  LargeMessages whose = communicator->large_messages.load(std::memory_order_relaxed);
  if (whose == LargeMessages::undecided) {
    whose = decide(comm, *communicator);
    communicator->large_messages.store(whose, std::memory_order_relaxed);
  }
  if (whose == LargeMessages::of_mpi) return nullptr;
  return communicator;
}

bool is_right_tag(int tag) {
  static const int last = group::last_tag();
  return tag == MPI_ANY_TAG || (tag >= 0 && tag <= last);
}

// ---- Messages of ours

// `lowest`: where its lowest byte lies. Throws base::Error for what only this end can know.
void take_layout(Message& message, void* lowest, std::shared_ptr<const group::Layout> layout) {
  message.buffer = static_cast<std::byte*>(lowest);
  if (!layout->contiguous() && layout->segments() == nullptr)
    throw Error(ErrorKind::unsupported,
                message.label() +
                    ": its datatype has more pieces than PENSTOCK_OVERLAP=exact serves, which the "
                    "other end does not know: leave PENSTOCK_OVERLAP off");
  if (device::memory_kind(message.buffer) != device::MemoryKind::host)
    throw Error(ErrorKind::unsupported,
                message.label() +
                    ": its buffer is in memory of a GPU, which PENSTOCK_OVERLAP=exact does not "
                    "serve, and the other end does not know: leave PENSTOCK_OVERLAP off");
  if (!layout->contiguous()) message.layout = std::move(layout);
}

void describe(Message& message, const MessageCall& call, const LargeMessage& large) {
  message.call = call.call;
  message.communicator = large.communicator;
  message.peer = call.peer == MPI_ANY_SOURCE ? core::any_rank : call.peer;
  message.peer_world = large.peer_world;
  message.tag = call.tag == MPI_ANY_TAG ? core::any_tag : call.tag;
  message.bytes = large.bytes;
  auto layout = std::make_shared<group::MpiLayout>(call.datatype, call.count);
  if (!layout->refusal().empty())
    throw Error(ErrorKind::argument, message.label() + ": " + layout->refusal());
  // Of integers, as MPI_BOTTOM may be null.
  const auto lowest = reinterpret_cast<std::intptr_t>(call.buffer) + layout->lowest();
  take_layout(message, reinterpret_cast<void*>(lowest), std::move(layout));
}

// From now on the program may use its buffer.
void take_copy(Send& message) {
  auto copy = std::make_unique_for_overwrite<std::byte[]>(message.bytes);
  if (const datatype::Segments* const segments = message.segments())
    datatype::Walk(segments->view()).pack(copy.get(), message.buffer, 0, message.bytes);
  else
    std::memcpy(copy.get(), message.buffer, message.bytes);
  message.buffer = copy.get();
  message.layout.reset();
  message.packed = std::move(copy);
}

void set_count(MPI_Status& status, std::size_t bytes, bool cancelled) noexcept {
  PMPI_Status_set_elements_x(&status, MPI_BYTE, static_cast<MPI_Count>(bytes));
  PMPI_Status_set_cancelled(&status, cancelled ? 1 : 0);
}

MPI_Status status_of(const Message& message) noexcept {
  if (message.sends) return enqueued::empty_status(MPI_ANY_SOURCE);
  MPI_Status status{};
  const bool none = message.cancelled || message.error.has_value();
  set_count(status, none ? 0 : message.bytes, message.cancelled);
  status.MPI_SOURCE = message.source;
  status.MPI_TAG = message.its_tag;
  status.MPI_ERROR = MPI_SUCCESS;
  return status;
}

// What a call with a status of its own gives: it says nothing of errors.
void give_status(MPI_Status* to, MPI_Status status) noexcept {
  if (to == MPI_STATUS_IGNORE) return;
  status.MPI_ERROR = to->MPI_ERROR;
  *to = status;
}

MessageRequest& make_request() {
  const std::lock_guard lock(requests.mutex);
  return enqueued::make_request(requests.home);
}

// Of a message that has not begun.
void drop(MessageRequest& request) noexcept {
  MPI_Request mpi = request.mpi;
  enqueued::complete(request, enqueued::empty_status(MPI_ANY_SOURCE), nullptr);
  PMPI_Request_free(&mpi);
}

// Begins a message whose request completes with it. `begin` hands it to the engine.
template <class End, class Begin>
void begin_requested(std::unique_ptr<End> message, MPI_Request* request, Begin&& begin) {
  MessageRequest& made = make_request();
  message->listed = true;
  message->request = &made;
  const std::uintptr_t handle = group::handle_bits(made.mpi);
  const MPI_Request mpi = made.mpi;
  try {
    {
      const std::lock_guard lock(requests.mutex);
      requests.open.insert_or_assign(handle, message.get());
    }
    begin(*message);
  } catch (...) {
    {
      const std::lock_guard lock(requests.mutex);
      requests.open.erase(handle);
    }
    drop(made);
    throw;
  }
  static_cast<void>(message.release());
  *request = mpi;
}

void complete(Message& ended) noexcept {
  const std::unique_ptr<Message> message(&ended);
  auto* const request = static_cast<MessageRequest*>(message->request);
  if (request == nullptr) {  // of a buffered send: nobody asks for it
    if (message->error) base::log::error(message->error->text());
    return;
  }
  {
    const std::lock_guard lock(requests.mutex);
    requests.open.erase(group::handle_bits(request->mpi));
  }
  enqueued::complete(*request, status_of(*message), message->error ? &*message->error : nullptr);
}

// ---- Waiting

// MPI moves its own messages only in calls of the program's.
void give_mpi_time() noexcept {
  int found = 0;
  PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
}

void wait_for_end(Message& message) noexcept {
  std::optional<OverlapWait> wait;
  for (;;) {
    if (wait) wait->look();
    drive(Caller::waiting);
    if (large_engine->ended(message)) return;
    give_mpi_time();
    if (wait)
      wait->pause();
    else
      wait.emplace(false);
  }
}

void wait_for_result(Message& message, MPI_Status* status) {
  wait_for_end(message);
  if (message.error) throw *message.error;
  give_status(status, status_of(message));
}

// ---- Promises

constexpr std::chrono::milliseconds before_doubt{100};

// MPI has a message that the receive would take if it were MPI's, and its sender has announced none
// that could: so the receive is longer than its message, or the message came to MPI past us.
void doubt(const Engine::Unmatched& receive) noexcept {
  if (!receive.communicator->alive.load()) return;
  int found = 0;
  MPI_Status status;
  if (PMPI_Iprobe(receive.peer == core::any_rank ? MPI_ANY_SOURCE : receive.peer,
                  receive.tag == core::any_tag ? MPI_ANY_TAG : receive.tag,
                  group::handle_of(*receive.communicator), &found, &status) != MPI_SUCCESS ||
      found == 0)
    return;
  const int sender = group::world_rank(*receive.communicator, status.MPI_SOURCE);
  if (large_engine->may_bring_more(sender)) return;
  MPI_Count bytes = 0;
  PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
  large_engine->fail_unmatched(
      receive.serial, base::error_by(ErrorKind::assertion, [&] {
        return fmt::format(
            "{} waits, and MPI has a message for it of {} bytes from rank {} with tag {}: "
            "PENSTOCK_OVERLAP=exact is the promise that receives are as long as their messages, "
            "and that both ends make calls that the library sees; give the receive that length, "
            "or leave PENSTOCK_OVERLAP off",
            receive.label, bytes, status.MPI_SOURCE, status.MPI_TAG);
      }));
}

void doubt_promises() noexcept {
  base::log::failures_in([] {
    for (const Engine::Unmatched& each : large_engine->unmatched(before_doubt)) doubt(each);
  });
}

void report_long_wait() noexcept {
  base::log::failures_in([] {
    base::log::error("PENSTOCK_TIMEOUT has passed in a call that waits for messages: " +
                     large_engine->describe());
  });
}

}  // namespace

OverlapWait::OverlapWait(bool beside_mpi) noexcept
    : beside_mpi_(beside_mpi),
      begun_(Clock::now()),
      last_news_(begun_),
      next_check_(begun_ + before_doubt) {
  large_engine->begin_waiting();
}

OverlapWait::~OverlapWait() {
  large_engine->end_waiting();
}

void OverlapWait::look() noexcept {
  seen_ = large_engine->news();
}

void OverlapWait::check(Clock::time_point now) noexcept {
  doubt_promises();
  next_check_ = Clock::now() + before_doubt;
  core::Library* const library = core::Library::get();
  if (reported_ || library == nullptr) return;
  const auto limit = library->settings().timeout;
  if (limit.count() == 0 || now - begun_ < limit) return;
  reported_ = true;
  report_long_wait();
}

// At first the core is given to who may need it, since waking up takes as long as a message of some
// tens of kilobytes. A thread that reads needs the core at once.
void OverlapWait::pause() noexcept {
  constexpr std::chrono::microseconds awake{100}, between_looks{100}, longest{1000};
  const auto now = Clock::now();
  if (now >= next_check_) check(now);
  if (const std::uint64_t news = large_engine->news(); news != seen_) last_news_ = now;
  if (now - last_news_ < awake && !large_engine->thread_is_at_it())
    sched_yield();
  else
    large_engine->doze(seen_, beside_mpi_ ? between_looks : longest);
}

void drive_overlap(Caller caller) noexcept {
  if (base::forked()) return;  // the tables are the parent's, and their lock may be held for ever
  large_engine->advance(caller);
  while (Message* const ended = large_engine->take_ended()) complete(*ended);
}

// ---- Life

void begin_overlap() noexcept {
  core::Library* const library = core::Library::get();
  if (library == nullptr || library->settings().overlap == base::Overlap::off || overlaps()) return;
  base::log::failures_in([&] {
    library->world().together([] {
      if (!why_not_recording().empty())
        throw Error(ErrorKind::setting,
                    "PENSTOCK_OVERLAP=exact needs to see MPI's calls: " + why_not_recording());
    });
    auto made = std::make_unique<Engine>(library->settings(), library->world(),
                                         library->transports().peer());
    tell_requests_of_errors();
    large_engine = made.release();
    overlap_begun.store(true, std::memory_order_release);
  });
}

void end_overlap() noexcept {
  if (!overlaps()) return;
  {
    OverlapWait wait(true);
    while (!large_engine->idle()) {
      wait.look();
      drive_overlap(Caller::waiting);
      give_mpi_time();
      wait.pause();
    }
    drive_overlap(Caller::waiting);
  }
  overlap_begun.store(false, std::memory_order_relaxed);
  const overlap::Counts counts = large_engine->counts();
  base::log::failures_in([&] {
    base::log::info(fmt::format(
        "large messages (PENSTOCK_OVERLAP): {} sent; read: {} by the thread, {} by the program's "
        "calls, {} by the thread as those did not come; {} came before their receive",
        counts.sent, counts.by_thread, counts.by_program, counts.by_grace, counts.unexpected));
  });
  delete std::exchange(large_engine, nullptr);
  enqueued::free_held(requests.home);
}

std::vector<std::pair<std::string, std::uint64_t>> count_large_messages() {
  if (!overlaps()) return {};
  const overlap::Counts counts = large_engine->counts();
  return {{"sent", counts.sent},
          {"read_by_thread", counts.by_thread},
          {"read_by_program", counts.by_program},
          {"read_by_thread_at_last", counts.by_grace},
          {"unexpected", counts.unexpected}};
}

// ---- Calls

std::optional<LargeMessage> large_message(const MessageCall& call) noexcept {
  try {
    MPI_Count size = 0;
    if (call.count <= 0 || call.peer == MPI_PROC_NULL || call.datatype == MPI_DATATYPE_NULL ||
        PMPI_Type_size_x(call.datatype, &size) != MPI_SUCCESS || size <= 0)
      return std::nullopt;
    if (call.count > std::numeric_limits<MPI_Count>::max() / size) return std::nullopt;
    const auto bytes = static_cast<std::size_t>(size * call.count);
    if (bytes < large_engine->least_bytes() || base::forked()) return std::nullopt;
    LargeMessage large{served(call.comm), core::any_rank, bytes};
    if (!large.communicator || !is_right_tag(call.tag)) return std::nullopt;
    if (call.peer != MPI_ANY_SOURCE) {
      large.peer_world = group::world_rank(*large.communicator, call.peer);
      if (call.peer < 0 || call.peer >= group::peers_of(*large.communicator)) return std::nullopt;
    }
    return large;
  } catch (const std::exception&) {
    return std::nullopt;  // MPI's call says what is wrong
  }
}

namespace {

// A buffered one is complete when it has been copied, and goes on by itself.
void begin_send(std::unique_ptr<Send> message, SendMode mode, MPI_Request* request) {
  if (mode == SendMode::direct)
    return begin_requested(std::move(message), request,
                           [](Send& each) { large_engine->send(each); });
  take_copy(*message);
  message->listed = true;
  MessageRequest& made = make_request();
  const MPI_Request mpi = made.mpi;
  try {
    large_engine->send(*message);
  } catch (...) {
    drop(made);
    throw;
  }
  static_cast<void>(message.release());
  enqueued::complete(made, enqueued::empty_status(MPI_ANY_SOURCE), nullptr);
  *request = mpi;
}

}  // namespace

int start_large_send(const MessageCall& call, const LargeMessage& large, SendMode mode,
                     MPI_Request* request) noexcept {
  return reported(*large.communicator, [&] {
    auto message = std::make_unique<Send>();
    describe(*message, call, large);
    begin_send(std::move(message), mode, request);
  });
}

int large_send(const MessageCall& call, const LargeMessage& large, SendMode mode) noexcept {
  return reported(*large.communicator, [&] {
    if (mode == SendMode::direct) {
      Send message;
      describe(message, call, large);
      large_engine->send(message);
      return wait_for_result(message, MPI_STATUS_IGNORE);
    }
    auto message = std::make_unique<Send>();
    describe(*message, call, large);
    take_copy(*message);
    message->listed = true;
    large_engine->send(*message);
    static_cast<void>(message.release());
  });
}

int start_large_receive(const MessageCall& call, const LargeMessage& large,
                        MPI_Request* request) noexcept {
  return reported(*large.communicator, [&] {
    auto message = std::make_unique<Receive>();
    describe(*message, call, large);
    begin_requested(std::move(message), request,
                    [](Receive& each) { large_engine->receive(each, Caller::passing); });
  });
}

int large_receive(const MessageCall& call, const LargeMessage& large, MPI_Status* status) noexcept {
  return reported(*large.communicator, [&] {
    Receive message;
    describe(message, call, large);
    large_engine->receive(message, Caller::waiting);
    wait_for_result(message, status);
  });
}

int refuse_large(const MessageCall& call, const LargeMessage& large) noexcept {
  return reported(*large.communicator, [&] {
    throw Error(ErrorKind::unsupported,
                fmt::format("{} of {} bytes: PENSTOCK_OVERLAP=exact does not serve this call for "
                            "large messages, and the other end does not know; use nonblocking "
                            "messages, or leave PENSTOCK_OVERLAP off",
                            call.call, large.bytes));
  });
}

namespace {

// One half of an exchange: ours, or MPI's nonblocking one.
struct Half {
  std::optional<LargeMessage> large;
  MPI_Request mpi = MPI_REQUEST_NULL;
  MPI_Status status{};
  int code = MPI_SUCCESS;

  bool done(Message& message) {
    if (large) return large_engine->ended(message);
    if (mpi == MPI_REQUEST_NULL) return true;
    int flag = 0;
    code = PMPI_Test(&mpi, &flag, &status);
    return code != MPI_SUCCESS || flag != 0;
  }
};

#if PENSTOCK_HAVE_MPI_Send_c
constexpr auto isend_of_mpi = PMPI_Isend_c;
constexpr auto irecv_of_mpi = PMPI_Irecv_c;
using BeginCount = MPI_Count;
#else
constexpr auto isend_of_mpi = PMPI_Isend;
constexpr auto irecv_of_mpi = PMPI_Irecv;
using BeginCount = int;
#endif

void set_null(MPI_Status& status) noexcept {
  set_count(status, 0, false);
  status.MPI_SOURCE = MPI_PROC_NULL;
  status.MPI_TAG = MPI_ANY_TAG;
}

void wait_for_both(Half& sending, Send& send, Half& receiving, Receive& receive) noexcept {
  OverlapWait wait(true);
  bool sent = false, received = false;
  for (;;) {
    wait.look();
    drive(Caller::waiting);
    sent = sent || sending.done(send);
    received = received || receiving.done(receive);
    if (sent && received) return;
    give_mpi_time();
    wait.pause();
  }
}

// The receive is posted, and the send does not begin.
void give_back(Receive& receive) noexcept {
  if (!large_engine->cancel(receive)) wait_for_end(receive);
}

void exchange(const MessageCall& send_call, const MessageCall& receive_call, bool replaces,
              Half& sending, Half& receiving, MPI_Status* status) {
  Send send;
  Receive receive;
  if (sending.large) describe(send, send_call, *sending.large);
  if (receiving.large) describe(receive, receive_call, *receiving.large);
  // In one buffer both are large or neither, but for messages to nobody.
  if (replaces && sending.large) take_copy(send);
  if (receiving.large) {
    large_engine->receive(receive, Caller::waiting);
  } else {
    receiving.code =
        irecv_of_mpi(const_cast<void*>(receive_call.buffer),
                     static_cast<BeginCount>(receive_call.count), receive_call.datatype,
                     receive_call.peer, receive_call.tag, receive_call.comm, &receiving.mpi);
    if (receiving.code != MPI_SUCCESS) return;
  }
  if (sending.large) {
    try {
      large_engine->send(send);
    } catch (...) {
      if (receiving.large) {
        give_back(receive);
      } else {
        PMPI_Cancel(&receiving.mpi);
        PMPI_Wait(&receiving.mpi, MPI_STATUS_IGNORE);
      }
      throw;
    }
  } else {
    sending.code =
        isend_of_mpi(send_call.buffer, static_cast<BeginCount>(send_call.count), send_call.datatype,
                     send_call.peer, send_call.tag, send_call.comm, &sending.mpi);
    if (sending.code != MPI_SUCCESS) return give_back(receive);
  }
  wait_for_both(sending, send, receiving, receive);
  if (receive.error) throw *receive.error;
  if (send.error) throw *send.error;
  if (receiving.large) receiving.status = status_of(receive);
  if (receive_call.peer == MPI_PROC_NULL) set_null(receiving.status);
  give_status(status, receiving.status);
}

}  // namespace

std::optional<int> large_exchange(const MessageCall& send, const MessageCall& receive,
                                  bool replaces, MPI_Status* status) noexcept {
  Half sending, receiving;
  sending.large = large_message(send);
  receiving.large = large_message(receive);
  if (!sending.large && !receiving.large) return std::nullopt;
  const auto& communicator =
      sending.large ? sending.large->communicator : receiving.large->communicator;
  const int code = reported(*communicator,
                            [&] { exchange(send, receive, replaces, sending, receiving, status); });
  if (code != MPI_SUCCESS) return code;
  return receiving.code != MPI_SUCCESS ? receiving.code : sending.code;
}

namespace {

core::Envelope key_of(const group::Communicator& communicator, int source, int tag) {
  return {communicator.id, source == MPI_ANY_SOURCE ? core::any_rank : source,
          tag == MPI_ANY_TAG ? core::any_tag : tag};
}

// A large message has been announced that the receive would take if both were MPI's, and MPI, which
// has been asked, has none from before it: so the receive is shorter. Nothing: it is not so.
std::optional<Error> doubt_small(const MessageCall& call) {
  const auto communicator = served(call.comm);
  if (!communicator) return std::nullopt;
  const auto large = large_engine->probe(key_of(*communicator, call.peer, call.tag), false);
  if (!large) return std::nullopt;
  return Error(
      ErrorKind::assertion,
      fmt::format(
          "{} of {} elements on {} waits, and rank {} has a message of {} bytes with tag {} "
          "for it: PENSTOCK_OVERLAP=exact is the promise that receives are as long as "
          "their messages; give the receive that length, or leave PENSTOCK_OVERLAP off",
          call.call, call.count, communicator->name, large->announced.source,
          large->announced.bytes, large->announced.tag));
}

// False: it has come after all.
bool cancel_small(MPI_Request& request, MPI_Status* status) noexcept {
  MPI_Status ended{};
  int cancelled = 0;
  PMPI_Cancel(&request);
  PMPI_Wait(&request, &ended);
  PMPI_Test_cancelled(&ended, &cancelled);
  if (cancelled == 0) give_status(status, ended);
  return cancelled != 0;
}

}  // namespace

int receive_small(const MessageCall& call, MPI_Request request, MPI_Status* status) noexcept {
  constexpr int looks_at_once = 100;
  auto doubtful_from = std::chrono::steady_clock::now() + before_doubt;
  for (;;) {
    int done = 0;
    for (int i = 0; i < looks_at_once && done == 0; ++i)
      if (const int code = PMPI_Test(&request, &done, status); code != MPI_SUCCESS) return code;
    if (done != 0) return MPI_SUCCESS;
    drive(Caller::waiting);
    sched_yield();
    const auto now = std::chrono::steady_clock::now();
    if (now < doubtful_from) continue;
    doubtful_from = now + before_doubt;
    try {
      const auto error = doubt_small(call);
      if (!error) continue;
      if (!cancel_small(request, status)) return MPI_SUCCESS;
      return reported(*served(call.comm), [&] { throw *error; });
    } catch (const std::exception&) {  // there is no memory for the doubt
    }
  }
}

bool probes_both(MPI_Comm comm) noexcept {
  try {
    return !base::forked() && served(comm) != nullptr;
  } catch (const std::exception&) {
    return false;
  }
}

int probe_both(int source, int tag, MPI_Comm comm, int* found, MPI_Message* message,
               MPI_Status* status) noexcept {
  drive(Caller::passing);
  int of_mpi = 0;
  MPI_Status theirs{};
  if (source == MPI_PROC_NULL)
    return message != nullptr ? PMPI_Improbe(source, tag, comm, found, message, status)
                              : PMPI_Iprobe(source, tag, comm, found, status);
  if (const int code = PMPI_Iprobe(source, tag, comm, &of_mpi, &theirs); code != MPI_SUCCESS)
    return code;
  std::shared_ptr<group::Communicator> communicator;
  try {
    communicator = served(comm);
  } catch (const std::exception&) {
    return MPI_ERR_OTHER;
  }
  return reported(*communicator, [&] {
    const core::Envelope key = key_of(*communicator, source, tag);
    *found = 0;
    const auto ours = large_engine->probe(key, false);
    if (!ours && of_mpi == 0) return;
    if (ours && of_mpi != 0 && theirs.MPI_SOURCE == ours->announced.source &&
        theirs.MPI_TAG == ours->announced.tag)
      throw Error(ErrorKind::assertion,
                  fmt::format("a probe finds a large and a small message of rank {} with tag {} on "
                              "{}: which is the earlier one nobody knows with "
                              "PENSTOCK_OVERLAP=exact; give them different tags, or leave it off",
                              theirs.MPI_SOURCE, theirs.MPI_TAG, communicator->name));
    if (!ours) {
      const int code = message != nullptr ? PMPI_Improbe(source, tag, comm, found, message, status)
                                          : PMPI_Iprobe(source, tag, comm, found, status);
      static_cast<void>(code);  // it has found it before
      return;
    }
    overlap::Arrival arrival = *ours;
    if (message != nullptr) {
      MessageRequest& handle = make_request();
      const auto taken = large_engine->probe(
          {communicator->id, ours->announced.source, ours->announced.tag}, true);
      if (!taken) return drop(handle);  // another thread has
      arrival = *taken;
      const std::lock_guard lock(requests.mutex);
      const std::uintptr_t bits = group::handle_bits(handle.mpi);
      requests.probed.insert_or_assign(bits, Requests::Probed{arrival, &handle, communicator});
      *message = group::handle_of<MPI_Message>(bits);
    }
    *found = 1;
    MPI_Status seen{};
    set_count(seen, arrival.announced.bytes, false);
    seen.MPI_SOURCE = arrival.announced.source;
    seen.MPI_TAG = arrival.announced.tag;
    give_status(status, seen);
  });
}

std::optional<int> receive_probed(const MessageCall& call, MPI_Message* message,
                                  MPI_Request* request, MPI_Status* status) noexcept {
  std::unique_lock lock(requests.mutex);
  const auto place = requests.probed.find(group::handle_bits(*message));
  if (place == requests.probed.end()) return std::nullopt;
  const Requests::Probed probed = place->second;
  requests.probed.erase(place);
  lock.unlock();
  drop(*probed.request);
  *message = MPI_MESSAGE_NULL;
  MPI_Count size = 0;
  PMPI_Type_size_x(call.datatype, &size);
  MessageCall named = call;
  named.peer = probed.arrival.announced.source;
  named.tag = probed.arrival.announced.tag;
  const LargeMessage large{probed.communicator, probed.arrival.sender,
                           static_cast<std::size_t>(size * call.count)};
  return reported(*probed.communicator, [&] {
    if (request == nullptr) {
      Receive receive;
      describe(receive, named, large);
      large_engine->receive(receive, probed.arrival, Caller::waiting);
      return wait_for_result(receive, status);
    }
    auto receive = std::make_unique<Receive>();
    describe(*receive, named, large);
    begin_requested(std::move(receive), request, [&](Receive& each) {
      large_engine->receive(each, probed.arrival, Caller::passing);
    });
  });
}

std::optional<int> cancel_large(MPI_Request request) noexcept {
  const std::lock_guard lock(requests.mutex);
  if (const auto active = requests.persistent.find(group::handle_bits(request));
      active != requests.persistent.end())
    request = active->second;
  const auto place = requests.open.find(group::handle_bits(request));
  if (place == requests.open.end()) return std::nullopt;
  Message& message = *place->second;
  if (message.sends)
    return reported(*message.communicator, [&] {
      throw Error(ErrorKind::unsupported,
                  message.label() +
                      ": with PENSTOCK_OVERLAP=exact a large send cannot be cancelled: complete it "
                      "with MPI_Wait");
    });
  large_engine->cancel(static_cast<Receive&>(message));
  return MPI_SUCCESS;
}

// ---- Persistent requests

namespace {

// As the call that has made the request has recorded it.
void describe(Message& message, const core::Recording& recording) {
  message.call = recording.call;
  message.communicator = recording.communicator;
  message.peer = recording.peer;
  message.peer_world = recording.peer_world;
  message.tag = recording.tag;
  message.bytes = recording.bytes;
  if (!recording.refusal.empty())
    throw Error(ErrorKind::argument, message.label() + ": " + recording.refusal);
  take_layout(message, recording.buffer, recording.layout);
}

bool is_large(const core::Recording& recording) {
  const bool is_message = recording.is_send() || recording.kind == core::RequestKind::receive;
  return is_message && recording.channel == nullptr && recording.communicator &&
         recording.bytes >= large_engine->least_bytes() && recording.peer != core::null_rank &&
         recording.communicator->alive.load() &&
         served(group::handle_of(*recording.communicator)) != nullptr;
}

MPI_Request begin_recorded(const core::Recording& recording) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (recording.is_send()) {
    auto message = std::make_unique<Send>();
    describe(*message, recording);
    begin_send(
        std::move(message),
        recording.kind == core::RequestKind::buffered_send ? SendMode::buffered : SendMode::direct,
        &request);
  } else {
    auto message = std::make_unique<Receive>();
    describe(*message, recording);
    begin_requested(std::move(message), &request,
                    [](Receive& each) { large_engine->receive(each, Caller::passing); });
  }
  return request;
}

}  // namespace

std::optional<int> start_persistent(MPI_Request request) noexcept {
  if (request == MPI_REQUEST_NULL || base::forked()) return std::nullopt;
  const std::uintptr_t handle = group::handle_bits(request);
  const core::MatchedRequest* const recorded = core::Registry::get().find(handle);
  if (recorded == nullptr) return std::nullopt;
  const core::Recording& recording = recorded->recording();
  try {
    if (!is_large(recording)) return std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return reported(*recording.communicator, [&] {
    {
      const std::lock_guard lock(requests.mutex);
      if (!requests.persistent.try_emplace(handle, MPI_REQUEST_NULL).second)
        throw Error(ErrorKind::already_started,
                    recorded->label() + " is active: complete it before the next MPI_Start");
    }
    try {
      const MPI_Request stands_for_it = begin_recorded(recording);
      const std::lock_guard lock(requests.mutex);
      requests.persistent[handle] = stands_for_it;
      active_persistent.fetch_add(1, std::memory_order_relaxed);
    } catch (...) {
      const std::lock_guard lock(requests.mutex);
      requests.persistent.erase(handle);
      throw;
    }
  });
}

void free_persistent(MPI_Request request) noexcept {
  const std::lock_guard lock(requests.mutex);
  const auto place = requests.persistent.find(group::handle_bits(request));
  if (place == requests.persistent.end()) return;
  MPI_Request stands_for_it = place->second;
  requests.persistent.erase(place);
  active_persistent.fetch_sub(1, std::memory_order_relaxed);
  PMPI_Request_free(&stands_for_it);
}

void PersistentRequests::substitute(int count, MPI_Request* array) {
  if (array == nullptr) return;
  const std::lock_guard lock(requests.mutex);
  for (MPI_Request* each = array; each < array + count; ++each) {
    if (*each == MPI_REQUEST_NULL) continue;
    const auto place = requests.persistent.find(group::handle_bits(*each));
    if (place == requests.persistent.end()) continue;
    places_.push_back({each, *each});
    *each = place->second;
  }
}

// Those that MPI has freed have ended: the program's are inactive again.
void PersistentRequests::put_back() noexcept {
  const std::lock_guard lock(requests.mutex);
  for (const Place& place : places_) {
    if (*place.at == MPI_REQUEST_NULL) {
      requests.persistent.erase(group::handle_bits(place.persistent));
      active_persistent.fetch_sub(1, std::memory_order_relaxed);
    }
    *place.at = place.persistent;
  }
  places_.clear();
}

}  // namespace penstock::api
