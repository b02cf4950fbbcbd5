# The Python module, on the same library as the program. What is written in Python stands beside it.
find_package(pybind11 2.10 QUIET)
if(NOT pybind11_FOUND)
  message(FATAL_ERROR "STEPTIME_PYTHON: pybind11 (pybind11-dev, python3-dev) not found")
endif()
pybind11_add_module(steptime_python MODULE NO_EXTRAS python/module.cpp)
set(package ${PROJECT_BINARY_DIR}/python/steptime)
set_target_properties(steptime_python PROPERTIES OUTPUT_NAME _steptime LIBRARY_OUTPUT_DIRECTORY ${package})
target_link_libraries(steptime_python PRIVATE steptime_all)
# pybind11's own headers shadow and convert.
target_compile_options(steptime_python PRIVATE -Wno-shadow -Wno-conversion -Wno-pedantic)
add_custom_command(TARGET steptime_python POST_BUILD COMMAND ${CMAKE_COMMAND} -E copy_directory
                   ${PROJECT_SOURCE_DIR}/python/steptime ${package})

# A package with its data inside, which `pip install .` asks for.
install(TARGETS steptime_python DESTINATION steptime COMPONENT python EXCLUDE_FROM_ALL)
install(DIRECTORY python/steptime/ DESTINATION steptime COMPONENT python EXCLUDE_FROM_ALL
        PATTERN __pycache__ EXCLUDE)
install(DIRECTORY configs traces DESTINATION steptime/share/steptime COMPONENT python EXCLUDE_FROM_ALL)
install(DIRECTORY models netmodels DESTINATION steptime/share/steptime COMPONENT python
        EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.json")
# And Debian's, whose data are the program's.
set(packages lib/python3/dist-packages/steptime)
install(TARGETS steptime_python DESTINATION ${packages})
install(DIRECTORY python/steptime/ DESTINATION ${packages} PATTERN __pycache__ EXCLUDE)
