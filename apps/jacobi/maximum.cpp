// SPDX-License-Identifier: Apache-2.0
#include "jacobi/maximum.hpp"

namespace penstock::jacobi {
namespace {

constexpr int up = 200;
constexpr int down = 201;

std::span<double> one(double& number) {
  return {&number, 1};
}

}  // namespace

Maximum::Maximum(Field& field, apps::Lane& lane) : field_(field), lane_(lane) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  State& state = *field.state();
  for (int child = 2 * rank + 1; child <= 2 * rank + 2 && child < size; ++child) {
    reports_in_.add(recv_init(one(state.from_children[children_++]), child, up, MPI_COMM_WORLD));
    answers_out_.add(send_init(one(state.largest), child, down, MPI_COMM_WORLD));
  }
  is_root_ = rank == 0;
  if (!is_root_) {
    const int parent = (rank - 1) / 2;
    report_out_.add(send_init(one(state.change), parent, up, MPI_COMM_WORLD));
    report_out_.add(recv_init(one(state.largest), parent, down, MPI_COMM_WORLD));
  }
  std::vector<MPI_Request> all;
  for (Requests* requests : {&reports_in_, &report_out_, &answers_out_}) {
    all.insert(all.end(), requests->all().begin(), requests->all().end());
  }
  match(all);
}

void Maximum::enqueue() {
  const QueueView queue = lane_.queue();
  queue.run(reports_in_.all());
  field_.combine(children_, is_root_);
  queue.run(report_out_.all());
  queue.run(answers_out_.all());
}

}  // namespace penstock::jacobi
