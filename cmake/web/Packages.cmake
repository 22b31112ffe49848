# What the web build takes of other packages: headers that hold all of their library, from the system's own folder, and the
# sources of those that do not, which scripts/web fetches into MESHSCOPE_WEB_SOURCES. They stand under the names that
# find_package gives them elsewhere.
set(MESHSCOPE_WEB_SOURCES "${CMAKE_SOURCE_DIR}/build/web-sources" CACHE PATH "sqlite3.c, sqlite3.h, pugixml's src folder, zlib's and Dear ImGui's sources")
set(MESHSCOPE_WEB_HEADERS /usr/include CACHE PATH "where fmt, toml++, nlohmann's json and stb lie")

# Not the whole folder: its other headers are those of another C library.
set(web_headers ${CMAKE_BINARY_DIR}/headers)
file(MAKE_DIRECTORY ${web_headers})
foreach(name IN ITEMS fmt toml++ nlohmann stb)
  if(NOT EXISTS ${MESHSCOPE_WEB_HEADERS}/${name})
    message(FATAL_ERROR "${name}'s headers are not in ${MESHSCOPE_WEB_HEADERS}; scripts/web installs them")
  endif()
  file(CREATE_LINK ${MESHSCOPE_WEB_HEADERS}/${name} ${web_headers}/${name} SYMBOLIC)
endforeach()
foreach(file IN ITEMS sqlite3.c pugixml/pugixml.cpp imgui/imgui.cpp zlib/deflate.c)
  if(NOT EXISTS ${MESHSCOPE_WEB_SOURCES}/${file})
    message(FATAL_ERROR "${file} is not in ${MESHSCOPE_WEB_SOURCES}; scripts/web fetches it")
  endif()
endforeach()

foreach(target IN ITEMS nlohmann_json::nlohmann_json tomlplusplus::tomlplusplus fmt::fmt)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE ${web_headers})
endforeach()
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
add_library(Threads::Threads INTERFACE IMPORTED GLOBAL)  # std::mutex is there, and nothing to lock out

add_library(web_sqlite STATIC ${MESHSCOPE_WEB_SOURCES}/sqlite3.c)
target_include_directories(web_sqlite SYSTEM PUBLIC ${MESHSCOPE_WEB_SOURCES})
target_compile_options(web_sqlite PRIVATE -w)
target_compile_definitions(web_sqlite PRIVATE SQLITE_THREADSAFE=0 SQLITE_OMIT_LOAD_EXTENSION SQLITE_DEFAULT_MEMSTATUS=1)
add_library(PkgConfig::SQLITE ALIAS web_sqlite)
add_library(web_pugixml STATIC ${MESHSCOPE_WEB_SOURCES}/pugixml/pugixml.cpp)
target_include_directories(web_pugixml SYSTEM PUBLIC ${MESHSCOPE_WEB_SOURCES}/pugixml)
add_library(pugixml::pugixml ALIAS web_pugixml)

set(zlib ${MESHSCOPE_WEB_SOURCES}/zlib)  # what compresses alone: the page's script unpacks by the browser
add_library(web_zlib STATIC ${zlib}/adler32.c ${zlib}/crc32.c ${zlib}/deflate.c ${zlib}/trees.c ${zlib}/zutil.c)
target_include_directories(web_zlib SYSTEM PUBLIC ${zlib})
target_compile_options(web_zlib PRIVATE -w)
set_target_properties(web_zlib PROPERTIES UNITY_BUILD OFF)
add_library(ZLIB::ZLIB ALIAS web_zlib)

# The window's. GLFW is emscripten's own, in JavaScript; OpenGL is the page's WebGL 2.
set(imgui ${MESHSCOPE_WEB_SOURCES}/imgui)
add_library(web_imgui STATIC ${imgui}/imgui.cpp ${imgui}/imgui_draw.cpp ${imgui}/imgui_tables.cpp ${imgui}/imgui_widgets.cpp
  ${imgui}/backends/imgui_impl_glfw.cpp ${imgui}/backends/imgui_impl_opengl3.cpp)
target_include_directories(web_imgui SYSTEM PUBLIC ${imgui})
target_compile_options(web_imgui PRIVATE -w)
target_compile_definitions(web_imgui PUBLIC IMGUI_IMPL_OPENGL_ES3)
set_target_properties(web_imgui PROPERTIES UNITY_BUILD OFF)
add_library(PkgConfig::IMGUI ALIAS web_imgui)
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
