// Several jobs on one network ("jobs" of an experiment): each has nodes of the cluster for itself,
// and a start. What a job does not say of its workload and strategy is the experiment's.
//
// The parts of an experiment with jobs are the first one's, on a cluster of as many nodes as it
// has. Of what `run` says, numbers of nodes are the cluster's.
#pragma once
#include "sim/config/json.h"
#include "sim/core/units.h"
#include "sim/experiment/experiment.h"
#include "sim/network/cluster.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace steptime {

struct Job {
  std::string name;
  std::vector<std::int64_t> nodes;  ///< of the network
  Duration start{};
  std::shared_ptr<const Experiment> experiment;  ///< on a cluster of its nodes alone
};

struct JobSet {
  std::shared_ptr<const Cluster> network;  ///< of all jobs, as messages meet it
  std::vector<Job> jobs;
};

/// Keys of one job.
const Params& job_params();

/// An experiment without jobs as it stands; of one with jobs, the first one's. Throws InputError.
std::shared_ptr<const Document> of_first_job(const std::shared_ptr<const Document>& document);
/// Throws what `read` throws, told of the first job's own sections where it has such.
void read_of_first_job(const std::shared_ptr<const Document>& document,
                       const std::function<void()>& read);
/// Null without any. Throws InputError.
std::shared_ptr<const JobSet> read_jobs(const std::shared_ptr<const Document>& document);

}  // namespace steptime
