# SPDX-License-Identifier: Apache-2.0
# Turns src/api/recorder.list (one MPI function a line, # begins a comment) into
#   penstock_recorder_config.h   PENSTOCK_HAVE_<MPI function> 1 or 0 for each: does the found MPI have it
#   penstock.map                 the version script: PST_* and those functions are exported, nothing else
# A function is there when the MPI's header declares its PMPI_ name (or Open MPI's header of extensions its PMPIX_ name);
# one run of the preprocessor answers for all.

set(recorder_list "${PROJECT_SOURCE_DIR}/src/api/recorder.list")
set(penstock_generated_dir "${PROJECT_BINARY_DIR}/generated")
set(penstock_version_script "${penstock_generated_dir}/penstock.map")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${recorder_list}")

file(WRITE "${penstock_generated_dir}/include_mpi.c" [[
#include <mpi.h>
#if defined(OPEN_MPI) && defined(__has_include)
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#endif
]])
set(include_flags ${MPI_C_INCLUDE_DIRS})
list(TRANSFORM include_flags PREPEND "-I")
execute_process(
  COMMAND "${CMAKE_C_COMPILER}" ${MPI_C_COMPILE_OPTIONS} ${include_flags} -E "${penstock_generated_dir}/include_mpi.c"
  OUTPUT_VARIABLE mpi_declarations
  RESULT_VARIABLE preprocessor_result)
if(NOT preprocessor_result EQUAL 0)
  message(FATAL_ERROR "The preprocessor cannot read mpi.h: see its message above")
endif()
string(REGEX MATCHALL "PMPIX?_[A-Za-z0-9_]+" mpi_names "${mpi_declarations}")
list(REMOVE_DUPLICATES mpi_names)

set(penstock_recorded "")
set(config "// Written by cmake/PenstockRecorder.cmake from src/api/recorder.list.\n#pragma once\n")
if(EXISTS "${recorder_list}")
  file(STRINGS "${recorder_list}" lines)
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "#.*" "" name "${line}")
    string(STRIP "${name}" name)
    if(name STREQUAL "")
      continue()
    elseif(NOT name MATCHES "^MPIX?_[A-Za-z0-9_]+$")
      message(FATAL_ERROR "src/api/recorder.list: '${line}' is not the name of an MPI function")
    endif()
    set(have 0)
    if("P${name}" IN_LIST mpi_names)
      set(have 1)
      list(APPEND penstock_recorded "${name}")
    endif()
    string(APPEND config "#define PENSTOCK_HAVE_${name} ${have}\n")
  endforeach()
endif()
file(CONFIGURE OUTPUT "${penstock_generated_dir}/penstock_recorder_config.h" CONTENT "${config}" @ONLY)

list(TRANSFORM penstock_recorded APPEND ";\n" OUTPUT_VARIABLE exports)
string(REPLACE ";;" ";" exports "${exports}")
string(REPLACE "\n;" "\n    " exports "${exports}")
file(CONFIGURE OUTPUT "${penstock_version_script}"
     CONTENT "{\n  global:\n    PST_*;\n    ${exports}  local:\n    *;\n};\n" @ONLY)
