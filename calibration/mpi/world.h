// The ranks that mpirun started, and collectives on them as a communication thread runs them:
// polled with naps in between, because ranks that spin take each other's processors.
#pragma once
#include <chrono>
#include <cstdint>
#include <mpi.h>
#include <span>
#include <string>
#include <vector>

namespace steptime {

using Clock = std::chrono::steady_clock;

class MpiProcesses {
 public:
  /// Initialises MPI for several threads. Throws MissingError when it has none.
  MpiProcesses(int* argc, char*** argv);
  ~MpiProcesses();
  MpiProcesses(const MpiProcesses&) = delete;
  MpiProcesses& operator=(const MpiProcesses&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  bool is_first() const { return rank_ == 0; }
  /// Different host names among the ranks.
  std::int64_t nodes() const { return nodes_; }
  /// "Open MPI v4.1.4, ..."
  std::string library() const;
  MPI_Comm data() const { return data_; }        ///< collectives of the schedule
  MPI_Comm control() const { return control_; }  ///< everything else

  void set_nap(std::chrono::microseconds nap) { nap_ = nap; }
  /// Returns when the request is through; looks every nap, or without a pause when the nap is zero.
  void wait(MPI_Request& request) const;
  void wait(std::span<MPI_Request> requests) const;
  void barrier() const;
  /// The largest of the ranks' values, on all of them.
  double most(double value) const;
  double sum(double value) const;
  /// Rank 0's value on all ranks.
  void share(std::vector<std::int32_t>& values) const;
  void share(std::vector<double>& values) const;
  void share(std::string& text) const;

 private:
  int rank_ = 0;
  int ranks_ = 1;
  std::int64_t nodes_ = 1;
  MPI_Comm data_ = MPI_COMM_NULL;
  MPI_Comm control_ = MPI_COMM_NULL;
  std::chrono::microseconds nap_{50};
};

}  // namespace steptime
