# All of the simulator as one library with its headers, for programs of others:
#
#   cmake --build BUILD --target steptime_library
#   cmake --install BUILD --component development --prefix PREFIX
#
# and there find_package(Steptime) and Steptime::steptime.
add_library(steptime_library STATIC EXCLUDE_FROM_ALL ${objects})
set_target_properties(steptime_library PROPERTIES OUTPUT_NAME steptime LINKER_LANGUAGE CXX)

install(TARGETS steptime_library DESTINATION lib COMPONENT development EXCLUDE_FROM_ALL)
install(DIRECTORY sim models netmodels schedulers DESTINATION include/steptime COMPONENT development
        EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.h")
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/SteptimeConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES cmake/SteptimeConfig.cmake ${PROJECT_BINARY_DIR}/SteptimeConfigVersion.cmake
        DESTINATION lib/cmake/Steptime COMPONENT development EXCLUDE_FROM_ALL)
