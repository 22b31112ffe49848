# What the web build takes of other packages: headers that hold all of their library, from the system's own folder, and the
# sources of those that do not, which scripts/web fetches into MESHSCOPE_WEB_SOURCES. They stand under the names that
# find_package gives them elsewhere.
set(MESHSCOPE_WEB_SOURCES "${CMAKE_SOURCE_DIR}/build/web-sources" CACHE PATH "sqlite3.c, sqlite3.h, pugixml's src folder, zlib's and Dear ImGui's sources")
set(MESHSCOPE_WEB_HEADERS /usr/include CACHE PATH "where fmt, toml++, nlohmann's json and stb lie")
option(MESHSCOPE_WEB_COMPILE "Without those sources: our own files compile against the headers that the system has of them, and nothing can be linked" OFF)

# Not the whole folder: its other headers are those of another C library.
set(web_headers ${CMAKE_BINARY_DIR}/headers)
file(MAKE_DIRECTORY ${web_headers})
set(names fmt toml++ nlohmann stb)
if(MESHSCOPE_WEB_COMPILE)
  list(APPEND names sqlite3.h pugixml.hpp pugiconfig.hpp zlib.h zconf.h imgui)
endif()
foreach(name IN LISTS names)
  if(NOT EXISTS ${MESHSCOPE_WEB_HEADERS}/${name})
    message(FATAL_ERROR "${name} is not in ${MESHSCOPE_WEB_HEADERS}; scripts/web installs it")
  endif()
  file(CREATE_LINK ${MESHSCOPE_WEB_HEADERS}/${name} ${web_headers}/${name} SYMBOLIC)
endforeach()

foreach(target IN ITEMS nlohmann_json::nlohmann_json tomlplusplus::tomlplusplus fmt::fmt)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE ${web_headers})
endforeach()
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
add_library(Threads::Threads INTERFACE IMPORTED GLOBAL)  # std::mutex is there, and nothing to lock out

if(MESHSCOPE_WEB_COMPILE)
  foreach(target IN ITEMS PkgConfig::SQLITE pugixml::pugixml ZLIB::ZLIB PkgConfig::IMGUI)
    add_library(${target} INTERFACE IMPORTED GLOBAL)
    target_include_directories(${target} SYSTEM INTERFACE ${web_headers} ${web_headers}/imgui)
  endforeach()
  target_compile_definitions(PkgConfig::IMGUI INTERFACE IMGUI_IMPL_OPENGL_ES3)
else()
  include(web/Libraries)
endif()

# The window's. GLFW is emscripten's own, in JavaScript; OpenGL is the page's WebGL 2.
add_library(PkgConfig::STB INTERFACE IMPORTED GLOBAL)
target_include_directories(PkgConfig::STB SYSTEM INTERFACE ${web_headers}/stb)
foreach(target IN ITEMS glfw OpenGL::OpenGL OpenGL::EGL)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
endforeach()
target_link_options(glfw INTERFACE -sUSE_GLFW=3)
target_link_options(OpenGL::OpenGL INTERFACE -sMIN_WEBGL_VERSION=2 -sMAX_WEBGL_VERSION=2)

# What emscripten's libc++ lacks, before every file of ours; exceptions, which emscripten leaves out unless asked.
target_include_directories(meshscope_options SYSTEM INTERFACE ${CMAKE_CURRENT_LIST_DIR}/shim)
target_compile_options(meshscope_options INTERFACE -fexceptions -include ${CMAKE_CURRENT_LIST_DIR}/shim/standard_library.h)
target_link_options(meshscope_options INTERFACE -fexceptions)
