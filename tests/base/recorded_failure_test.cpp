#include "core/base/recorded_failure.h"

#include "core/base/cause.h"
#include "tests/test.h"

using namespace meshscope;

TEST_CASE("how a run failed is read from its record as it was written: sentence, kind and whom it names") {
    Diagnosis d;
    d.kind = DiagnosisKind::lost;
    d.culprits = {3, 1};
    RankReport dead;
    dead.rank = 3;
    dead.state = RankState::lost;
    dead.last.op = "all_gather";
    dead.last.sequence = 9;
    RankReport waiting;
    waiting.rank = 1;
    waiting.state = RankState::waiting;
    waiting.waits_for = 3;
    waiting.missing = {3};
    CallReport& call = waiting.call;
    call.op = "all_reduce";
    call.group = "dp";
    call.group_ranks = {1, 3};
    call.sequence = 2;
    call.peer = 1;
    call.reduce_op = "sum";
    call.dtype = "float32";
    call.in_elements = 8;
    call.out_elements = 4;
    call.phase = "backward";
    call.step = 1;
    call.source = "core/x.cpp:80";
    d.ranks = {waiting, dead};
    d.differs = {"op"};
    d.cycle = {1, 3};
    d.certain = false;
    const DiagnosedError error(d, GlobalRank{3});
    const auto read = read_failure(failure_json(error));
    REQUIRE(read);
    CHECK(describe(read->message).size() > 0);
    CHECK(read->message.id == "diagnosis.lost");
    // Arguments come back in the order of their names; their values are as they were.
    for (const MessageArg& arg : error.message().args) {
        const MessageValue* value = read->message.find(arg.name);
        REQUIRE(value != nullptr);
        CHECK(to_text(*value) == to_text(arg.value));
    }
    CHECK(read->message.args.size() == error.message().args.size());
    CHECK(read->kind == DiagnosisKind::lost);
    CHECK(read->culprits == std::vector<int32_t>{1, 3});
    CHECK_FALSE(read->certain);
    CHECK(read->differs == std::vector<std::string>{"op"});
    CHECK(read->cycle == std::vector<int32_t>{1, 3});
    REQUIRE(read->ranks.size() == 2);
    CHECK(read->ranks[0].rank == 1);
    CHECK(read->ranks[0].state == RankState::waiting);
    CHECK(read->ranks[0].waits_for == 3);
    CHECK(read->ranks[0].missing == std::vector<int32_t>{3});
    CHECK(meshscope::describe(read->ranks[0].call) == meshscope::describe(waiting.call));
    CHECK(read->ranks[1].state == RankState::lost);
    CHECK(read->ranks[1].call.op.empty());
    CHECK(read->ranks[1].last.sequence == 9);
}

TEST_CASE("a failure without a diagnosis has its sentence alone") {
    const auto read = read_failure(failure_json(Error({"run.recovered", {{"steps", int64_t{2}}}})));
    REQUIRE(read);
    CHECK(describe(read->message) == "run.recovered(steps=2)");
    CHECK_FALSE(read->kind);
    CHECK(read->culprits.empty());
}

TEST_CASE("of a record's text that is no failure nothing is believed") {
    for (const char* text : {"", "[]", "{}", "7", "{\"id\":7}", "{\"id\":", "\"diagnosis.lost\"", "null"})
        CHECK_FALSE(read_failure(text));
    const auto odd = read_failure(
        "{\"id\":\"a.b\",\"args\":{\"n\":{},\"l\":[1,\"x\"],\"ok\":[1,2]},"
        "\"diagnosis\":{\"kind\":\"dragons\",\"culprits\":[-1,\"0\",99999999999,2,2],\"differs\":[7],"
        "\"ranks\":[{\"rank\":2,\"state\":\"asleep\",\"call\":7},{\"rank\":2},{\"rank\":-1},4]}}");
    REQUIRE(odd);
    CHECK(describe(odd->message) == "a.b(ok=[1, 2])");
    CHECK_FALSE(odd->kind);
    CHECK(odd->culprits == std::vector<int32_t>{2});
    CHECK(odd->differs.empty());
    REQUIRE(odd->ranks.size() == 1);
    CHECK(odd->ranks[0].state == RankState::unknown);
    CHECK(odd->ranks[0].call.op.empty());
}
