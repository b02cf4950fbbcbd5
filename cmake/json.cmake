# nlohmann/json.hpp without the body of its literal for JSON text, which nobody uses here. As it is
# no template, each file that reads the header would have to instantiate a parser for it: with GCC,
# which does not keep instantiations in a precompiled header, 1.7 s of the processor's time a file.
get_target_property(json_folders nlohmann_json::nlohmann_json INTERFACE_INCLUDE_DIRECTORIES)
find_file(json_original nlohmann/json.hpp HINTS ${json_folders} REQUIRED NO_CACHE)
set(json_header ${PROJECT_BINARY_DIR}/generated/json/nlohmann/json.hpp)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${json_original})
file(READ ${json_original} json_text)
string(REGEX REPLACE "(inline nlohmann::json operator *\"\" *_json\\([^)]*\\))[^{};]*{[^{}]*}"
       "\\1 = delete;" json_text "${json_text}")
set(json_before "")
if(EXISTS ${json_header})
  file(READ ${json_header} json_before)
endif()
if(NOT json_text STREQUAL json_before)  # left alone, so that nothing is built again for it
  file(WRITE ${json_header} "${json_text}")
endif()
target_include_directories(options SYSTEM BEFORE INTERFACE ${PROJECT_BINARY_DIR}/generated/json)
