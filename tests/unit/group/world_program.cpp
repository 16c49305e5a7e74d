// SPDX-License-Identifier: Apache-2.0
// The processes part at the end: whoever hears that all are ready must be able to count on it. Over
// the library's own World, without the library around it.
#include <mpi.h>

#include <cstdio>

#include "group/world.hpp"

namespace {

using penstock::group::World;

int wrong = 0;

void expect(const World& world, const char* what, bool seen, bool expected) {
  if (seen == expected) return;
  std::fprintf(stderr, "rank %d: %s: end_together() says %d\n", world.rank(), what, seen);
  wrong = 1;
}

}  // namespace

int main(int argc, char** argv) {
  PMPI_Init(&argc, &argv);
  const auto yes = [] { return true; };
  const auto no = [] { return false; };
  {
    const auto world = World::join();
    expect(*world, "all are ready", world->end_together(yes, yes), true);
    for (int one = 0; one < world->size(); ++one) {
      const bool gives_up = world->rank() == one;
      expect(*world, "one has given up",
             world->end_together(gives_up ? no : yes, gives_up ? no : yes), false);
      expect(*world, "all are ready again", world->end_together(yes, yes), true);
    }
  }
  PMPI_Finalize();
  return wrong;
}
