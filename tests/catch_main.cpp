#define CATCH_CONFIG_MAIN
#include "tests/test.h"
