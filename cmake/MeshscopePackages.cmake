# The packages that several folders use, found once; web/Packages.cmake has them for browsers. What one folder alone needs, it
# looks for itself.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET GLOBAL sqlite3)
find_package(nlohmann_json 3.11 REQUIRED GLOBAL)
find_package(tomlplusplus REQUIRED GLOBAL)
find_package(fmt 9 REQUIRED GLOBAL)
find_package(pugixml 1.13 REQUIRED GLOBAL)
