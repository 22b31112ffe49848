#include "app/i18n/error_text.h"

#include <memory>
#include <new>
#include <nlohmann/json.hpp>

#include "core/base/diagnosis.h"
#include "core/comm/aborted.h"
#include "core/comm/call_info.h"

#include "tests/test.h"

using namespace meshscope;
using i18n::ExitCode;
using i18n::Language;

namespace {

i18n::ErrorText describe_it(const std::exception& error, Language language = Language::en) {
    return i18n::describe_error(error, i18n::Catalogue::embedded(), language);
}

}  // namespace

TEST_CASE("exceptions have the exit codes of the contract") {
    const Message message{"x.y", {}};
    CHECK(describe_it(InputError({{message, {"f", 1, 2, -1}, {}}})).exit_code == ExitCode::bad_input);
    CHECK(describe_it(InvalidArgument(message)).exit_code == ExitCode::bad_input);
    CHECK(describe_it(InvalidArgument({"backend.unknown", {}})).exit_code == ExitCode::backend_missing);
    CHECK(describe_it(InvalidArgument({"backend.not_built", {}})).exit_code == ExitCode::backend_missing);
    CHECK(describe_it(IoError(message)).exit_code == ExitCode::io);
    CHECK(describe_it(CommError(message, GlobalRank{1})).exit_code == ExitCode::peer_lost);
    CHECK(describe_it(CommError({"comm.timeout", {}}, GlobalRank{1})).exit_code == ExitCode::timeout);
    CHECK(describe_it(DeviceError(message)).exit_code == ExitCode::internal);
    CHECK(describe_it(std::bad_alloc()).exit_code == ExitCode::internal);
    CHECK(describe_it(std::runtime_error("x")).exit_code == ExitCode::internal);
    CHECK(static_cast<int>(ExitCode::backend_missing) == 69);
    CHECK(static_cast<int>(ExitCode::timeout) == 124);
}

TEST_CASE("every mistake of a file is told with its place and its hint, in the chosen language") {
    const InputError error(
        {{{"scenario.missing_key", {{"key", std::string("train.steps")}}}, {"s.toml", 4, 1, -1}, {}},
         {{"scenario.unknown_key", {{"key", std::string("train.stepz")}}},
          {"s.toml", 5, 3, -1},
          {"scenario.hint.did_you_mean", {{"guess", std::string("steps")}}}}});
    const auto en = describe_it(error);
    CHECK(en.lines == std::vector<std::string>{"s.toml:4:1: train.steps is missing",
                                               "s.toml:5:3: there is no key train.stepz",
                                               "    did you mean steps?"});
    CHECK(describe_it(error, Language::zh).lines[0] == "s.toml:4:1: 缺少 train.steps");
    CHECK(en.json.find("\"id\":\"scenario.unknown_key\"") != std::string::npos);
    CHECK(en.json.find("\"line\":5") != std::string::npos);
    CHECK(en.json.find("\"hint_id\":\"scenario.hint.did_you_mean\"") != std::string::npos);
}

TEST_CASE("a name out of a file cannot steer the terminal that it is told on") {
    const InputError error({{{"scenario.unknown_key", {{"key", std::string("\x1b[2J\xc2\x9b\x7f键\tx")}}},
                             {"s\r.toml", 5, 3, -1},
                             {}}});
    CHECK(describe_it(error).lines ==
          std::vector<std::string>{"s\\x0d.toml:5:3: there is no key \\x1b[2J\\x9b\\x7f键\tx"});
}

TEST_CASE("a diagnosis has its exit code by whether a retry may help, and is told to programs whole") {
    const auto code = [](DiagnosisKind kind) {
        Diagnosis d;
        d.kind = kind;
        return describe_it(DiagnosedError(d, GlobalRank{0})).exit_code;
    };
    for (const DiagnosisKind kind :
         {DiagnosisKind::mismatch, DiagnosisKind::deadlock, DiagnosisKind::missing})
        CHECK(code(kind) == ExitCode::check_failed);
    for (const DiagnosisKind kind : {DiagnosisKind::lost, DiagnosisKind::stalled, DiagnosisKind::corrupt})
        CHECK(code(kind) == ExitCode::peer_lost);
    CHECK(code(DiagnosisKind::timeout) == ExitCode::timeout);
    // A rank in another process is told the sentence only.
    for (const char* id :
         {"diagnosis.mismatch", "diagnosis.mismatch_tie", "comm.deadlock", "comm.peer_finished"})
        CHECK(describe_it(CommError({id, {}}, GlobalRank{0}, true)).exit_code == ExitCode::check_failed);

    Diagnosis d;
    d.kind = DiagnosisKind::deadlock;
    d.cycle = d.culprits = {0, 1};
    for (int32_t r = 0; r < 2; ++r) {
        RankReport report;
        report.rank = r;
        report.state = RankState::waiting;
        report.waits_for = 1 - r;
        report.call.op = r == 0 ? "all_reduce" : "recv";
        report.call.group = "tp";
        report.call.group_ranks = {0, 1};
        report.call.sequence = 4 + r;
        report.call.source = "core/x.cpp:" + std::to_string(10 + r);
        d.ranks.push_back(report);
    }
    const DiagnosedError error(d, GlobalRank{0});
    const auto en = describe_it(error), zh = describe_it(error, Language::zh);
    REQUIRE(en.lines.size() == 1);
    for (const std::string& line : {en.lines[0], zh.lines[0]}) {
        CHECK(line.find("0 → 1 → 0") != std::string::npos);
        CHECK(line.find("0 → 1: all_reduce() #4 of tp [0, 1], core/x.cpp:10") != std::string::npos);
        CHECK(line.find("1 → 0: recv() #5 of tp [0, 1], core/x.cpp:11") != std::string::npos);
    }
    const auto json = nlohmann::json::parse(en.json);
    const auto& told = json["errors"][0]["diagnosis"];
    CHECK(told["kind"] == "deadlock");
    CHECK(told["certain"] == true);
    CHECK(told["cycle"] == std::vector<int>{0, 1});
    CHECK(told["ranks"][1]["call"]["op"] == "recv");
    CHECK(told["ranks"][1]["waits_for"] == 0);
    CHECK(told["ranks"][0]["state"] == "waiting");
}

