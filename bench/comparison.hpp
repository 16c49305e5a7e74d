// SPDX-License-Identifier: Apache-2.0
// The algorithms of a collective beside each other, for penstock tune.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "json_line.hpp"
#include "run_delay.hpp"

namespace penstock::bench {

// What each algorithm that serves has taken, a figure for each by its name, with its width.
struct Comparison {
  Kind kind;
  std::size_t bytes;
  std::vector<Figure> figures;

  const Figure& fastest() const;  // by its median
};

class Comparer {
 public:
  // The options' kind is a collective, and their algorithms are those that are compared; they
  // outlive this.
  Comparer(const Options& options, const tool::Session& session);

  // Measures, when what each brings has been found right in every byte. Collective; all ranks get
  // the same. Throws tool::UserError where none serves.
  Comparison compare(std::size_t bytes);

  std::string description() const { return device_->description(); }
  // Algorithms that have not served, and why not the last time.
  const std::map<std::string, std::string>& refused() const { return refused_; }
  const ThreadTimes& measured() const { return measured_; }

 private:
  std::unique_ptr<Side> make_side(const Row& row);

  const Options& options_;
  const tool::Session& session_;
  const std::unique_ptr<Device> device_;
  std::map<std::string, std::string> refused_;
  ThreadTimes measured_;
};

}  // namespace penstock::bench
