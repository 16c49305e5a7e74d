// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace penstock::tool {

// A descriptor of the terminal that shows this process's errors, -1 where none does. A launcher
// reads what its ranks print from pipes, and shows it: its own terminal counts as theirs, where it
// runs on this host.
int terminal_of_errors();

}  // namespace penstock::tool
