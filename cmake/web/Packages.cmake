# What the web build takes of other packages: headers that hold all of their library, from the system's own folder, and the
# sources of those that do not, which scripts/web fetches into MESHSCOPE_WEB_SOURCES. They stand under the names that
# find_package gives them elsewhere.
set(MESHSCOPE_WEB_SOURCES "${CMAKE_SOURCE_DIR}/build/web-sources" CACHE PATH "sqlite3.c, sqlite3.h and pugixml's src folder")
set(MESHSCOPE_WEB_HEADERS /usr/include CACHE PATH "where fmt, toml++ and nlohmann's json lie")

# Not the whole folder: its other headers are those of another C library.
set(web_headers ${CMAKE_BINARY_DIR}/headers)
file(MAKE_DIRECTORY ${web_headers})
foreach(name IN ITEMS fmt toml++ nlohmann)
  if(NOT EXISTS ${MESHSCOPE_WEB_HEADERS}/${name})
    message(FATAL_ERROR "${name}'s headers are not in ${MESHSCOPE_WEB_HEADERS}; scripts/web installs them")
  endif()
  file(CREATE_LINK ${MESHSCOPE_WEB_HEADERS}/${name} ${web_headers}/${name} SYMBOLIC)
endforeach()
foreach(file IN ITEMS sqlite3.c pugixml/pugixml.cpp)
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

# What emscripten's libc++ lacks, before every file of ours; exceptions, which emscripten leaves out unless asked.
target_include_directories(meshscope_options SYSTEM INTERFACE ${CMAKE_CURRENT_LIST_DIR}/shim)
target_compile_options(meshscope_options INTERFACE -fexceptions -include ${CMAKE_CURRENT_LIST_DIR}/shim/standard_library.h)
target_link_options(meshscope_options INTERFACE -fexceptions)
