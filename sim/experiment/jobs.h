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

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace steptime {

struct Job {
  std::string name;
  std::vector<std::int64_t> nodes;  ///< the network's numbers
  Duration start{};
  std::vector<std::string> sections{};           ///< "workload", "strategy": those of its own
  std::shared_ptr<const Experiment> experiment;  ///< on a cluster of its nodes alone
};

struct JobSet {
  std::shared_ptr<const Cluster> network;  ///< all jobs', as messages meet it
  std::vector<Job> jobs;
};

/// Keys of one job.
const Params& job_params();

/// What the jobs say of themselves, without their experiments; none where there are no jobs. Throws
/// InputError.
std::vector<Job> stated_jobs(const std::shared_ptr<const Document>& document);
/// The experiment of one of them: with its own sections, and a cluster of its nodes alone.
std::shared_ptr<const Document> document_of(const Document& document, std::size_t place,
                                            const Job& job);
/// What is said of a place of a job's experiment, "/strategy/schedule: ...", or of a file's, as the
/// document has it: below "/jobs/PLACE" where the section is its own.
std::string text_of_job(std::size_t place, const Job& job, const std::string& text);
/// Throws what `read` throws, told of the job's own sections where it has such.
void read_of_job(const Document& document, std::size_t place, const std::function<void()>& read);

/// An experiment without jobs as it stands; of one with jobs, the first one's. Throws InputError.
std::shared_ptr<const Document> of_first_job(const std::shared_ptr<const Document>& document);

}  // namespace steptime
