// How much a measurement was disturbed: what the operating system knows of waiting for a processor.
#pragma once

namespace steptime {

/// Seconds since the machine's start in which some task waited (/proc/pressure/cpu); 0 where the
/// system does not say.
double machine_wait_s();
/// Seconds that the calling thread could have run and did not (/proc/thread-self/schedstat); 0
/// where the system does not say.
double thread_wait_s();

}  // namespace steptime
