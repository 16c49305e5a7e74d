// SPDX-License-Identifier: Apache-2.0
// Messages that lie in rows, each followed by a gap: sent as a vector datatype, or packed
// by the program on the stream.
#pragma once

#include <penstock/penstock.hpp>

#include "exchange.hpp"

namespace penstock::bench {

// Persistent requests of a message in rows.
Request rows_send_init(const Message& message, int tag);
Request rows_recv_init(const Message& message, int tag);

// Between rows and bytes without gaps.
void gather_rows(std::span<std::byte> to, std::span<const std::byte> rows,
                 const Layout& layout) noexcept;
void scatter_rows(std::span<std::byte> rows, std::span<const std::byte> from,
                  const Layout& layout) noexcept;

// Has the exchange, whose messages have no gaps, packed from rows before each send and unpacked
// behind each receive, by functions on the stream. `check`: what the messages hold is put into the
// rows first.
void pack_rows(Exchange& exchange, Stream& stream, const Layout& layout, MemoryKind memory,
               bool check);

}  // namespace penstock::bench
