// SPDX-License-Identifier: Apache-2.0
// The three parts of an iteration. They do nothing once the state says that it has converged.
//
// - multiply: product = A direction; leaves own_curvature.
// - step: along the direction, by the curvature of all ranks; leaves own_residual.
// - turn: the next direction, by the residual of all ranks; ends the iteration.
//
// They add up in an order that the extents decide, so the same numbers give the same bits.
#pragma once

#include "cg/vectors.hpp"

namespace penstock::cg {

namespace host {
void multiply(const Vectors& vectors);
void step(const Vectors& vectors);
void turn(const Vectors& vectors);
}  // namespace host

// `stream` is a cudaStream_t or hipStream_t. All throw where a launch fails.
namespace gpu {
void multiply(void* stream, const Vectors& vectors);
void step(void* stream, const Vectors& vectors);
void turn(void* stream, const Vectors& vectors);
std::size_t most_blocks(const int (&extents)[3]);  // of one kernel
// Before anything waits on the device, or is captured: a kernel's first launch may load it.
void load();
}  // namespace gpu

}  // namespace penstock::cg
