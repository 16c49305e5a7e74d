// SPDX-License-Identifier: Apache-2.0
// What keeps one rank from going on is an error on all of them: nobody is left waiting.
#pragma once

#include <functional>
#include <penstock/penstock.hpp>
#include <string>

namespace penstock::halo {

// Wrong use, found by us.
[[noreturn]] void refuse(const std::string& text);

// Runs the step on every rank; if it throws on one, all throw its error (that of the lowest such
// rank). Collective.
void together(MPI_Comm comm, const std::function<void()>& step);

// Throws on all ranks unless all give the same text. Collective.
void expect_same(MPI_Comm comm, const std::string& text);

}  // namespace penstock::halo
