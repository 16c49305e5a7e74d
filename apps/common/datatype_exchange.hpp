// SPDX-License-Identifier: Apache-2.0
// Exchanges of messages that lie in the program's own array, as datatypes.
#pragma once

#include <mpi.h>

#include <memory>
#include <utility>
#include <vector>

#include "common/exchange.hpp"

namespace penstock::apps {

// Owns a part of an array of doubles, as MPI's type: MPI_Type_create_subarray, the last index
// fastest.
class Subarray {
 public:
  using Index = std::vector<int>;
  Subarray(const Index& extents, const Index& part, const Index& first) {
    MPI_Type_create_subarray(static_cast<int>(extents.size()), extents.data(), part.data(),
                             first.data(), MPI_ORDER_C, MPI_DOUBLE, &type_);
    MPI_Type_commit(&type_);
  }
  ~Subarray() {
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
  }
  Subarray(Subarray&& other) noexcept : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}
  Subarray& operator=(Subarray&&) = delete;

  MPI_Datatype type() const noexcept { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

// Where the messages lie in the program's own array: for each neighbour what is sent to it, and
// what it sends. `received` may be empty: then messages come into buffers, from which the work
// unpacks them.
struct MessagesInPlace {
  double* array;
  std::vector<Subarray> sent;
  std::vector<Subarray> received;
};

// MPI packs and unpacks. On a GPU it has to take its memory.
std::unique_ptr<Exchange> make_mpi_datatype_exchange(const Options& options, Work& work,
                                                     MessagesInPlace messages);
// The stream's requests describe them, and Penstock moves their bytes.
std::unique_ptr<Exchange> make_stream_datatype_exchange(const Options& options, Work& work,
                                                        const MessagesInPlace& messages);
inline std::unique_ptr<Exchange> make_datatype_exchange(Comm comm, const Options& options,
                                                        Work& work, MessagesInPlace messages) {
  return comm == Comm::mpi_datatype ? make_mpi_datatype_exchange(options, work, std::move(messages))
                                    : make_stream_datatype_exchange(options, work, messages);
}

}  // namespace penstock::apps
