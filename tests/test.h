#pragma once

// Catch2 2.13 as Debian 12 has it; 3.x where that is what is installed.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
