#include "core/trace/export.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "core/base/error.h"
#include "tests/test.h"
#include "tests/trace/example.h"
#include "tests/trace/folder.h"

using namespace meshscope;
using namespace meshscope::trace;
using nlohmann::json;
using namespace std::string_literals;

namespace {

std::string perfetto(const Trace& trace) {
    std::string text;
    write_perfetto(trace, [&](std::string_view piece) { text += piece; });
    return text;
}

int64_t ns(const json& micros) {
    return std::llround(micros.get<double>() * 1000.0);
}

/// What a reader of the format needs: required fields, a name for every process and thread, slices of one
/// thread that do not overlap (Perfetto drops those that do). Returns the number of slices.
int64_t hold_to_format(const json& document) {
    std::set<std::pair<int, int>> named;
    std::set<int> processes;
    std::map<std::pair<int, int>, std::vector<std::pair<int64_t, int64_t>>> slices;
    for (const json& e : document.at("traceEvents")) {
        const std::string ph = e.at("ph");
        const int pid = e.at("pid"), tid = e.at("tid");
        REQUIRE(e.at("ts").is_number());
        REQUIRE(e.at("name").is_string());
        if (ph == "M" && e.at("name") == "thread_name") named.insert({pid, tid});
        if (ph == "M" && e.at("name") == "process_name") processes.insert(pid);
        if (ph == "X") {
            REQUIRE(e.at("dur").get<double>() >= 0);
            slices[{pid, tid}].push_back({ns(e.at("ts")), ns(e.at("ts")) + ns(e.at("dur"))});
        }
        if (ph == "C")
            for (const auto& item : e.at("args").items()) REQUIRE(item.value().is_number());
        REQUIRE((ph == "M" || ph == "X" || ph == "C"));
    }
    int64_t count = 0;
    for (auto& [track, list] : slices) {
        CHECK(named.contains(track));
        CHECK(processes.contains(track.first));
        CHECK(track.second > 0);  // Perfetto takes thread 0 for the idle thread
        std::sort(list.begin(), list.end());
        for (std::size_t i = 1; i < list.size(); ++i) REQUIRE(list[i - 1].second <= list[i].first);
        count += static_cast<int64_t>(list.size());
    }
    return count;
}

}  // namespace

TEST_CASE("the Perfetto export has a slice an event, with Kineto's arguments") {
    const Trace trace = example::merged();
    const json document = json::parse(perfetto(trace));
    CHECK(hold_to_format(document) == 6);
    CHECK(document.at("distributedInfo").at("world_size") == 2);
    CHECK(document.at("distributedInfo").at("pg_config").at(0).at("ranks") == json({0, 1}));
    json gather;
    std::map<std::string, int> threads;
    for (const json& e : document.at("traceEvents")) {
        if (e.at("ph") == "X" && e.at("cat") == "collective" && e.at("pid") == 1) gather = e;
        if (e.at("name") == "thread_name") ++threads[e.at("args").at("name")];
    }
    CHECK(threads == std::map<std::string, int>{{"compute", 2}, {"all_gather", 2}});
    const json& args = gather.at("args");
    CHECK(gather.at("name") == "all_gather net2");
    CHECK(args.at("Collective name") == "_allgather_base");
    CHECK(args.at("dtype") == "Float");
    CHECK(args.at("In msg nelems") == 2);
    CHECK(args.at("Out msg nelems") == 4);
    CHECK(args.at("Group size") == 2);
    CHECK(args.at("Process Group Name") == "0");
    CHECK(args.at("Process Group Description") == "shard");
    CHECK(args.at("Process Group Ranks") == "[0, 1]");
    CHECK(args.at("Seq") == 0);
    CHECK(args.at("Rank") == 1);
    CHECK(args.at("rule") == "fsdp2.unshard.forward");
    CHECK(args.at("loc").get<std::string>().starts_with("tests/trace/example.cpp:"));
    CHECK(ns(gather.at("ts")) == trace.event(1, 1).t_begin_ns);
}

TEST_CASE("no collective stands among what is computed: those called on the compute stream have a thread") {
    Trace trace = example::merged();
    for (RankTrace& rank : trace.ranks)
        for (Event& e : rank.events) e.stream = Stream::compute;
    const json document = json::parse(perfetto(trace));
    CHECK(hold_to_format(document) == 6);
    std::map<std::pair<int, int>, std::string> threads;
    std::map<std::string, std::set<std::string>> stand_on;
    std::map<std::string, int> order;
    for (const json& e : document.at("traceEvents")) {
        const std::pair<int, int> at{e.at("pid"), e.at("tid")};
        if (e.at("name") == "thread_name") threads[at] = e.at("args").at("name");
        if (e.at("name") == "thread_sort_index") order[threads[at]] = e.at("args").at("sort_index");
        if (e.at("ph") == "X") stand_on[threads[at]].insert(e.at("cat"));
    }
    CHECK(stand_on == std::map<std::string, std::set<std::string>>{{"compute", {"compute"}},
                                                                   {"communication", {"collective"}}});
    CHECK(order["compute"] < order["communication"]);
}

