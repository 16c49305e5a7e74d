// SPDX-License-Identifier: Apache-2.0
// The cores that this process may run on, and how many of them are its part when others may run
// there too.
#pragma once

#include <string>

#include "group/world.hpp"

namespace penstock::core {

class Cores {
 public:
  // Collective: counts the processes of this system that may run on a core of ours, also those in
  // containers, whose hosts have other names. One process where the launcher has bound each to
  // cores of its own.
  void share(group::World& world);

  // Our cores by the number of processes on them, rounded down. What the affinity mask says now: a
  // program may change it after MPI_Init.
  int our_part() const noexcept;

  // What to say of a process that may run on one core alone, of a machine that has more; empty
  // otherwise.
  std::string only_core() const;
  // That may run on a core of ours, with this one.
  int processes() const noexcept { return processes_; }

 private:
  int processes_ = 1;
};

}  // namespace penstock::core
