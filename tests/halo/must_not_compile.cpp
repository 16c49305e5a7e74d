// SPDX-License-Identifier: Apache-2.0
// Compiles as it is, and with none of the macros below.
#include <penstock/halo.hpp>
#include <string>

using namespace penstock::halo;

#if defined(NOT_TRIVIAL)
using Element = std::string;
#elif defined(CONST)
using Element = const double;
#elif defined(NO_SUM)
struct Element {
  double real, imaginary;
};
#else
using Element = double;
#endif

void exchange(Halo<2>& halo, View<Element, 2> view) {
  halo.enqueue_gather(view);
  halo.enqueue_scatter(Sum(), view);
}
