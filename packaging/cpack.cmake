# What CPack reads anew for each generator. The tarball is one tree that can be moved; Debian's packages are its components,
# without the GPUs' modules, whose libraries Debian does not have.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENTS_ALL ${CPACK_MESHSCOPE_COMPONENTS})
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION education)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CPACK_MESHSCOPE_LIB_FOLDER})
  set(same "(= ${CPACK_PACKAGE_VERSION})")

  set(CPACK_DEBIAN_ENGINE_PACKAGE_NAME meshscope)
  set(CPACK_DEBIAN_ENGINE_PACKAGE_RECOMMENDS meshscope-app)
  set(CPACK_DEBIAN_ENGINE_PACKAGE_SUGGESTS "meshscope-mpi, ffmpeg")
  set(CPACK_COMPONENT_ENGINE_DESCRIPTION "Runs true DDP, FSDP, HSDP, ZeRO, tensor, sequence, pipeline and context
parallel training steps on ranks of this computer, records every collective,
every chunk and every byte, predicts what a model takes on real hardware, and
teaches all of it in lessons, in English and Chinese. This is the command.")

  set(CPACK_DEBIAN_WINDOW_PACKAGE_NAME meshscope-app)
  set(CPACK_DEBIAN_WINDOW_PACKAGE_DEPENDS
    "meshscope ${same}, libgl1, libgl1-mesa-dri, libegl-mesa0, libglx-mesa0, fonts-dejavu-core, fonts-wqy-microhei | fonts-noto-cjk")
  set(CPACK_DEBIAN_WINDOW_PACKAGE_SUGGESTS ffmpeg)
  set(CPACK_COMPONENT_WINDOW_DESCRIPTION "The window. It shows a recorded run: mesh coordinates, slices, collectives,
memory and time on one cursor, in motion; plays the lessons; edits a scenario
and runs it.")

  set(CPACK_DEBIAN_MPI_PACKAGE_NAME meshscope-mpi)
  set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "meshscope ${same}")
  set(CPACK_COMPONENT_MPI_DESCRIPTION "The modules through which ranks of meshscope talk over Open MPI and MPICH.")
endif()