TEST_CASE("a time-out says what is known, and that the rest cannot be") {
    comm::CallInfo call;
    call.group = std::make_shared<const comm::GroupInfo>(
        comm::GroupInfo{0, "world", {GlobalRank{0}, GlobalRank{1}, GlobalRank{2}}});
    call.op = CollectiveOp::barrier;
    call.sequence = 3;
    comm::CallLog calls;
    calls.begin(call);
    const Diagnosis d = comm::timeout_diagnosis(GlobalRank{1}, calls, GlobalRank{2}, 3);
    CHECK_FALSE(d.certain);
    CHECK(d.culprits == std::vector<int32_t>{2});
    CHECK(d.ranks[0].state == RankState::unknown);
    CHECK(d.ranks[1].waits_for == 2);
    const std::string line = describe_it(DiagnosedError(d, GlobalRank{1})).lines[0];
    CHECK(line.find("rank 1 heard nothing of rank 2") == 0);
    CHECK(line.find("barrier() #3 of world [0, 1, 2]") != std::string::npos);
    CHECK(comm::lost_diagnosis(GlobalRank{1}, calls, GlobalRank{2}, 3).ranks[2].state == RankState::lost);
}

TEST_CASE("why another rank failed first is told in words, in the language, whatever it was") {
    const auto told = [](const Message& cause, Language language) {
        try {
            comm::throw_aborted(GlobalRank{0}, 1, cause);
        } catch (const CommError& error) {
            CHECK(error.secondary());
            return describe_it(error, language);
        }
    };
    const Message differ{
        "run.processes_differ",
        {{"rank", int64_t{1}}, {"what", std::string("level")}, {"mine", int64_t{0}}, {"first", int64_t{3}}}};
    const auto catalogue = i18n::Catalogue::embedded();
    for (const Language language : {Language::en, Language::zh}) {
        const auto text = told(differ, language);
        REQUIRE(text.lines.size() == 1);
        CHECK(text.lines[0].ends_with(catalogue.text(differ, language)));
        CHECK(text.lines[0].find("processes_differ") == std::string::npos);
        CHECK(text.lines[0].find('{') == std::string::npos);
    }
    // The cause's own arguments are not taken for the outer sentence's.
    CHECK(told(differ, Language::en).lines[0].starts_with("stopped because rank 1 failed first: rank 1 was"));
    const auto args = nlohmann::json::parse(told(differ, Language::en).json)["errors"][0]["args"];
    CHECK(args["cause.id"] == "run.processes_differ");
    CHECK(args["cause.first"] == 3);
    // What no rank foresaw, and what a rank has not said.
    CHECK(told({"error.unforeseen", {{"what", std::string("out of luck")}}}, Language::en)
              .lines[0]
              .ends_with("out of luck"));
    CHECK(told({}, Language::en).lines[0].find("not yet said why") != std::string::npos);
    // The exit code is the cause's.
    CHECK(told({"comm.operation_timeout", {}}, Language::en).exit_code == ExitCode::timeout);
    CHECK(told({"comm.deadlock", {}}, Language::en).exit_code == ExitCode::check_failed);
    CHECK(told(differ, Language::en).exit_code == ExitCode::peer_lost);
}

TEST_CASE("a place names what is known of it") {
    CHECK(i18n::place({"f", 3, 4, -1}) == "f:3:4");
    CHECK(i18n::place({"f", 3, 0, -1}) == "f:3");
    CHECK(i18n::place({"f", 0, 0, 17}) == "f:byte 17");
    CHECK(i18n::place({"f", 0, 0, -1}) == "f");
    CHECK(i18n::place({}).empty());
}

TEST_CASE("a name that is not UTF-8 does not stop the JSON of an error") {
    const auto text = describe_it(IoError({"file.cannot_read", {{"path", std::string("\xff\xfe")}}}));
    CHECK(text.json.find("file.cannot_read") != std::string::npos);
}
