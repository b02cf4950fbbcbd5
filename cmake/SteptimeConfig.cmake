# Steptime::steptime, installed by cmake/library.cmake.
include(CMakeFindDependencyMacro)
foreach(package fmt nlohmann_json spdlog TBB ZLIB)
  find_dependency(${package})
endforeach()
find_dependency(Boost 1.74 COMPONENTS program_options)
get_filename_component(prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

add_library(Steptime::steptime INTERFACE IMPORTED)
target_compile_features(Steptime::steptime INTERFACE cxx_std_20)
target_include_directories(Steptime::steptime INTERFACE ${prefix}/include/steptime)
# Whole, as its catalogues register themselves.
target_link_libraries(Steptime::steptime INTERFACE
  -Wl,--whole-archive ${prefix}/lib/libsteptime.a -Wl,--no-whole-archive
  Boost::program_options fmt::fmt nlohmann_json::nlohmann_json spdlog::spdlog TBB::tbb ZLIB::ZLIB
  ${CMAKE_DL_LIBS})
