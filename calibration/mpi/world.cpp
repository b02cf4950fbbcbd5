#include "calibration/mpi/world.h"

#include "sim/core/error.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <sys/prctl.h>
#include <thread>

namespace steptime {

MpiProcesses::MpiProcesses(int* argc, char*** argv) {
  // Linux lets sleepers wake up to 50 us late, unless they ask for more care.
  prctl(PR_SET_TIMERSLACK, 1);
  int provided = 0;
  MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided < MPI_THREAD_MULTIPLE) {
    MPI_Finalize();
    throw MissingError(
        "this MPI has no MPI_THREAD_MULTIPLE; Debian's Open MPI has: apt-get "
        "install libopenmpi-dev openmpi-bin");
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  MPI_Comm_dup(MPI_COMM_WORLD, &data_);
  MPI_Comm_dup(MPI_COMM_WORLD, &control_);

  using Name = std::array<char, MPI_MAX_PROCESSOR_NAME>;
  Name own{};
  int length = 0;
  MPI_Get_processor_name(own.data(), &length);
  std::vector<Name> names(static_cast<std::size_t>(ranks_));
  MPI_Allgather(own.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, names.data(), MPI_MAX_PROCESSOR_NAME,
                MPI_CHAR, control_);
  nodes_ = static_cast<std::int64_t>(std::set<Name>(names.begin(), names.end()).size());
}

MpiProcesses::~MpiProcesses() {
  MPI_Comm_free(&data_);
  MPI_Comm_free(&control_);
  MPI_Finalize();
}

std::string MpiProcesses::library() const {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string version(text.data());
  return version.substr(0, version.find(','));
}

void MpiProcesses::wait(MPI_Request& request) const {
  wait(std::span(&request, 1));
}

void MpiProcesses::wait(std::span<MPI_Request> requests) const {
  for (;;) {
    int done = 0;
    MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
    if (done != 0) return;
    if (nap_.count() > 0) std::this_thread::sleep_for(nap_);
  }
}

void MpiProcesses::barrier() const {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(control_, &request);
  wait(request);
}

double MpiProcesses::most(double value) const {
  double result = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&value, &result, 1, MPI_DOUBLE, MPI_MAX, control_, &request);
  wait(request);
  return result;
}

double MpiProcesses::sum(double value) const {
  double result = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&value, &result, 1, MPI_DOUBLE, MPI_SUM, control_, &request);
  wait(request);
  return result;
}

namespace {

template <class List>
void share_list(const MpiProcesses& world, List& list, MPI_Datatype type) {
  auto size = static_cast<std::int64_t>(list.size());
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(&size, 1, MPI_INT64_T, 0, world.control(), &request);
  world.wait(request);
  list.resize(static_cast<std::size_t>(size));
  MPI_Ibcast(list.data(), static_cast<int>(size), type, 0, world.control(), &request);
  world.wait(request);
}

}  // namespace

void MpiProcesses::share(std::vector<std::int32_t>& values) const {
  share_list(*this, values, MPI_INT32_T);
}
void MpiProcesses::share(std::vector<double>& values) const {
  share_list(*this, values, MPI_DOUBLE);
}
void MpiProcesses::share(std::string& text) const {
  share_list(*this, text, MPI_CHAR);
}

}  // namespace steptime
