# SPDX-License-Identifier: Apache-2.0
# cmake --install: library, headers, command, CMake package, pkg-config files. In parts (cmake --install --component):
# runtime (the libraries), development (what programs are compiled with), tools (the command), doc.

include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/penstock")

install(TARGETS penstock penstock_halo EXPORT penstock-targets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT development)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/penstock" "${penstock_built_include_dir}/penstock"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development)
if(TARGET penstock_command)
  file(RELATIVE_PATH lib_from_bin "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
  set_target_properties(penstock_command PROPERTIES INSTALL_RPATH "$ORIGIN/${lib_from_bin}")
  install(TARGETS penstock_command RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tools)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/tools/plot" DESTINATION "${CMAKE_INSTALL_DATADIR}/penstock"
    COMPONENT tools PATTERN __pycache__ EXCLUDE PATTERN "*.egg-info" EXCLUDE PATTERN build EXCLUDE)
  if(NOT PENSTOCK_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
    foreach(words bash-completion zsh man)
      install(DIRECTORY "${PROJECT_BINARY_DIR}/share/${words}" DESTINATION "${CMAKE_INSTALL_DATADIR}" COMPONENT tools)
    endforeach()
  endif()
endif()

install(FILES README.md CHANGELOG.md LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT doc)
install(DIRECTORY docs DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT doc
  FILES_MATCHING PATTERN "*.md" PATTERN "*.png" PATTERN site EXCLUDE)
# The documents name them.
install(DIRECTORY examples DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT doc PATTERN CMakeLists.txt EXCLUDE)

install(EXPORT penstock-targets NAMESPACE penstock:: DESTINATION "${package_dir}" COMPONENT development)
# Whole paths of this MPI's compiler wrappers; that for C++ is for projects in C++ alone.
if(MPI_C_COMPILER)
  find_program(penstock_mpi_c_wrapper NAMES "${MPI_C_COMPILER}" NO_CACHE)
endif()
string(REGEX REPLACE "mpicc([^/]*)$" "mpicxx\\1" penstock_mpi_cxx_wrapper "${penstock_mpi_c_wrapper}")
# What find_package(penstock COMPONENTS ...) may ask for, as this library was built.
set(penstock_has_cuda ${PENSTOCK_CUDA})
set(penstock_has_hip ${PENSTOCK_HIP})
set(penstock_has_ofi OFF)
if(LIBFABRIC_FOUND)
  set(penstock_has_ofi ON)
endif()
set(penstock_mpi_family "MPICH, or an MPI of its family")
if(penstock_mpi_vendor STREQUAL "openmpi")
  set(penstock_mpi_family "Open MPI")
endif()
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/penstock-config.cmake.in"
  "${PROJECT_BINARY_DIR}/penstock-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/penstock-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/penstock-config.cmake" "${PROJECT_BINARY_DIR}/penstock-config-version.cmake"
  DESTINATION "${package_dir}" COMPONENT development)

file(RELATIVE_PATH penstock_prefix_from_pc "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
foreach(name penstock penstock-halo)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in" "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
endforeach()
