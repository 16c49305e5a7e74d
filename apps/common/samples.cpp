// SPDX-License-Identifier: Apache-2.0
#include "common/samples.hpp"

#include <mpi.h>

namespace penstock::apps {

OverRanks over_ranks(double mine) {
  OverRanks all;
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&mine, &all.average, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&mine, &all.minimum, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&mine, &all.maximum, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  all.average /= size;
  return all;
}

tool::Summary Samples::slowest() const {
  return tool::summarize(all(&OverRanks::maximum));
}

OverRanks Samples::medians() const {
  return {tool::summarize(all(&OverRanks::average)).median,
          tool::summarize(all(&OverRanks::minimum)).median,
          tool::summarize(all(&OverRanks::maximum)).median};
}

std::vector<double> Samples::all(double OverRanks::*member) const {
  std::vector<double> values;
  for (const OverRanks& round : rounds_) values.push_back(round.*member);
  return values;
}

}  // namespace penstock::apps
