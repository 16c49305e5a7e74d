// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace penstock::overlap {

// Who moves large messages along.
enum class Caller {
  thread,   // the engine's
  passing,  // a call of the program's that returns at once, such as MPI_Test
  waiting   // one that has nothing else to do
};

}  // namespace penstock::overlap
