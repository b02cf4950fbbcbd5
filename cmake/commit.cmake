# Writes the header HEADER with the commit of the checkout SOURCE; leaves it alone when it says the
# same already, so that nothing is built again for it.
execute_process(COMMAND git -C "${SOURCE}" describe --always --dirty --abbrev=12 --match=
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                RESULT_VARIABLE failed)
if(failed)
  set(commit "")
endif()
set(text "#define STEPTIME_COMMIT \"${commit}\"\n")
set(before "")
if(EXISTS "${HEADER}")
  file(READ "${HEADER}" before)
endif()
if(NOT before STREQUAL text)
  file(WRITE "${HEADER}" "${text}")
endif()
