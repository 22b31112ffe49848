# What has sources, as static libraries.
foreach(file IN ITEMS sqlite3.c pugixml/pugixml.cpp imgui/imgui.cpp zlib/deflate.c)
  if(NOT EXISTS ${MESHSCOPE_WEB_SOURCES}/${file})
    message(FATAL_ERROR "${file} is not in ${MESHSCOPE_WEB_SOURCES}; scripts/web fetches it")
  endif()
endforeach()

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

set(imgui ${MESHSCOPE_WEB_SOURCES}/imgui)
add_library(web_imgui STATIC ${imgui}/imgui.cpp ${imgui}/imgui_draw.cpp ${imgui}/imgui_tables.cpp ${imgui}/imgui_widgets.cpp
  ${imgui}/backends/imgui_impl_glfw.cpp ${imgui}/backends/imgui_impl_opengl3.cpp)
target_include_directories(web_imgui SYSTEM PUBLIC ${imgui})
target_compile_options(web_imgui PRIVATE -w)
target_compile_definitions(web_imgui PUBLIC IMGUI_IMPL_OPENGL_ES3)
set_target_properties(web_imgui PROPERTIES UNITY_BUILD OFF)
add_library(PkgConfig::IMGUI ALIAS web_imgui)
