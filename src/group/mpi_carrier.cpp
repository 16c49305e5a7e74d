// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include "group/carrier.hpp"
#include "group/mpi_check.hpp"
#include "group/mpi_handle.hpp"
#include "group/private_communicator.hpp"

namespace penstock::group {

namespace {

constexpr int tag = 1;

class MpiCarrier final : public Carrier {
 public:
  int ranks() const override {
    int size = 0;
    check_mpi(PMPI_Comm_size(comm_.get(), &size), "MPI_Comm_size");
    return size;
  }

  // Short letters are taken at once as a rule.
  Step send(int rank, std::span<const std::byte> bytes, Transfer& transfer) noexcept override {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = PMPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, rank, tag,
                                comm_.get(), &request);
    if (code != MPI_SUCCESS) return {false, "MPI_Isend", code};
    transfer = handle_bits(request);
    return test(transfer);
  }

  // One at a time: MPI_Testsome reports a failure through the error handler of MPI_COMM_WORLD in
  // some libraries, which may end the process; MPI_Test uses that of the request's communicator.
  Step test(Transfer& transfer) noexcept override {
    auto request = handle_of<MPI_Request>(transfer);
    int done = 0;
    const int code = PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    transfer = handle_bits(request);
    if (code != MPI_SUCCESS) return {false, "MPI_Test", code};
    return {done != 0, nullptr, 0};
  }

  std::optional<Arrival> find() override {
    int found = 0, length = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    check_mpi(PMPI_Improbe(MPI_ANY_SOURCE, tag, comm_.get(), &found, &message, &status),
              "MPI_Improbe");
    if (found == 0) return std::nullopt;
    check_mpi(PMPI_Get_count(&status, MPI_BYTE, &length), "MPI_Get_count");
    return Arrival{status.MPI_SOURCE, static_cast<std::size_t>(length), handle_bits(message)};
  }

  Step receive(const Arrival& arrival, std::span<std::byte> bytes,
               Transfer& transfer) noexcept override {
    auto message = handle_of<MPI_Message>(arrival.announced);
    MPI_Request request = MPI_REQUEST_NULL;
    const int code =
        PMPI_Imrecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, &message, &request);
    if (code != MPI_SUCCESS) return {false, "MPI_Imrecv", code};
    transfer = handle_bits(request);
    return test(transfer);
  }

  void abandon(Transfer transfer) noexcept override {
    auto request = handle_of<MPI_Request>(transfer);
    PMPI_Request_free(&request);
  }
  std::string text_of(int code) const override { return mpi_error_text(code); }

 private:
  PrivateCommunicator comm_;
};

}  // namespace

std::unique_ptr<Carrier> make_mpi_carrier() {
  return std::make_unique<MpiCarrier>();
}

}  // namespace penstock::group
