// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "api/errors.hpp"
#include "core/library.hpp"
#include "core/queues.hpp"
#include "penstock/penstock.h"

using namespace penstock;
using base::Error;
using base::ErrorKind;

namespace {

device::host::Stream& stream_of(PST_Stream stream) {
  core::HostStream* found =
      core::Library::require().queues().streams().find(reinterpret_cast<std::uintptr_t>(stream));
  if (!found)
    throw Error(ErrorKind::stream, std::string(stream ? "the stream has been freed"
                                                      : "the stream is PST_STREAM_NULL") +
                                       ": make one with PST_Stream_create");
  return found->stream;
}

}  // namespace

int PST_Stream_create(PST_Stream* stream) {
  return api::guard_any_thread([&](core::Library& library) {
    api::require_pointer(stream, "stream");
    *stream = reinterpret_cast<PST_Stream>(
        library.queues().create_stream(library.spin(), library.most_spinning()));
  });
}

int PST_Stream_launch(PST_Stream stream, void (*function)(void*), void* argument) {
  return api::guard_any_thread([&] {
    device::host::Stream& target = stream_of(stream);
    if (!function) throw Error(ErrorKind::argument, "the function to launch is a null pointer");
    target.launch(function, argument);
  });
}

int PST_Stream_synchronize(PST_Stream stream) {
  return api::guard_any_thread([&] {
    device::host::Stream& target = stream_of(stream);
    core::refuse_on_workers("PST_Stream_synchronize");
    target.synchronize(core::Library::require().meanwhile());
  });
}

int PST_Stream_free(PST_Stream* stream) {
  return api::guard_any_thread([&](core::Library& library) {
    api::require_pointer(stream, "stream");
    core::refuse_on_workers("PST_Stream_free");
    const auto failure = library.queues().free_stream(reinterpret_cast<std::uintptr_t>(*stream),
                                                      library.meanwhile());
    *stream = PST_STREAM_NULL;
    if (failure) throw Error(*failure);
  });
}