TEST_CASE("memory is a counter by category that ends where the ledger ends") {
    const json document = json::parse(perfetto(example::merged()));
    std::vector<json> counters;
    for (const json& e : document.at("traceEvents"))
        if (e.at("ph") == "C" && e.at("pid") == 0) counters.push_back(e.at("args"));
    REQUIRE(counters.size() == 3);
    CHECK(counters[1] == json({{"sharded_parameters", 16}, {"unsharded_parameters", 16}}));
    CHECK(counters[2] == json({{"sharded_parameters", 16}, {"unsharded_parameters", 0}}));
}

TEST_CASE("events that overlap on one stream go to lanes of their own") {
    Trace trace = example::large(2, 40, 0);
    // On one stream: nested, crossing, touching, of no length, and at nanoseconds a double of µs must still
    // hold.
    std::vector<Event>& events = trace.ranks[0].events;
    const int64_t base = 3'600'000'000'001;
    const std::vector<std::pair<int64_t, int64_t>> times{{0, 100},   {10, 20},   {50, 150}, {100, 100},
                                                         {100, 101}, {101, 102}, {0, 100}};
    for (std::size_t i = 0; i < times.size(); ++i) {
        events[2 * i].t_begin_ns = base + times[i].first;
        events[2 * i].t_end_ns = base + times[i].second;
    }
    CHECK(hold_to_format(json::parse(perfetto(trace))) == 80);
}

TEST_CASE("any text gives valid JSON") {
    Trace trace = example::merged();
    const std::string odd =
        "\"quote\" \\ \n \t \x01 \x7f \0 \xff\xfe <\xe8\xbd\xa8> \xe8\xbd"s;  // s: the length counts the \0
    trace.strings[trace.event(0, 0).unit] = odd;
    trace.groups[0].mesh_dim = odd;
    trace.info.title_en = odd;
    const json document = json::parse(perfetto(trace));
    CHECK(hold_to_format(document) == 6);
    std::string unit;
    for (const json& e : document.at("traceEvents"))
        if (e.at("ph") == "X" && e.at("pid") == 0 && e.at("args").at("event") == 0)
            unit = e.at("args").at("unit");
    CHECK(unit.starts_with("\"quote\" \\ \n \t \x01"));
    CHECK(unit.find("轨") != std::string::npos);
}

TEST_CASE("CSV quotes what needs quoting") {
    CHECK(csv_line({"a", "b c", "", "1,5", "say \"so\"", "two\nlines"}) ==
          "a,b c,,\"1,5\",\"say \"\"so\"\"\",\"two\nlines\"\r\n");
}

TEST_CASE("CSV exports have a header and a line a row") {
    Trace trace = example::merged();
    trace.strings[trace.event(0, 1).unit] = "net2, \"the second\"";
    const TraceDatabase db(trace);
    const auto csv = [&](const char* view) {
        std::string text;
        write_csv(db, view, [&](std::string_view piece) { text += piece; });
        return text;
    };
    CHECK(
        csv("hops") ==
        "rank,collective,ordinal,round,src,dst,chunk,bytes,offset,elements,reduces,t_begin_ns,t_end_ns\r\n" +
            [&] {
                std::string rows;
                for (std::size_t r = 0; r < 2; ++r) {
                    const Hop& h = trace.ranks[r].hops[0];
                    rows += std::to_string(r) + ",1,0,0," + std::to_string(1 - r) + "," + std::to_string(r) +
                            "," + std::to_string(1 - r) + ",8," + std::to_string(2 * (1 - r)) + ",2,0," +
                            std::to_string(h.t_begin_ns) + "," + std::to_string(h.t_end_ns) + "\r\n";
                }
                return rows;
            }());
    CHECK(csv("collectives").find(",\"net2, \"\"the second\"\"\",") != std::string::npos);
    CHECK(csv("collectives").find("shard,\"[0, 1]\",2,") != std::string::npos);
    CHECK(csv("memory").starts_with("rank,ordinal,step,phase,category,label,"));
    CHECK(csv("compute").starts_with("id,rank,step,phase,name,unit,"));
    CHECK(csv("parameters").find("1,1,net1.weight,net1,3,1,0,3,0,1,3,1,1,1,1\r\n") != std::string::npos);
    CHECK_THROWS_AS(csv("event"), InvalidArgument);
}

TEST_CASE("exports are whole files or none") {
    const example::Folder folder;
    const Trace trace = example::large(2, 500, 1);
    export_perfetto(trace, folder.file("t.json"));
    export_csv(TraceDatabase(trace), "hops", folder.file("h.csv"));
    CHECK(example::content(folder.file("t.json")) == perfetto(trace));
    CHECK(example::content(folder.file("h.csv")).size() > 10000);
    CHECK_THROWS_AS(export_perfetto(trace, folder.file("none/t.json")), IoError);
    CHECK_THROWS_AS(export_csv(TraceDatabase(trace), "nothing", folder.file("h.csv")), InvalidArgument);
    const auto stop = [] { throw Cancelled({"cli.trace.export_cancelled", {}}); };
    CHECK_THROWS_AS(export_csv(TraceDatabase(trace), "hops", folder.file("h.csv"), stop), Cancelled);
    CHECK_THROWS_AS(export_perfetto(trace, folder.file("p.json"), stop), Cancelled);
    CHECK(example::content(folder.file("h.csv")).size() > 10000);
    CHECK(folder.files() == 2);
}
