# Toolchain of one of Debian's cross compilers, for a root file system with the libraries of the
# target: cmake -D CMAKE_TOOLCHAIN_FILE=cmake/cross.cmake -D STEPTIME_TARGET=powerpc64le-linux-gnu
#               -D CMAKE_SYSROOT=FOLDER ...; tests/cross.sh makes the folder.
set(CMAKE_SYSTEM_NAME Linux)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES STEPTIME_TARGET)
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR ${STEPTIME_TARGET})
set(CMAKE_CXX_COMPILER ${STEPTIME_TARGET}-g++)
set(CMAKE_LIBRARY_ARCHITECTURE ${STEPTIME_TARGET})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# Open MPI's compiler wrapper is a program of the target, which cannot be asked here.
set(MPI_CXX_COMPILER_INCLUDE_DIRS ${CMAKE_SYSROOT}/usr/lib/${STEPTIME_TARGET}/openmpi/include)
set(MPI_CXX_LIB_NAMES mpi)
set(MPI_CXX_HEADER_DIR ${MPI_CXX_COMPILER_INCLUDE_DIRS})
set(MPI_mpi_LIBRARY ${CMAKE_SYSROOT}/usr/lib/${STEPTIME_TARGET}/openmpi/lib/libmpi.so)
set(MPI_CXX_SKIP_MPICXX ON)
