#include "app/i18n/error_text.h"

#include <memory>
#include <new>
#include <nlohmann/json.hpp>

#include "core/base/diagnosis.h"
#include "core/comm/aborted.h"
#include "core/comm/issued_call.h"

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
    CHECK(describe_it(std::bad_alloc()).exit_code == ExitCode::out_of_memory);
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
                                               "s.toml:5:3: unknown key train.stepz",
                                               "    did you mean steps?"});
    CHECK(describe_it(error, Language::zh).lines[0] == "s.toml:4:1: 缺少 train.steps");
    CHECK(en.json.find("\"id\":\"scenario.unknown_key\"") != std::string::npos);
    CHECK(en.json.find("\"line\":5") != std::string::npos);
    CHECK(en.json.find("\"hint_id\":\"scenario.hint.did_you_mean\"") != std::string::npos);
}

TEST_CASE("one change that is offered is not told as any of several") {
    const auto hint = [](int64_t n, const std::string& changes, Language language) {
        return describe_it(InputError({{{"scenario.unknown_key", {{"key", std::string("a.b")}}},
                                        {"s.toml", 5, 3, -1},
                                        {"scenario.hint.offers", {{"n", n}, {"changes", changes}}}}}),
                           language)
            .lines.at(1);
    };
    CHECK(hint(1, "x = 6", Language::en) == "    this works: x = 6");
    CHECK(hint(2, "x = 6; x = 9", Language::en) == "    any of these works: x = 6; x = 9");
    CHECK(hint(1, "x = 6", Language::zh) == "    改成这样即可：x = 6");
    CHECK(hint(2, "x = 6; x = 9", Language::zh) == "    改成下面任意一种都可以：x = 6; x = 9");
}

