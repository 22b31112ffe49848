# `cmake --install` and CPack: the programs find their libraries and lessons from where they lie themselves, so that the
# installed tree can be moved. Components: engine (command, library, lessons, manual, completions), window, mpi, gpu.
# Ours alone load these, so they lie in a folder of their own; find_module (core/base) looks for modules there.
set(private_lib lib/meshscope)
set(MESHSCOPE_MAINTAINER "Meshscope maintainers <maintainers@meshscope.invalid>" CACHE STRING "Who answers for the packages that CPack makes")
# The time of the newest change, so that what is built twice is the same twice.
foreach(pair IN ITEMS DATE:%cs TIME:%cD)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 name)
  list(GET pair 1 format)
  execute_process(COMMAND git log -1 --format=${format} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE MESHSCOPE_RELEASE_${name}
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endforeach()
if(NOT MESHSCOPE_RELEASE_DATE OR NOT MESHSCOPE_RELEASE_TIME)  # sources without their history
  string(TIMESTAMP MESHSCOPE_RELEASE_DATE "%Y-%m-%d" UTC)
  string(TIMESTAMP MESHSCOPE_RELEASE_TIME "%a, %d %b %Y %H:%M:%S +0000" UTC)
endif()

set_target_properties(meshscope PROPERTIES INSTALL_RPATH "$ORIGIN/../${private_lib}")
install(TARGETS meshscope RUNTIME DESTINATION bin COMPONENT engine)
install(TARGETS meshscope_core LIBRARY DESTINATION ${private_lib} COMPONENT engine)
# Debian's packages: each component of which something was built.
set(packages meshscope:engine)
if(TARGET meshscope-app)
  list(APPEND packages meshscope-app:window)
endif()
if(TARGET meshscope_mpi_openmpi OR TARGET meshscope_mpi_mpich)
  list(APPEND packages meshscope-mpi:mpi)
endif()
foreach(pair IN ITEMS meshscope_blas_openblas:engine meshscope_blas_onednn:engine meshscope_mpi_openmpi:mpi meshscope_mpi_mpich:mpi
                      meshscope_cuda_module:gpu meshscope_nccl:gpu)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 module)
  list(GET pair 1 component)
  if(TARGET ${module})
    install(TARGETS ${module} LIBRARY DESTINATION ${private_lib} COMPONENT ${component})
  endif()
endforeach()
install(DIRECTORY scenarios DESTINATION share/meshscope COMPONENT engine)
# The page that exports are made of and notebooks show, where scripts/web built it.
install(FILES out/web/meshscope.html DESTINATION share/meshscope COMPONENT engine OPTIONAL)
install(FILES README.md CHANGELOG.md DESTINATION share/doc/meshscope COMPONENT engine)
install(DIRECTORY docs DESTINATION share/doc/meshscope COMPONENT engine PATTERN pictures EXCLUDE)

# Manual pages and completions are the program's own help, in both languages.
set(made ${CMAKE_BINARY_DIR}/share)
find_program(GZIP gzip)
configure_file(packaging/debian/changelog.in ${made}/changelog @ONLY)
if(TARGET meshscope-app)
  set(app_manual COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:meshscope-app> -DOUT=${made}/man -P ${CMAKE_SOURCE_DIR}/packaging/app_manual.cmake)
endif()
if(NOT CMAKE_CROSSCOMPILING AND MESHSCOPE_SANITIZER STREQUAL "" AND GZIP)
  add_custom_command(OUTPUT ${made}/made
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${made}/man ${made}/completions
    COMMAND ${CMAKE_COMMAND} -E make_directory ${made}/completions
    COMMAND meshscope --lang en manual -o ${made}/man/man1
    COMMAND meshscope --lang zh manual -o ${made}/man/zh_CN/man1
    ${app_manual}
    COMMAND ${GZIP} -9nr ${made}/man
    COMMAND meshscope --lang en completion bash > ${made}/completions/meshscope
    COMMAND meshscope --lang en completion zsh > ${made}/completions/_meshscope
    COMMAND meshscope --lang en completion fish > ${made}/completions/meshscope.fish
    COMMAND ${GZIP} -9nc ${made}/changelog > ${made}/changelog.gz
    COMMAND ${CMAKE_COMMAND} -E touch ${made}/made
    DEPENDS meshscope $<TARGET_NAME_IF_EXISTS:meshscope-app> ${made}/changelog packaging/app_manual.cmake COMMENT "Making manual pages and completions" VERBATIM)
  add_custom_target(manual ALL DEPENDS ${made}/made)
  install(DIRECTORY ${made}/man DESTINATION share COMPONENT engine PATTERN "meshscope-app.1*" EXCLUDE)
  if(TARGET meshscope-app)
    install(DIRECTORY ${made}/man DESTINATION share COMPONENT window FILES_MATCHING PATTERN "meshscope-app.1*")
  endif()
  install(FILES ${made}/completions/meshscope DESTINATION share/bash-completion/completions COMPONENT engine)
  install(FILES ${made}/completions/_meshscope DESTINATION share/zsh/vendor-completions COMPONENT engine)
  install(FILES ${made}/completions/meshscope.fish DESTINATION share/fish/vendor_completions.d COMPONENT engine)
  # What Debian asks of each package.
  foreach(pair IN LISTS packages)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 package)
    list(GET pair 1 component)
    install(FILES ${made}/changelog.gz packaging/debian/copyright DESTINATION share/doc/${package} COMPONENT ${component})
  endforeach()
endif()

if(TARGET meshscope-app)
  set_target_properties(meshscope-app PROPERTIES INSTALL_RPATH "$ORIGIN/../${private_lib}")
  install(TARGETS meshscope-app RUNTIME DESTINATION bin COMPONENT window)
  configure_file(packaging/desktop/meshscope.metainfo.xml.in ${made}/meshscope-app.metainfo.xml @ONLY)
  install(FILES packaging/desktop/meshscope-app.desktop DESTINATION share/applications COMPONENT window)
  install(FILES packaging/desktop/meshscope.svg DESTINATION share/icons/hicolor/scalable/apps COMPONENT window)
  install(FILES packaging/desktop/meshscope.xml DESTINATION share/mime/packages COMPONENT window)
  install(FILES ${made}/meshscope-app.metainfo.xml DESTINATION share/metainfo COMPONENT window)
endif()

set(CPACK_PACKAGE_VENDOR "Meshscope")
set(CPACK_PACKAGE_CONTACT "${MESHSCOPE_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "distributed deep-learning training, really run and shown")
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR "DEB;TGZ")
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_SOURCE_DIR}/packaging/cpack.cmake)
list(TRANSFORM packages REPLACE "^[^:]*:" "" OUTPUT_VARIABLE CPACK_MESHSCOPE_COMPONENTS)
set(CPACK_MESHSCOPE_LIB_FOLDER ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
include(CPack)
