// How a sum over GPUs is made of a collective: on whose memory it works, who adds up, and what has
// to be copied before and after. Implemented in netmodels/backends/, one file each.
#pragma once
#include "sim/collective/collective.h"
#include "sim/config/registry.h"
#include "sim/network/cluster.h"

#include <memory>
#include <string>

namespace steptime {

class Backend {
 public:
  static constexpr const char* kNoun = "backend";
  virtual ~Backend() = default;
  /// The cluster as the collective finds it: its `reduction` is that of who adds up.
  virtual Cluster seen(Cluster cluster) const { return cluster; }
  /// The all-reduce of GPUs' gradients that is made of `plain`, a collective on seen(cluster);
  /// `plain` itself where nothing is added.
  virtual std::shared_ptr<const Collective> all_reduce(std::shared_ptr<const Collective> plain,
                                                       const Cluster& /*cluster*/) const {
    return plain;
  }
  /// Of a library that brings its own all-reduce, the collective that stands where the aggregation
  /// names none; else empty.
  virtual std::string library() const { return ""; }
  /// A call returns when the collective is on a stream of the GPUs, rather than when it is over.
  virtual bool launches() const { return false; }
  /// Empty, or why its times lie outside what was measured.
  virtual std::string outside_domain() const { return ""; }
};
using Backends = Registry<Backend>;

}  // namespace steptime
