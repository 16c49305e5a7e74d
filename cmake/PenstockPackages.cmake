# SPDX-License-Identifier: Apache-2.0
# CPack: the .deb packages libpenstock0, libpenstock-dev and penstock-tools, from the install components runtime, development
# and tools. tools/package builds them as Debian wants them (prefix /usr, no rpath); see docs/building.md.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME penstock)
set(CPACK_PACKAGE_VENDOR Penstock)
set(CPACK_PACKAGE_CONTACT "The Penstock authors <maintainers@penstock.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX "${CMAKE_INSTALL_PREFIX}")
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime development tools)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/lib")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# A library serves one MPI. Packages of the same names for the other replace these, as the version says.
set(CPACK_DEBIAN_PACKAGE_VERSION "${PROJECT_VERSION}+${penstock_mpi_vendor}")
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(penstock_deb_version "${CPACK_DEBIAN_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")
set(penstock_deb_mpi "lib${penstock_mpi_vendor}-dev")

set(penstock_deb_library "libpenstock${PROJECT_VERSION_MAJOR}")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME "${penstock_deb_library}")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS libfabric1)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libpenstock-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${penstock_deb_library} (= ${penstock_deb_version}), ${penstock_deb_mpi}")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME penstock-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "${penstock_deb_library} (= ${penstock_deb_version}), ${penstock_mpi_vendor}")
if(penstock_mpi_vendor STREQUAL "openmpi")
  string(REPLACE ", openmpi" ", openmpi-bin" CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "${CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS}")
endif()
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS "python3, python3-matplotlib")

set(description "Messages of MPI programs that a stream sends and waits for, without the CPU:\nthe program matches persistent requests once and enqueues them beside its\nkernels.")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "${description}\nThis package holds the library.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "${description}\nThis package holds the headers, the CMake package and the pkg-config files.")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "${description}\nThis package holds the penstock command: benchmarks, applications, doctor.")
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "${PROJECT_DESCRIPTION} - library\n${CPACK_COMPONENT_RUNTIME_DESCRIPTION}")

# What each package has in /usr/share/doc, and no other installation. gzip -n, so that it is the same in every build.
find_program(penstock_gzip gzip NO_CACHE)
if(penstock_gzip)
  set(penstock_deb_doc "${PROJECT_BINARY_DIR}/deb")
  file(WRITE "${penstock_deb_doc}/copyright" "Copyright 2026 the Penstock authors\nLicense: Apache-2.0\n\n"
       "On Debian the text of the licence is in /usr/share/common-licenses/Apache-2.0.\n")
  configure_file(CHANGELOG.md "${penstock_deb_doc}/changelog" COPYONLY)
  execute_process(COMMAND "${penstock_gzip}" -9nkf "${penstock_deb_doc}/changelog")
  file(WRITE "${penstock_deb_doc}/changelog.Debian"
       "penstock (${penstock_deb_version}) stable; urgency=medium\n\n  * See changelog.gz.\n\n"
       " -- The Penstock authors <maintainers@penstock.invalid>  Thu, 01 Jan 1970 00:00:00 +0000\n")
  execute_process(COMMAND "${penstock_gzip}" -9nkf "${penstock_deb_doc}/changelog.Debian")
  # The linker's cache is renewed once, when all packages are in place.
  file(WRITE "${penstock_deb_doc}/triggers" "activate-noawait ldconfig\n")
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${penstock_deb_doc}/triggers")
  foreach(part runtime development tools)
    string(TOUPPER "${part}" key)
    install(FILES "${penstock_deb_doc}/copyright" "${penstock_deb_doc}/changelog.gz" "${penstock_deb_doc}/changelog.Debian.gz"
      DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${key}_PACKAGE_NAME}" COMPONENT ${part} EXCLUDE_FROM_ALL)
  endforeach()
endif()
include(CPack)
