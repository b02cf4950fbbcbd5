# The files of a suite in batches, each one compilation: what they all read, and the templates that
# they all use, are then compiled once in a batch and not once in a file, which takes a fifth of the
# processor's time.
#
# A batch is the text of its files one behind the other, written when one of them has changed. Every
# file gets a namespace of its own inside steptime, so that no name in it can meet one of another
# file: its line "namespace steptime {" becomes "namespace steptime::FILE {". Messages of the
# compiler and of the tests name the file itself, and its lines.
if(CMAKE_SCRIPT_MODE_FILE)  # cmake -D FOLDER= -D FILES= -D BATCH= -P cmake/test_batches.cmake
  set(batch "")
  foreach(file ${FILES})
    file(READ ${FOLDER}/${file} text)
    string(MAKE_C_IDENTIFIER ${file} own)
    string(REPLACE "\nnamespace steptime {\n" "\nnamespace steptime::${own} {\n" changed "${text}")
    if(changed STREQUAL text)
      message(FATAL_ERROR "${FOLDER}/${file}: a test's own names stand in \"namespace steptime {\", "
                          "a line of its own, and there in \"namespace {\"; there is no such line")
    endif()
    string(APPEND batch "#line 1 \"${FOLDER}/${file}\"\n${changed}")
  endforeach()
  file(WRITE ${BATCH} "${batch}")
  return()
endif()

# batch_tests(<variable> <suite> <most> <file>...): the batches of the files. Those of a room of sim/,
# or of another folder, are dealt out by the hash of their names, to batches of <most> or so: a new
# file changes one batch.
function(batch_tests variable suite most)
  set(rooms "")
  foreach(file ${ARGN})
    cmake_path(ABSOLUTE_PATH file)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    string(REGEX MATCH "^(sim/)?[^/]+" room ${file})
    string(MAKE_C_IDENTIFIER ${room} room)
    list(APPEND rooms ${room})
    list(APPEND files_${room} ${file})
  endforeach()
  list(REMOVE_DUPLICATES rooms)
  set(batches "")
  foreach(room ${rooms})
    list(LENGTH files_${room} count)
    math(EXPR parts "(${count} + ${most} - 1) / ${most}")
    set(used "")
    foreach(file ${files_${room}})
      string(MD5 hash ${file})
      string(SUBSTRING ${hash} 0 6 hash)
      math(EXPR part "0x${hash} % ${parts}")
      list(APPEND used ${part})
      list(APPEND part_${room}_${part} ${file})
    endforeach()
    list(REMOVE_DUPLICATES used)
    foreach(part ${used})
      set(batch ${CMAKE_CURRENT_BINARY_DIR}/batches/${suite}_${room}_${part}.cpp)
      list(TRANSFORM part_${room}_${part} PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE paths)
      add_custom_command(
        OUTPUT ${batch} DEPENDS ${paths} ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
        COMMAND ${CMAKE_COMMAND} -D FOLDER=${CMAKE_CURRENT_SOURCE_DIR}
                -D "FILES=${part_${room}_${part}}" -D BATCH=${batch}
                -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
        VERBATIM)
      list(APPEND batches ${batch})
    endforeach()
  endforeach()
  set(${variable} ${batches} PARENT_SCOPE)
endfunction()
