#include "app/launch/failure.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/folder.h"
#include "tests/test.h"

using namespace meshscope::launch;
using meshscope::test::Folder;

namespace {

Failure failure(int32_t rank, int64_t time_ns, const std::string& id, bool secondary = false,
                int32_t code = 75) {
    return {rank, rank, 0, code, time_ns, id, "words", "", secondary};
}

std::vector<int32_t> ordered(std::vector<Failure> failures) {
    order_by_cause(failures);
    std::vector<int32_t> ranks;
    for (std::size_t i = 0; i < failures.size(); ++i) {
        ranks.push_back(failures[i].rank);
        CHECK(failures[i].secondary == (i > 0));
    }
    return ranks;
}

}  // namespace

TEST_CASE("what would be refused or fail the same way again is not started again") {
    for (const char* id :
         {"scenario.missing_key", "algorithm.unknown_key", "run.not_finite", "run.does_not_fit"})
        CHECK(is_final(failure(0, 1, id)));
    for (const char* id : {"", "comm.peer_lost", "checkpoint.save_failed", "comm.calls_differ"})
        CHECK_FALSE(is_final(failure(0, 1, id)));
}

TEST_CASE("the root cause is the first in time that followed from nothing else") {
    CHECK(ordered({failure(0, 3, ""), failure(1, 1, ""), failure(2, 2, "")}) ==
          std::vector<int32_t>{1, 2, 0});
    // A killed rank is seen late; those that lost it told so before.
    CHECK(ordered({failure(0, 10, "comm.peer_lost"), failure(1, 50, "", false, 137),
                   failure(2, 11, "comm.aborted")}) == std::vector<int32_t>{1, 0, 2});
    CHECK(ordered({failure(0, 1, "comm.aborted", true), failure(1, 2, "checkpoint.save_failed")}) ==
          std::vector<int32_t>{1, 0});
    // Nobody but followers: the first of them.
    CHECK(ordered({failure(3, 9, "comm.peer_lost"), failure(2, 8, "comm.peer_lost")}) ==
          std::vector<int32_t>{2, 3});
    CHECK(ordered({}).empty());
}

TEST_CASE("last words go through a file, ours and torchrun's") {
    const Folder folder;
    Failure written = failure(2, 1234567890123, "comm.peer_lost", true);
    written.json = "{\"errors\":[]}";
    write_error_file(folder.file("e.json"), written);
    Failure read = failure(2, 7, "");
    read_error_file(folder.file("e.json"), read);
    CHECK(read.id == "comm.peer_lost");
    CHECK(read.time_ns == 1234567890123);
    CHECK(read.text == "words");
    CHECK(read.json == written.json);
    CHECK(read.secondary);

    // torch/distributed/elastic/multiprocessing/errors/error_handler.py
    folder.write(
        "t.json",
        R"({"message": {"message": "ValueError: no", "extraInfo": {"py_callstack": "…", "timestamp": "1700000000"}}})");
    Failure torch = failure(0, 7, "");
    read_error_file(folder.file("t.json"), torch);
    CHECK(torch.text == "ValueError: no");
    CHECK(torch.time_ns == 7);

    for (const char* bad : {"", "{", "[]", "{\"message\": 3, \"meshscope\": 4}"}) {
        folder.write("b.json", bad);
        Failure kept = failure(0, 7, "");
        read_error_file(folder.file("b.json"), kept);
        CHECK(kept.text == "words");
    }
    read_error_file(folder.file("none.json"), torch);
}

TEST_CASE("of last words with wrong types in them only the right ones are taken") {
    const Folder folder;
    const auto read = [&](const std::string& text) {
        std::ofstream(folder.file("e.json")) << text;
        Failure found = failure(2, 7, "", true);
        read_error_file(folder.file("e.json"), found);
        return found;
    };
    const Failure wrong = read(
        R"({"message": "gone", "meshscope": {"id": 5, "json": [], "time_ns": "now", "exit_code": {}, "secondary": 1}})");
    CHECK(wrong.text == "gone");
    CHECK(wrong.id.empty());
    CHECK(wrong.json.empty());
    CHECK(wrong.time_ns == 7);
    CHECK(wrong.exit_code == 75);
    CHECK_FALSE(wrong.secondary);
    for (const std::string time : {"-999999999", "1e300", "18446744073709551615"}) {
        const Failure found =
            read(R"({"meshscope": {"id": "x", "exit_code": 70000, "time_ns": )" + time + "}}");
        CHECK(found.id == "x");
        CHECK(found.time_ns == 7);
        CHECK(found.exit_code == 75);
        CHECK(report_json("run", 0, {found}).find("1970-01-01T00:00:00.000000Z") != std::string::npos);
    }
}

