// How much memory is left, from the texts a system gives.
#include "core/base/free_memory.h"

#include "tests/test.h"

using namespace meshscope;

TEST_CASE("what /proc/meminfo calls available, and free swap, is what a machine has left") {
    CHECK(available_bytes("MemTotal:       16000 kB\nMemAvailable:    1000 kB\nSwapFree:   24 kB\n") ==
          1024 * 1024);
    CHECK(available_bytes("MemAvailable:  7 kB") == 7 * 1024);
    CHECK_FALSE(available_bytes("MemTotal: 1 kB\n"));
    CHECK_FALSE(available_bytes("MemAvailable: much kB\n"));
    CHECK_FALSE(available_bytes(""));
}

TEST_CASE("a cgroup leaves its limit less what it uses, pages of files that can be dropped not counted") {
    const std::string v2 = "anon 100\nfile 60\ninactive_file 50\nactive_file 10\n";
    CHECK(cgroup_left_bytes("1000\n", "160\n", v2) == 890);
    CHECK_FALSE(cgroup_left_bytes("max\n", "160\n", v2));
    // Version 1 counts the groups below as total_…, and writes no limit as the largest multiple of a page.
    CHECK(cgroup_left_bytes("1000", "160", "inactive_file 1\ntotal_inactive_file 50\n") == 890);
    CHECK_FALSE(cgroup_left_bytes("9223372036854771712\n", "160\n", ""));
    CHECK(cgroup_left_bytes("1000", "1200", "") == 0);
    CHECK(cgroup_left_bytes("1000", "10", "inactive_file 50\n") == 1000);
    CHECK_FALSE(cgroup_left_bytes("", "", ""));
}

TEST_CASE("a process' cgroups are found in both versions' lines") {
    const CgroupPaths both =
        cgroup_paths("12:cpu,cpuacct:/a\n4:memory:/jobs/7\n1:name=systemd:/x\n0::/user\n");
    CHECK(both.v1 == "/jobs/7");
    CHECK(both.v2 == "/user");
    CHECK(cgroup_paths("3:cpuset,memory:/m\n").v1 == "/m");
    CHECK(cgroup_paths("3:memoryless:/m\n").v1.empty());
    CHECK(cgroup_paths("0::/\n").v2.empty());  // the root
    CHECK(cgroup_paths("nonsense\n0:\n\n").v2.empty());
}

TEST_CASE("the tightest of what is known bounds a run") {
    const auto of = [](std::optional<int64_t> machine, std::optional<int64_t> cgroup,
                       std::optional<int64_t> address) {
        return free_memory({machine, cgroup, address});
    };
    CHECK_FALSE(of({}, {}, {}));
    CHECK(of(100, {}, {})->bound == MemoryBound::machine);
    CHECK(of(100, 50, {})->bytes == 50);
    CHECK(of(100, 50, {})->bound == MemoryBound::cgroup);
    CHECK(of(100, 50, 20)->bound == MemoryBound::address_space);
    CHECK(of({}, {}, 0)->bytes == 0);
}

TEST_CASE("this machine says how much it has left") {
    const auto free = free_memory(look_at_memory());
    REQUIRE(free);
    CHECK(free->bytes >= 0);  // none, in a cgroup that is full
}