namespace {

/// All of `ranks` ranks in call 3 of a group of them; by `elements(rank)` what they bring.
template <class Elements>
Diagnosis mismatch(int32_t ranks, const std::vector<int32_t>& culprits, const Elements& elements) {
    Diagnosis d;
    d.differs = {"count"};
    d.culprits = culprits;
    for (int32_t r = 0; r < ranks; ++r) {
        RankReport report;
        report.rank = r;
        report.state = RankState::in_call;
        CallReport& call = report.call;
        call.op = "all_reduce";
        call.group = "w";
        for (int32_t member = 0; member < ranks; ++member) call.group_ranks.push_back(member);
        call.sequence = 3;
        call.reduce_op = "sum";
        call.dtype = "float32";
        call.in_elements = call.out_elements = elements(r);
        d.ranks.push_back(std::move(report));
    }
    return d;
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("of 128 ranks two that bring another size are named, the others as ranges, and each call once") {
    const DiagnosedError error(
        mismatch(128, {22, 110}, [](int32_t r) { return r == 22 || r == 110 ? 1025 : 262144; }),
        GlobalRank{0});
    const auto en = describe_it(error), zh = describe_it(error, Language::zh);
    CHECK(en.lines[0] ==
          "the 128 ranks of the group w (0–127) do not make the same call 3; they differ in count: ranks 22, "
          "110 call all_reduce(sum, float32, in 1025, out 1025), but the 126 others (0–21, 23–109, 111–127) "
          "call all_reduce(sum, float32, in 262144, out 262144)");
    CHECK(has(zh.lines[0], "。其中 2 个（rank 22, 110）调用的是"));
    CHECK(has(zh.lines[0], "其余 126 个（rank 0–21, 23–109, 111–127）"));
    // A program is told each of them.
    const auto told = nlohmann::json::parse(en.json)["errors"][0];
    CHECK(told["args"]["rest"].size() == 126);
    CHECK(told["diagnosis"]["ranks"].size() == 128);
    CHECK(told["diagnosis"]["group_ranks"].size() == 128);
}

TEST_CASE("ranks that differ from the others each in their own way are told one by one") {
    const DiagnosedError error(
        mismatch(16, {3, 4, 9}, [](int32_t r) { return r == 9             ? 7
                                                       : r == 3 || r == 4 ? 6
                                                                          : 5; }),
        GlobalRank{0});
    const std::string line = describe_it(error).lines[0];
    CHECK(has(line,
              "ranks 3, 4, 9 call (3, 4: all_reduce(sum, float32, in 6, out 6); 9: all_reduce(sum, float32, "
              "in 7, out 7)), but the 13 others (0–2, 5–8, 10–15) call all_reduce("));
}

TEST_CASE("where no majority says which is right, ranks that make the same call are told together") {
    std::vector<int32_t> all;
    for (int32_t r = 0; r < 64; ++r) all.push_back(r);
    const std::string halves =
        describe_it(
            DiagnosedError(mismatch(64, all, [](int32_t r) { return r < 32 ? 5 : 6; }), GlobalRank{0}))
            .lines[0];
    CHECK(has(halves, ": 0–31: all_reduce(sum, float32, in 5, out 5); 32–63: all_reduce("));
    // Even where each brings something else, a sentence stays one.
    const std::string each =
        describe_it(DiagnosedError(mismatch(64, all, [](int32_t r) { return r; }), GlobalRank{0})).lines[0];
    CHECK(has(each, "0: all_reduce("));
    CHECK(each.ends_with("…"));
    CHECK(each.size() < 700);
}

TEST_CASE("a deadlock of many ranks shows its beginning and its end, and is told to programs whole") {
    Diagnosis d = mismatch(128, {}, [](int32_t) { return 1; });
    d.kind = DiagnosisKind::deadlock;
    for (RankReport& report : d.ranks) {
        report.waits_for = (report.rank + 1) % 128;
        d.cycle.push_back(report.rank);
    }
    const auto told = describe_it(DiagnosedError(d, GlobalRank{0}));
    CHECK(has(told.lines[0], "0 → 1 → 2 → 3 → 4 → 5 → … → 126 → 127 → 0"));
    CHECK(told.lines[0].size() < 1500);
    CHECK(nlohmann::json::parse(told.json)["errors"][0]["diagnosis"]["cycle"].size() == 128);
}

TEST_CASE("a message shows seven parts of a long set of ranks and counts the others, in both languages") {
    std::vector<int64_t> peers;
    for (int64_t r = 0; r < 40; ++r) peers.push_back(r * r);
    const CommError error({"comm.waiting_aside",
                           {{"rank", int64_t{5}},
                            {"peers", peers},
                            {"n_peers", static_cast<int64_t>(peers.size())},
                            {"waited_s", int64_t{5}},
                            {"timeout_s", int64_t{9}}}},
                          GlobalRank{5});
    CHECK(has(describe_it(error).lines[0], "ranks 0, 1, 4, 9, 16, 25, 36 and 33 more"));
    CHECK(
        has(describe_it(error, Language::zh).lines[0], "等待 rank 0, 1, 4, 9, 16, 25, 36 及另外 33 个已有"));
    peers = {7};
    const CommError one({"comm.waiting_aside",
                         {{"rank", int64_t{5}},
                          {"peers", peers},
                          {"n_peers", static_cast<int64_t>(peers.size())},
                          {"waited_s", int64_t{5}},
                          {"timeout_s", int64_t{9}}}},
                        GlobalRank{5});
    CHECK(has(describe_it(one).lines[0], "for rank 7"));
    CHECK(has(describe_it(one, Language::zh).lines[0], "等待 rank 7 已有"));
}

TEST_CASE("a name out of a file cannot steer the terminal that it is told on") {
    const InputError error({{{"scenario.unknown_key", {{"key", std::string("\x1b[2J\xc2\x9b\x7f键\tx")}}},
                             {"s\r.toml", 5, 3, -1},
                             {}}});
    CHECK(describe_it(error).lines ==
          std::vector<std::string>{"s\\u000d.toml:5:3: unknown key \\u001b[2J\\u009b\\u007f键\tx"});
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
         {"diagnosis.mismatch", "diagnosis.mismatch_tie", "comm.deadlock", "comm.peer_finished",
          "comm.peers_finished", "comm.never_received", "comm.never_sent"})
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

TEST_CASE("a wait in vain is told by what it was for, each once, and what is not known is not told") {
    const auto waiting = [](int32_t rank, const char* op, std::vector<int32_t> missing) {
        RankReport report;
        report.rank = rank;
        report.state = RankState::waiting;
        report.waits_for = missing.front();
        report.call.op = op;
        report.call.group = "w";
        report.call.group_ranks = {0, 1, 2, 3};
        report.call.sequence = 0;
        report.missing = std::move(missing);
        return report;
    };
    const auto told = [](std::vector<RankReport> reports, Language language) {
        Diagnosis d;
        d.kind = DiagnosisKind::missing;
        for (const RankReport& report : reports)
            d.culprits.insert(d.culprits.end(), report.missing.begin(), report.missing.end());
        d.ranks = std::move(reports);
        return describe_it(DiagnosedError(d, GlobalRank{0}), language);
    };
    const auto send = told({waiting(0, "send", {1})}, Language::en);
    CHECK(send.exit_code == ExitCode::check_failed);
    CHECK(
        send.lines[0] ==
        "the message of rank 0 to rank 1 was never received: send() #0 of w [0–3]. Rank 1 has already ended "
        "or gone past it without the recv that belongs to it. Every send needs a recv on the other rank");
    CHECK(has(told({waiting(1, "recv", {0})}, Language::en).lines[0],
              "rank 1 waits for a message from rank 0 that was never sent: recv() #0 of w [0–3]. Rank 0"));
    CHECK(told({waiting(0, "barrier", {2, 3}), waiting(1, "barrier", {2, 3})}, Language::en).lines[0] ==
          "ranks 0, 1 wait for ranks 2, 3 in barrier() #0 of w [0–3], but those have already ended or gone "
          "past it without making the call");
    CHECK(told({waiting(0, "barrier", {2}), waiting(1, "barrier", {2})}, Language::zh).lines[0] ==
          "rank 0, 1 在 barrier() #0 of w [0–3] 中等待 rank 2，但它没有发起这次调用就已经结束或越过了它");
    const std::vector<RankReport> apart{waiting(1, "recv", {0}), waiting(3, "barrier", {2})};
    for (const Language language : {Language::en, Language::zh})
        CHECK(has(told(apart, language).lines[0],
                  "1 → 0: recv() #0 of w [0–3]; 3 → 2: barrier() #0 of w [0–3]"));
    CHECK(nlohmann::json::parse(
              told(apart, Language::en).json)["errors"][0]["diagnosis"]["ranks"][1]["missing"] ==
          std::vector<int>{2});
}

TEST_CASE("a time-out says what is known, and that the rest cannot be") {
    comm::IssuedCall call;
    call.group = std::make_shared<const comm::GroupInfo>(
        comm::GroupInfo{0, "world", {GlobalRank{0}, GlobalRank{1}, GlobalRank{2}}});
    call.op = CollectiveOp::barrier;
    call.sequence = 3;
    comm::CallLog calls;
    calls.note(comm::CallMoment::begins, &call);
    const Diagnosis d = comm::timeout_diagnosis(GlobalRank{1}, calls, GlobalRank{2}, 3);
    CHECK_FALSE(d.certain);
    CHECK(d.culprits == std::vector<int32_t>{2});
    CHECK(d.ranks[0].state == RankState::unknown);
    CHECK(d.ranks[1].waits_for == 2);
    const std::string line = describe_it(DiagnosedError(d, GlobalRank{1})).lines[0];
    CHECK(line.find("rank 1 waited for rank 2 for too long") == 0);
    CHECK_FALSE(has(line, "known to do"));  // nothing is known of rank 2
    CHECK(line.find("barrier() #3 of world [0–2]") != std::string::npos);
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
    CHECK(told(differ, Language::en).lines[0].starts_with("stopped because rank 1 failed: rank 1 was"));
    const auto args = nlohmann::json::parse(told(differ, Language::en).json)["errors"][0]["args"];
    CHECK(args["cause.id"] == "run.processes_differ");
    CHECK(args["cause.first"] == 3);
    // What no rank foresaw, and what a rank has not said.
    CHECK(told({"error.unforeseen", {{"what", std::string("out of luck")}}}, Language::en)
              .lines[0]
              .ends_with("out of luck"));
    CHECK(told({}, Language::en).lines[0].find("the cause is not known") != std::string::npos);
    // The exit code is the cause's.
    CHECK(told({"comm.operation_timeout", {}}, Language::en).exit_code == ExitCode::timeout);
    CHECK(told({"comm.deadlock", {}}, Language::en).exit_code == ExitCode::check_failed);
    CHECK(told(differ, Language::en).exit_code == ExitCode::peer_lost);
}

TEST_CASE("a place names what is known of it") {
    CHECK(i18n::place({"f", 3, 4, -1}) == "f:3:4");
    CHECK(i18n::place({"f", 3, 0, -1}) == "f:3");
    CHECK(i18n::place({"f", 0, 0, 17}) == "f:byte 17");
    CHECK(i18n::place({"f", 0, 0, 0}) == "f");
    CHECK(i18n::place({"f", 0, 0, -1}) == "f");
    CHECK(i18n::place({}).empty());
}

TEST_CASE("a name that is not UTF-8 does not stop the JSON of an error") {
    const auto text = describe_it(IoError({"file.cannot_read", {{"path", std::string("\xff\xfe")}}}));
    CHECK(text.json.find("file.cannot_read") != std::string::npos);
}