TEST_CASE("the processes of one worker share a file: a cause stands before what followed from it") {
    const auto left_by = [](const std::vector<Failure>& written) {
        const Folder folder;
        for (const Failure& each : written) write_error_file(folder.file("e.json"), each);
        Failure read = failure(0, 99, "", false, 1);
        read_error_file(folder.file("e.json"), read);
        CHECK(std::distance(std::filesystem::directory_iterator(folder.path), {}) == 1);
        return read;
    };
    const Failure cause = failure(1, 20, "checkpoint.none", false, 74),
                  later = failure(2, 30, "checkpoint.damaged", false, 65),
                  follower = failure(0, 10, "comm.aborted", true, 75), lost = failure(3, 5, "comm.peer_lost");
    for (const auto& order : {std::vector{cause, later, follower, lost},
                              {follower, lost, later, cause},
                              {lost, cause, follower, later},
                              {later, follower, cause, lost}}) {
        const Failure read = left_by(order);
        CHECK(read.id == "checkpoint.none");
        CHECK(read.exit_code == 74);  // not mpiexec's, which ends with that of any process
    }
    CHECK(left_by({follower, lost}).id == "comm.aborted");
    // A signal says more than the words that came before it.
    const Folder folder;
    write_error_file(folder.file("e.json"), cause);
    Failure killed = failure(0, 99, "", false, 137);
    read_error_file(folder.file("e.json"), killed);
    CHECK(killed.exit_code == 137);
}

TEST_CASE("the report says all of it") {
    std::vector<Failure> failures{failure(1, 1700000000123456789, "", false, 137)};
    const std::string text = report_json("id", 2, failures);
    for (const char* part : {"\"run_id\": \"id\"", "\"restarts\": 2", "\"rank\": 1", "\"exit_code\": 137",
                             "\"time\": \"2023-11-14T22:13:20.123456Z\"", "\"secondary\": false"})
        CHECK(text.find(part) != std::string::npos);
}

TEST_CASE("what is known of an end is told by id and arguments, for every language") {
    Failure killed;
    killed.rank = 2;
    killed.exit_code = 128 + SIGKILL;
    CHECK(describe(last_words(killed)) == "launch.ended_by_signal(signal=9, name=SIGKILL)");
    CHECK(describe(line_on(killed, last_words(killed))) ==
          "launch.failed(rank=2, node=0, code=137, cause.id=launch.ended_by_signal, cause.signal=9, "
          "cause.name=SIGKILL)");
    killed.exit_code = 7;
    CHECK(describe(last_words(killed)) == "launch.said_nothing()");
    CHECK(nlohmann::json::parse(report_json("job", 0, {killed}))["root_cause"]["text"].is_null());
    killed.text = "no such file";
    killed.secondary = true;
    CHECK(describe(line_on(killed, last_words(killed))) ==
          "launch.failed_too(rank=2, node=0, code=7, cause.id=launch.said, cause.text=no such file)");
    // Who only saw something between the ranks has not failed.
    for (const char* id : {"comm.operation_timeout", "mpi.timeout", "comm.peer_silent_idle", "comm.peer_lost",
                           "comm.never_received", "diagnosis.mismatch", "comm.deadlock"}) {
        killed.id = id;
        killed.secondary = false;
        CHECK(line_on(killed, last_words(killed)).id == "launch.ended_first");
    }
    killed.id = "checkpoint.save_failed";
    CHECK(line_on(killed, last_words(killed)).id == "launch.failed");
    CHECK(describe(ended_by_signal(200)) == "launch.ended_by_signal(signal=200, name=?)");
}
