// What bounds a process: addresses, threads, files; and that each is told with its value.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <thread>

#include "core/base/address_space.h"
#include "core/base/cannot_write.h"
#include "core/base/cause.h"
#include "core/base/start_thread.h"
#include "tests/sanitizer.h"
#include "tests/test.h"
#include "tests/thrown.h"

using namespace meshscope;

namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

void limit(__rlimit_resource resource, rlim_t most) {
    const rlimit wanted{most, most};
    if (setrlimit(resource, &wanted) != 0) _exit(126);
}

/// Whether `holds` is true in a process of its own, whose limits are nobody else's.
template <class F>
bool in_child(const F& holds) {
    const pid_t child = fork();
    if (child == 0) _exit(holds() ? 0 : 1);
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("what could be mapped is tried, and heeds the limits of addresses and of data") {
    CHECK(can_map(kMiB));
    CHECK_FALSE(can_map(int64_t{1} << 60));
    if (test::kSanitizer) return;  // which takes all addresses for itself
    for (const __rlimit_resource resource : {RLIMIT_AS, RLIMIT_DATA})
        CHECK(in_child([&] {
            limit(resource, 4096 * kMiB);
            const auto left = address_space_left();
            return is_mapping_limited() && left && left->data == (resource == RLIMIT_DATA) &&
                   left->left_bytes < 4096 * kMiB && left->left_bytes > 0 && can_map(left->left_bytes / 2) &&
                   !can_map(4096 * kMiB);
        }));
}

TEST_CASE("a thread that has no room for its stack is told so, and is no mistake of ours") {
    if (test::kSanitizer) return;
    CHECK(thread_stack_bytes() > 0);
    CHECK(in_child([] {
        limit(RLIMIT_AS, 1);  // what is mapped stays
        return test::thrown_id([] { start_thread([] {}).join(); }) == "error.no_thread_stack";
    }));
}

TEST_CASE("where the user may have no further thread the limit is named, where it binds") {
    if (test::kSanitizer) return;
    CHECK(in_child([] {
        constexpr uid_t kNobody = 65534;
        if (geteuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) return true;
        limit(RLIMIT_NPROC, 1);
        std::string id = test::thrown_id([] { start_thread([] {}).join(); });
        if (id == "nothing thrown") return true;  // a limit that does not bind
        return id == "error.no_thread_user" &&
               test::thrown_id([] { require_threads(2); }) == "error.too_few_threads";
    }));
    CHECK_NOTHROW(require_threads(0));
}

TEST_CASE("the system's own words for want of memory and of threads are told as ours") {
    const std::system_error thread(std::make_error_code(std::errc::resource_unavailable_try_again)),
        memory(std::make_error_code(std::errc::not_enough_memory));
    CHECK(message_of(thread).id.starts_with("error.no_thread"));
    CHECK(message_of(memory).id == "error.out_of_memory");
    CHECK_THROWS_AS(throw_if_limited(ENOMEM), std::bad_alloc);
    CHECK_THROWS_AS(throw_if_limited(EAGAIN), Error);
    CHECK_NOTHROW(throw_if_limited(ENOENT));
}

TEST_CASE("a file that may not grow, or not be opened, is told with the limit where there is one") {
    CHECK(cannot_write("a", ENOSPC).id == "file.cannot_write");
    CHECK(in_child([] {
        limit(RLIMIT_FSIZE, 1000);
        const Message message = cannot_write("a", EFBIG);
        return message.id == "file.too_large" && *message.find("limit") == MessageValue(int64_t{1000});
    }));
    CHECK(in_child([] {
        limit(RLIMIT_NOFILE, 20);
        return cannot_write("a", EMFILE).id == "file.too_many_open";
    }));
}
