// The weights that a run came to, in its record.
#include "core/trace/final_parameters.h"

#include <cmath>
#include <limits>

#include "core/trace/query.h"
#include "core/trace/store.h"
#include "tests/test.h"
#include "tests/trace/example.h"
#include "tests/trace/folder.h"

using namespace meshscope;
using namespace meshscope::trace;

namespace {

std::vector<FinalParameter> some() {
    return {{"net1.weight", {2, 2}, {0.1F, -0.0F, 1e-42F, std::nextafter(3.0F, 4.0F)}},
            {"a \"quoted\" name", {}, {7}},
            {"none", {0, 3}, {}}};
}

}  // namespace

TEST_CASE(
    "parameters are read back bit for bit: odd last digits, both zeros, numbers below the normal ones") {
    const auto read = parameters_from_json(parameters_json(some()));
    REQUIRE(read);
    REQUIRE(read->size() == 3);
    CHECK(*read == some());
    CHECK(std::signbit((*read)[0].numbers[1]));
    // So they are in a file, where SQL can ask for them.
    const example::Folder folder;
    const std::string path = folder.file("a.mscope");
    Trace trace = example::merged(Level::values);
    trace.info.parameters = some();
    write_trace(trace, path);
    CHECK(identical(read_trace(path), trace));
    const auto database = TraceDatabase::open(path);
    CHECK(to_text(database.value(
              "SELECT json_extract(value, '$[0].shape') FROM meta WHERE key = 'parameters'")) == "[2,2]");
    // And they belong to what two runs have in common.
    Trace other = trace;
    other.info.parameters[0].numbers[0] = std::nextafter(0.1F, 1.0F);
    CHECK_FALSE(identical(trace, other, Ignore::times));
}

TEST_CASE("too many numbers, and numbers that are none, are not kept") {
    RunInfo info;
    keep_parameters(info, some());
    CHECK(info.parameters.size() == 3);
    auto many = some();
    many[0].numbers.assign(static_cast<std::size_t>(kMostFinalNumbers), 1);
    keep_parameters(info, many);  // one more than there is room for
    CHECK(info.parameters.empty());
    many.resize(1);
    keep_parameters(info, many);
    CHECK(info.parameters.size() == 1);
    auto bad = some();
    bad[1].numbers[0] = std::numeric_limits<float>::infinity();
    keep_parameters(info, bad);
    CHECK(info.parameters.empty());
}

TEST_CASE("texts that are no parameters are refused") {
    const char* wrong[] = {"",
                           "[]",
                           "{}",
                           "[1]",
                           "[{\"name\": \"w\", \"shape\": [2], \"numbers\": [1]}]",
                           "[{\"name\": \"w\", \"shape\": [-1], \"numbers\": []}]",
                           "[{\"name\": \"w\", \"shape\": [1], \"numbers\": [\"1\"]}]",
                           "[{\"name\": \"w\", \"shape\": [1], \"numbers\": [1e99]}]",
                           "[{\"name\": \"w\", \"shape\": [1.5], \"numbers\": [1]}]",
                           "[{\"name\": 3, \"shape\": [1], \"numbers\": [1]}]",
                           "[{\"name\": \"w\", \"shape\": [1], \"numbers\": [1], \"more\": 1}]",
                           "[{\"name\": \"w\", \"shape\": [4294967296, 4294967296], \"numbers\": []}]"};
    for (const char* text : wrong) {
        INFO(text);
        CHECK_FALSE(parameters_from_json(text));
    }
}
