#include "core/base/cause.h"

#include <new>
#include <stdexcept>

#include "core/base/error.h"
#include "tests/test.h"

using namespace meshscope;

TEST_CASE("a cause travels inside a message with its id and typed arguments, and comes out as it was") {
    const Message cause{"x.y",
                        {{"n", int64_t{3}}, {"id", std::string("own")}, {"l", std::vector<int64_t>{1, 2}}}};
    const Message whole = with_cause({"a.b", {{"rank", int64_t{1}}}}, cause);
    CHECK(describe(whole) == "a.b(rank=1, cause.id=x.y, cause.n=3, cause.id=own, cause.l=[1, 2])");
    const auto back = cause_in(whole);
    REQUIRE(back);
    CHECK(describe(*back) == "x.y(n=3, id=own, l=[1, 2])");
    CHECK(std::get<int64_t>(*back->find("n")) == 3);
    CHECK_FALSE(cause_in({"a.b", {{"rank", int64_t{1}}}}));
    CHECK_FALSE(cause_in({"a.b", {{"cause.n", int64_t{1}}}}));
}

TEST_CASE("what any exception says to who was not there is a message") {
    const auto said = [](const auto& error) { return describe(message_of(std::make_exception_ptr(error))); };
    CHECK(said(InvalidArgument({"a.b", {{"n", int64_t{1}}}})) == "a.b(n=1)");
    CHECK(said(std::bad_alloc()) == "error.out_of_memory()");
    CHECK(said(std::runtime_error("out of luck")) == "error.unforeseen(what=out of luck)");
    CHECK(said(7) == "error.unforeseen(what=?)");
    CHECK(message_of(std::exception_ptr()).id.empty());
}
