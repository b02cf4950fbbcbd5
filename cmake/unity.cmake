# Many files in one compilation: half of the processor's time for a build from nothing, but a minute
# after a change of one file. So it is for who builds once: run.sh, the fuzzers of CI, pip.
#
# The files of a folder are one batch, whatever is added to other folders. Of the constants that
# many files have of their own each file in a batch gets its own; all other names must differ between
# the files of a folder.
set(before "#define STEPTIME_JOIN(name, file) name##_##file\n"
           "#define STEPTIME_OWN(name, file) STEPTIME_JOIN(name, file)\n")
set(after "")
foreach(name kEstimate kHeader kKeys kParams kRegistered kUnprintable kUses)
  list(APPEND before "#define ${name} STEPTIME_OWN(${name}, STEPTIME_FILE)\n")
  list(APPEND after "#undef ${name}\n")
endforeach()
string(JOIN "" before ${before})
string(JOIN "" after ${after})

# NCCL's releases call their own tables alike.
file(GLOB alone CONFIGURE_DEPENDS netmodels/libraries/nccl_*.cpp)
# In a batch what plays messages takes 5 % longer: it stays alone. Who only checks does not mind, and
# says ALL.
if(NOT STEPTIME_UNITY STREQUAL "ALL")
  foreach(file events/causes events/engine events/event_queue events/run_ahead network/max_min
          network/network collective/collective_player collective/message_collective runtime/group
          runtime/mediums runtime/world)
    list(APPEND alone ${PROJECT_SOURCE_DIR}/sim/${file}.cpp)
  endforeach()
endif()

foreach(target ${parts} calibration steptime-mpi steptime-dnnl steptime-cuda)
  if(NOT TARGET ${target})
    continue()
  endif()
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ON UNITY_BUILD_MODE GROUP UNITY_BUILD_UNIQUE_ID STEPTIME_FILE
    UNITY_BUILD_CODE_BEFORE_INCLUDE "${before}" UNITY_BUILD_CODE_AFTER_INCLUDE "${after}")
  get_target_property(files ${target} SOURCES)
  list(FILTER files EXCLUDE REGEX "TARGET_OBJECTS")
  list(REMOVE_ITEM files ${alone})
  foreach(file ${files})
    cmake_path(ABSOLUTE_PATH file)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE batch)
    cmake_path(REMOVE_FILENAME batch)
    string(MAKE_C_IDENTIFIER ${batch} batch)
    set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${batch})
  endforeach()
endforeach()
# GCC takes what a batch says of itself for what a header says to others.
target_compile_options(options INTERFACE -Wno-shadow
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
