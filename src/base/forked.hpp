// SPDX-License-Identifier: Apache-2.0
// A child of fork() holds copies of the library's memory and its parent's open files, but none of
// the library's threads. It must leave all of that to its parent.
#pragma once

namespace penstock::base {

// Whether this process is a child that was forked from one in which Penstock was ready. One relaxed
// load.
bool forked() noexcept;

// Has each child of fork() marked from now on, and `in_child` called there, which must be fit for a
// signal handler. Throws Error(resources).
void mark_forks(void (*in_child)() noexcept);

}  // namespace penstock::base
