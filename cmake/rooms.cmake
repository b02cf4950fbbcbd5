# What the simulator consists of: the rooms of sim/ and the catalogues, a target each. All together
# are steptime_all, for the program, the tests and the Python module.

# A room includes only itself and those before it: scripts/check_layering.sh reads the order here.
set(rooms core config events network collective runtime workload step learning servers training
    layouts mxnet experiment sweeps evidence drawing command)
# Those that play messages, or ranks in their coroutines.
set(played_rooms events network collective runtime servers training mxnet layouts)
# Those that read, judge and draw once: compiling them fast is worth more than code that runs fast.
set(cold_rooms evidence drawing command)
list(TRANSFORM played_rooms PREPEND sim_ OUTPUT_VARIABLE played_parts)
list(TRANSFORM cold_rooms PREPEND sim_ OUTPUT_VARIABLE cold_parts)
list(APPEND cold_parts importers)

set(parts "")
# add_part(<target> <folder> [<folder to leave out>])
function(add_part target folder)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${folder}/*.cpp)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${folder}/*.h)
  list(REMOVE_ITEM files ${PROJECT_SOURCE_DIR}/sim/command/main.cpp)
  foreach(other ${ARGN})
    list(FILTER files EXCLUDE REGEX "/${other}/")
    list(FILTER headers EXCLUDE REGEX "/${other}/")
  endforeach()
  add_library(${target} OBJECT ${files})
  target_link_libraries(${target} PUBLIC options)
  # Every header compiles alone: -D CMAKE_VERIFY_INTERFACE_HEADER_SETS=ON, then the target
  # all_verify_interface_header_sets.
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
  set(parts ${parts} ${target} PARENT_SCOPE)
endfunction()
foreach(room ${rooms})
  add_part(sim_${room} sim/${room})
endforeach()
# Catalogues: dropping a file in is enough, as it registers itself.
add_part(models models importers)
add_part(importers models/importers)
add_part(netmodels netmodels)
add_part(schedulers schedulers)

foreach(target ${cold_parts})
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # bug 105651: false alarms on std::string
    target_compile_options(${target} PRIVATE -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow)
  endif()
endforeach()
# Eigen without vector instructions sums in one order on every compiler and machine.
target_link_libraries(models PUBLIC Eigen3::Eigen)
target_compile_definitions(models PRIVATE EIGEN_DONT_VECTORIZE)
# The one file that knows the path, so that objects can be shared between checkouts by ccache.
set_source_files_properties(sim/config/data_dir.cpp PROPERTIES COMPILE_DEFINITIONS
                            STEPTIME_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
# So is the one that knows the commit, which is looked up by every build.
set(commit_header ${PROJECT_BINARY_DIR}/generated/commit.h)
add_custom_target(commit BYPRODUCTS ${commit_header}
                  COMMAND ${CMAKE_COMMAND} -D SOURCE=${PROJECT_SOURCE_DIR} -D HEADER=${commit_header}
                          -P ${PROJECT_SOURCE_DIR}/cmake/commit.cmake)
add_dependencies(sim_command commit)
set_source_files_properties(sim/command/version.cpp PROPERTIES INCLUDE_DIRECTORIES
                            ${PROJECT_BINARY_DIR}/generated)

# The fuzzers see the branches of what reads, in all its files. Not of what plays: clang 14 cannot
# assemble the tables of branches of coroutines, which are there and among the schedulers.
set(read_parts ${parts})
list(REMOVE_ITEM read_parts ${played_parts} schedulers)
if(STEPTIME_FUZZ)
  foreach(target ${read_parts})
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endforeach()
endif()

# Of a function that several files have the linker takes the first, so those that are optimised less
# come last.
set(in_order ${parts})
list(REMOVE_ITEM in_order ${cold_parts})
list(APPEND in_order ${cold_parts})
list(TRANSFORM in_order REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
add_library(steptime_all INTERFACE)
target_link_libraries(steptime_all INTERFACE ${parts})
target_sources(steptime_all INTERFACE ${objects})
