// Scenarios of plain collective calls: what each rank puts in and gets out, against torch.distributed's
// documentation and arithmetic; what goes wrong in them, and what is predicted of them.
#include <cmath>
#include <functional>

#include "backends/registry.h"
#include "core/base/diagnosis.h"
#include "core/run/dry.h"
#include "core/run/run.h"
#include "core/run/summary.h"
#include "core/time/clock.h"
#include "core/trace/query.h"
#include "tests/test.h"

using namespace meshscope;

namespace {

std::string on(int ranks) {
    return "format = 1\n[mesh]\nshape = [" + std::to_string(ranks) + "]\n";
}
const std::string kGrid = "format = 1\n[mesh]\nshape = [2, 2]\nnames = [\"replicate\", \"shard\"]\n";

scenario::Scenario parse(const std::string& text) {
    return scenario::parse_scenario(text, "calls.toml");
}

run::RunResult made(const std::string& text) {
    const auto backends = backends::make_registry();
    return run::run_scenario(parse(text), *backends);
}

/// What every rank got out of its calls, one behind the other: "0 [4, 6] | 1 [4, 6]"; of `side`.
std::string sides(const trace::Trace& trace, const std::string& side) {
    std::string text;
    for (const auto& row : trace::query(trace, "SELECT rank, numbers FROM buffers WHERE side = '" + side +
                                                   "' ORDER BY rank, collective")
                               .rows)
        text += (text.empty() ? "" : " | ") + trace::to_text(row[0]) + " " + trace::to_text(row[1]);
    return text;
}
std::string outputs(const std::string& text) {
    return sides(*made(text).trace, "output");
}

std::string call(const std::string& rest) {
    return "[[call]]\n" + rest + "\n";
}

/// The diagnosis that a run ends with.
Diagnosis diagnosis_of(const std::string& text) {
    const auto backends = backends::make_registry();
    try {
        run::run_scenario(parse(text), *backends);
    } catch (const DiagnosedError& error) {
        return error.diagnosis();
    }
    FAIL("the run did not fail");
    return {};
}

/// The same of a dry run.
Diagnosis dry_diagnosis_of(const std::string& text) {
    try {
        run::run_dry(parse(text));
    } catch (const DiagnosedError& error) {
        return error.diagnosis();
    }
    FAIL("the dry run did not fail");
    return {};
}

}  // namespace

TEST_CASE("torch's worked example: arange(2) + 1 + 2 * rank on two ranks") {
    const auto trace = made(on(2) + call("op = \"all_gather\"\nelements = 2\noffset = 1") +
                            call("op = \"all_reduce\"\nelements = 2\noffset = 1\nlabel = \"sum\""))
                           .trace;
    CHECK(sides(*trace, "input") == "0 [1, 2] | 0 [1, 2] | 1 [3, 4] | 1 [3, 4]");
    CHECK(sides(*trace, "output") == "0 [1, 2, 3, 4] | 0 [4, 6] | 1 [1, 2, 3, 4] | 1 [4, 6]");
    const trace::TraceDatabase db(*trace);
    CHECK(trace::to_text(db.value(
              "SELECT count(*) FROM collectives WHERE rule = 'call.all_reduce' AND unit = 'sum'")) == "2");
    CHECK(trace::to_text(db.value("SELECT sum(value) FROM buffers, json_each(numbers) WHERE rank = 0 AND "
                                  "collective = 1 AND side = 'output'")) == "10");
    CHECK(trace->info.steps == 1);
    CHECK(trace->info.losses.empty());
}

TEST_CASE("every op gives each rank what torch.distributed's documents say") {
    const auto of = [](const std::string& rest) { return outputs(on(2) + call(rest)); };
    CHECK(of("op = \"broadcast\"\nvalues = [[7, 8], [0, 0]]") == "0 [7, 8] | 1 [7, 8]");
    CHECK(of("op = \"broadcast\"\nroot = 1\nvalues = [[7, 8], [1, 2]]") == "0 [1, 2] | 1 [1, 2]");
    CHECK(of("op = \"reduce\"\nroot = 1\nvalues = [[1, 2], [3, 4]]") == "1 [4, 6]");
    CHECK(of("op = \"gather\"\nvalues = [[1, 2], [3, 4]]") == "0 [1, 2, 3, 4]");
    CHECK(of("op = \"scatter\"\nroot = 1\nvalues = [[0, 0], [5, 6]]") == "0 [5] | 1 [6]");
    // The documents' all_to_all_single: arange(4) + rank * 4.
    CHECK(outputs(on(4) + call("op = \"all_to_all\"\nelements = 4")) ==
          "0 [0, 4, 8, 12] | 1 [1, 5, 9, 13] | 2 [2, 6, 10, 14] | 3 [3, 7, 11, 15]");
    CHECK(of("op = \"reduce_scatter\"\nvalues = [[1, 2, 3, 4], [10, 20, 30, 40]]") ==
          "0 [11, 22] | 1 [33, 44]");
    CHECK(of("op = \"send_recv\"\nsrc = 1\ndst = 0\nvalues = [[0, 0], [3, 4]]") == "0 [3, 4]");
    CHECK(of("op = \"barrier\"").empty());
    CHECK(of("op = \"all_gather\"\nelements = 2\nfill = \"rank\"") == "0 [0, 0, 1, 1] | 1 [0, 0, 1, 1]");
}

TEST_CASE("every reduction is that of arithmetic, in every dtype that has it") {
    struct Reduction {
        std::string word;
        std::function<double(double, double)> of;
        bool whole, fraction;
    };
    const auto bits = [](auto op) {
        return [op](double a, double b) {
            return static_cast<double>(op(static_cast<int64_t>(a), static_cast<int64_t>(b)));
        };
    };
    const std::vector<Reduction> all{
        {"sum", [](double a, double b) { return a + b; }, true, true},
        {"product", [](double a, double b) { return a * b; }, true, true},
        {"min", [](double a, double b) { return std::min(a, b); }, true, true},
        {"max", [](double a, double b) { return std::max(a, b); }, true, true},
        {"avg", [](double a, double b) { return (a + b) / 2; }, false, true},
        {"premul_sum", [](double a, double b) { return 0.5 * a + 0.5 * b; }, false, true},
        {"band", bits([](int64_t a, int64_t b) { return a & b; }), true, false},
        {"bor", bits([](int64_t a, int64_t b) { return a | b; }), true, false},
        {"bxor", bits([](int64_t a, int64_t b) { return a ^ b; }), true, false}};
    int runs = 0;
    for (const std::string dtype : {"float32", "bfloat16", "float16", "int32", "int64", "uint8"})
        for (const Reduction& r : all) {
            const bool whole = dtype[0] != 'f' && dtype[0] != 'b';
            if (whole ? !r.whole : !r.fraction) continue;
            INFO(dtype << " " << r.word);
            const std::string rest = "op = \"all_reduce\"\nvalues = [[6, 12], [10, 3]]\nreduce = \"" +
                                     r.word + "\"\ndtype = \"" + dtype + "\"" +
                                     (r.word == "premul_sum" ? "\nfactor = 0.5" : "");
            const auto trace = made(on(2) + call(rest)).trace;
            const auto numbers =
                trace::query(*trace,
                             "SELECT value FROM buffers, json_each(numbers) WHERE rank = 1 AND side = "
                             "'output'")
                    .rows;
            REQUIRE(numbers.size() == 2);
            CHECK(std::stod(trace::to_text(numbers[0][0])) == r.of(6, 10));
            CHECK(std::stod(trace::to_text(numbers[1][0])) == r.of(12, 3));
            ++runs;
        }
    CHECK(runs == 3 * 6 + 3 * 7);
}

TEST_CASE("a call is made by the groups of a mesh dim, or by one group of ranks") {
    const std::string sum = "op = \"all_reduce\"\nelements = 1\nfill = \"rank\"\ngroup = ";
    CHECK(outputs(kGrid + call(sum + "\"shard\"")) == "0 [1] | 1 [1] | 2 [5] | 3 [5]");
    CHECK(outputs(kGrid + call(sum + "\"replicate\"")) == "0 [2] | 1 [4] | 2 [2] | 3 [4]");
    CHECK(outputs(kGrid + call(sum + "[3, 0]")) == "0 [3] | 3 [3]");
}

TEST_CASE("a mesh smaller than the world leaves the other ranks out of its calls") {
    CHECK(outputs("format = 1\n[mesh]\nshape = [2]\nworld = 3\n" +
                  call("op = \"all_reduce\"\nelements = 1\nfill = \"ones\"")) == "0 [2] | 1 [2]");
}

TEST_CASE("zero first: the others wait at a barrier until rank 0 has read, then read themselves") {
    const auto trace =
        made(on(4) + call("op = \"barrier\"\nranks = [1, 2, 3]") +
             call("work = \"download\"\nbytes = 4000\nranks = [0]") + call("op = \"barrier\"\nranks = [0]") +
             call("work = \"read\"\nbytes = 4000\nranks = [1, 2, 3]"))
            .trace;
    const trace::TraceDatabase db(*trace);
    CHECK(trace::to_text(db.value("SELECT count(DISTINCT sequence) FROM collectives")) == "1");
    CHECK(
        trace::to_text(db.value("SELECT group_concat(rank || name, ' ') FROM (SELECT rank, name FROM compute "
                                "ORDER BY rank)")) == "0download 1read 2read 3read");
    // Nobody reads before rank 0 has downloaded, on either clock.
    for (const time::Clock& clock : {time::measured(*trace), time::modelled(*trace, time::classroom())})
        for (std::size_t r = 1; r < 4; ++r) {
            INFO("rank " << r);
            CHECK(clock.events[r][1].begin_ns >= clock.events[0][0].end_ns);
        }
    CHECK(trace::to_text(db.value("SELECT max(touched_bytes) FROM compute")) == "4000");
}

TEST_CASE("a call that one rank leaves out, makes twice or makes otherwise is diagnosed") {
    const std::string calls = on(3) + call("op = \"all_reduce\"\nelements = 4\nlabel = \"a\"") +
                              call("op = \"broadcast\"\nelements = 4\nlabel = \"b\"");
    const auto fault = [](const std::string& rest) {
        return "[[faults]]\nrank = 1\nstep = 0\n" + rest + "\n";
    };
    const Diagnosis skipped = diagnosis_of(calls + fault("kind = \"skip\"\nunit = \"a\""));
    CHECK(skipped.kind == DiagnosisKind::mismatch);  // its broadcast meets their all_reduce
    CHECK(skipped.culprits == std::vector<int32_t>{1});
    CHECK(skipped.differs == std::vector<std::string>{"op"});
    const Diagnosis last = diagnosis_of(calls + fault("kind = \"skip\"\nunit = \"b\""));
    CHECK(last.kind == DiagnosisKind::missing);
    CHECK(last.culprits == std::vector<int32_t>{1});
    const Diagnosis count = diagnosis_of(calls + fault("kind = \"mismatch\"\nfield = \"count\"\nat = 0"));
    CHECK(count.differs == std::vector<std::string>{"count"});
    // Two calls in another order on one rank, without any fault.
    const Diagnosis swapped = diagnosis_of(on(2) + call("op = \"all_reduce\"\nelements = 2\nranks = [0]") +
                                           call("op = \"broadcast\"\nelements = 2") +
                                           call("op = \"all_reduce\"\nelements = 2\nranks = [1]"));
    CHECK(swapped.kind == DiagnosisKind::mismatch);
    CHECK(swapped.differs == std::vector<std::string>{"op"});
    // Two that receive first wait for each other.
    const Diagnosis ring = diagnosis_of(on(2) + call("op = \"recv\"\nelements = 1\nsrc = 1\ndst = 0") +
                                        call("op = \"recv\"\nelements = 1\nsrc = 0\ndst = 1") +
                                        call("op = \"send\"\nelements = 1\nsrc = 0\ndst = 1") +
                                        call("op = \"send\"\nelements = 1\nsrc = 1\ndst = 0"));
    CHECK(ring.kind == DiagnosisKind::deadlock);
}

namespace {

/// Rank 0 and rank 1 send to each other and receive then; `rest` goes into both sends.
std::string both_send_first(const std::string& rest) {
    return on(2) + call("op = \"send\"\nsrc = 0\ndst = 1\n" + rest) +
           call("op = \"send\"\nsrc = 1\ndst = 0\n" + rest) +
           call("op = \"recv\"\nelements = 2\nsrc = 1\ndst = 0") +
           call("op = \"recv\"\nelements = 2\nsrc = 0\ndst = 1");
}

}  // namespace

TEST_CASE("two ranks that both send first wait for each other, however small the messages are") {
    const Diagnosis ring = diagnosis_of(both_send_first("elements = 2"));
    CHECK(ring.kind == DiagnosisKind::deadlock);
    CHECK(ring.cycle == std::vector<int32_t>{0, 1});
    REQUIRE(ring.ranks.size() == 2);
    for (int32_t rank = 0; rank < 2; ++rank) {
        const RankReport& report = ring.ranks[static_cast<std::size_t>(rank)];
        CHECK(report.call.op == "send");
        CHECK(report.call.peer == 1 - rank);
        CHECK(report.waits_for == 1 - rank);
    }
    // Three in a ring, and a send against a collective.
    const Diagnosis three = diagnosis_of(on(3) + call("op = \"send\"\nelements = 1\nsrc = 0\ndst = 1") +
                                         call("op = \"send\"\nelements = 1\nsrc = 1\ndst = 2") +
                                         call("op = \"send\"\nelements = 1\nsrc = 2\ndst = 0") +
                                         call("op = \"recv\"\nelements = 1\nsrc = 0\ndst = 1") +
                                         call("op = \"recv\"\nelements = 1\nsrc = 1\ndst = 2") +
                                         call("op = \"recv\"\nelements = 1\nsrc = 2\ndst = 0"));
    CHECK(three.cycle == std::vector<int32_t>{0, 1, 2});
    const Diagnosis mixed =
        diagnosis_of(on(2) + call("op = \"send\"\nelements = 1\nsrc = 0\ndst = 1") +
                     call("op = \"barrier\"") + call("op = \"recv\"\nelements = 1\nsrc = 0\ndst = 1"));
    CHECK(mixed.kind == DiagnosisKind::deadlock);
    CHECK(mixed.ranks[0].call.op == "send");
    CHECK(mixed.ranks[1].call.op == "barrier");
}

TEST_CASE("eager sends let both ranks send first, and the record says that they are eager") {
    const auto trace = made(both_send_first("elements = 2\neager = true")).trace;
    CHECK(sides(*trace, "output") == "0 [2, 3] | 1 [0, 1]");
    CHECK(trace::to_text(trace::query(*trace,
                                      "SELECT group_concat(rule || ' ' || stream, ', ') FROM (SELECT "
                                      "rule, stream FROM collectives WHERE op = 'send' ORDER BY rank)")
                             .rows.at(0)
                             .at(0)) == "call.send.eager p2p, call.send.eager p2p");
    // The other clock does not stop either.
    CHECK(time::modelled(*trace, time::classroom()).end_ns > 0);
}

TEST_CASE("a message that nobody receives is told as that, on every backend's terms and in a dry run") {
    const std::string send = "op = \"send\"\nelements = 4\nsrc = ", sum = "op = \"all_reduce\"\nelements = 4";
    // Rank 0 goes on to a collective that all make; its message is waited for in the end.
    const std::string eager = on(3) + call(send + "0\ndst = 1\neager = true") + call(sum);
    for (const std::string& text : {eager, on(3) + call(send + "0\ndst = 1")}) {
        INFO(text);
        for (const Diagnosis& d : {diagnosis_of(text), dry_diagnosis_of(text)}) {
            CHECK(sentence(d).id == "comm.never_received");
            CHECK(d.culprits == std::vector<int32_t>{1});
            CHECK(d.ranks[0].call.op == "send");
            CHECK(d.ranks[0].missing == std::vector<int32_t>{1});
            CHECK(to_text(*sentence(d).find("doing")).starts_with("send(to 1, float32, in 4"));
        }
    }
    // What the others did last is no less known for it.
    CHECK(diagnosis_of(eager).ranks[1].last.op == "all_reduce");
    CHECK(diagnosis_of(eager).ranks[0].last.op == "all_reduce");
    const std::string recv = on(2) + call("op = \"recv\"\nelements = 4\nsrc = 0\ndst = 1");
    for (const Diagnosis& d : {diagnosis_of(recv), dry_diagnosis_of(recv)})
        CHECK(sentence(d).id == "comm.never_sent");
}

TEST_CASE("waits that have nothing to do with each other are told apart, equal ones once") {
    const std::string recv = "op = \"recv\"\nelements = 4\nsrc = ",
                      sum = "op = \"all_reduce\"\nelements = 4\n";
    const std::string two = on(4) + call(recv + "0\ndst = 1") + call(recv + "2\ndst = 3");
    for (const Diagnosis& d : {diagnosis_of(two), dry_diagnosis_of(two)}) {
        const Message told = sentence(d);
        CHECK(told.id == "comm.peers_finished");
        CHECK(to_text(*told.find("waiting")) == "[1, 3]");
        CHECK(to_text(*told.find("details")).starts_with("1 → 0: recv(from 0, float32, in 0, out 4)"));
        CHECK(to_text(*told.find("details")).find("; 3 → 2: recv(from 2, float32") != std::string::npos);
        CHECK(d.culprits == std::vector<int32_t>{0, 2});
        CHECK(d.ranks[1].missing == std::vector<int32_t>{0});
        CHECK(d.ranks[3].missing == std::vector<int32_t>{2});
    }
    // A collective that two of four make is one wait of both, for both others.
    const std::string half = on(4) + call(sum + "ranks = [0, 3]");
    for (const Diagnosis& d : {diagnosis_of(half), dry_diagnosis_of(half)}) {
        const Message told = sentence(d);
        CHECK(told.id == "comm.peer_finished");
        CHECK(to_text(*told.find("waiting")) == "[0, 3]");
        CHECK(to_text(*told.find("peers")) == "[1, 2]");
    }
}

TEST_CASE("a send and a recv that do not fit are told of the two alone, whatever group they are in") {
    const std::string text = on(4) + call("op = \"send\"\nelements = 5\nsrc = 1\ndst = 2") +
                             call("op = \"recv\"\nelements = 4\nsrc = 1\ndst = 2");
    for (const Diagnosis& d : {diagnosis_of(text), dry_diagnosis_of(text)}) {
        const Message told = sentence(d);
        CHECK(told.id == "diagnosis.mismatch_two");
        CHECK(to_text(*told.find("first")) == "1");
        CHECK(to_text(*told.find("second")) == "2");
        CHECK(to_text(*told.find("differs")) == "count");
    }
}

TEST_CASE("a member that made the call and ended is not said to have left it out") {
    // Unchecked: rank 1 gives its part of the reduce to the root and ends; rank 2 makes no call.
    run::RunOptions unchecked;
    unchecked.checked = false;
    try {
        run::run_scenario(parse(on(3) + call("op = \"reduce\"\nelements = 4\nranks = [0, 1]")),
                          *backends::make_registry(), unchecked);
        FAIL("the run did not fail");
    } catch (const DiagnosedError& error) {
        CHECK(error.diagnosis().culprits == std::vector<int32_t>{2});
    }
}

TEST_CASE("a sender goes on when its message was received, an eager one at once, on the modelled clock") {
    for (const bool eager : {false, true}) {
        INFO(eager);
        const auto trace = made(on(2) + call("work = \"download\"\nbytes = 1000000\nranks = [1]") +
                                call("op = \"send_recv\"\nelements = 2\nsrc = 0\ndst = 1" +
                                     std::string(eager ? "\neager = true" : "")) +
                                call("work = \"read\"\nbytes = 100\nranks = [0]"))
                               .trace;
        const time::Clock clock = time::modelled(*trace, time::classroom());
        const time::Interval download = clock.events[1][0], read = clock.events[0][1];
        CHECK((read.begin_ns >= download.end_ns) == !eager);
    }
}

TEST_CASE("calls that do not fit together end a dry run with the diagnosis that a run ends with") {
    const auto pair = [](const char* op, int src, int dst, const std::string& rest = "elements = 2") {
        return call("op = \"" + std::string(op) + "\"\nsrc = " + std::to_string(src) +
                    "\ndst = " + std::to_string(dst) + "\n" + rest);
    };
    const std::string reduce = "op = \"all_reduce\"\n";
    const std::string all[] = {
        both_send_first("elements = 2"),
        // Both receive first.
        on(2) + pair("recv", 1, 0) + pair("recv", 0, 1) + pair("send", 0, 1) + pair("send", 1, 0),
        on(3) + pair("send", 0, 1) + pair("send", 1, 2) + pair("send", 2, 0) + pair("recv", 0, 1) +
            pair("recv", 1, 2) + pair("recv", 2, 0),
        on(2) + pair("send", 0, 1) + call("op = \"barrier\"") + pair("recv", 0, 1),
        // Nobody receives, nobody sends, an eager message that nobody takes.
        on(2) + pair("send", 0, 1),
        on(2) + pair("recv", 0, 1),
        on(2) + pair("send", 0, 1, "elements = 2\neager = true"),
        // Another size, another dtype, eager or not.
        on(2) + pair("send", 0, 1, "elements = 3") + pair("recv", 0, 1),
        on(2) + pair("send", 0, 1, "elements = 2\neager = true\ndtype = \"int32\"") + pair("recv", 0, 1),
        // One rank leaves a call out, two bring another size, halves differ, the roots do.
        on(4) + call(reduce + "elements = 4\nranks = [0, 1, 3]"),
        on(5) + call(reduce + "elements = 4\nranks = [0, 2, 4]") +
            call(reduce + "elements = 5\nranks = [1, 3]"),
        on(4) + call(reduce + "elements = 4\nranks = [0, 1]") + call(reduce + "elements = 5\nranks = [2, 3]"),
        on(3) + call("op = \"broadcast\"\nelements = 4\nranks = [0, 1]") +
            call("op = \"broadcast\"\nelements = 4\nroot = 1\nranks = [2]"),
        on(3) + call("op = \"scatter\"\nelements = 3\nranks = [0, 1]") +
            call("op = \"scatter\"\nelements = 6\nranks = [2]"),
        // Two groups, in another order on one rank.
        on(3) + call("op = \"barrier\"\nranks = [0, 2]") + call("op = \"barrier\"\ngroup = [0, 1]") +
            call("op = \"barrier\"\nranks = [1]"),
    };
    for (const std::string& text : all) {
        INFO(text);
        const Diagnosis real = diagnosis_of(text), dry = dry_diagnosis_of(text);
        CHECK(name(dry.kind) == name(real.kind));
        CHECK(dry.differs == real.differs);
        CHECK(dry.culprits == real.culprits);
        CHECK(dry.cycle == real.cycle);
        CHECK(sentence(dry).id == sentence(real).id);
        for (std::size_t r = 0; r < dry.ranks.size(); ++r)
            CHECK(dry.ranks[r].missing == real.ranks[r].missing);
    }
    // And those that fit are not complained of.
    CHECK_NOTHROW(run::run_dry(parse(both_send_first("elements = 2\neager = true"))));
}

TEST_CASE("only what sends can be eager") {
    for (const char* rest : {"op = \"recv\"\nelements = 1\nsrc = 0\ndst = 1", "op = \"barrier\""}) {
        INFO(rest);
        try {
            parse(on(2) + call(std::string(rest) + "\neager = true"));
            FAIL("it was read");
        } catch (const InputError& error) {
            REQUIRE(error.diagnostics().size() == 1);
            CHECK(to_text(*error.diagnostics()[0].message.find("key")) == "call.eager");
        }
    }
}

TEST_CASE("what is predicted of plain calls is what a run records") {
    const std::string text = kGrid + call("op = \"all_reduce\"\nelements = 6") +
                             call("op = \"gather\"\nelements = 3\nroot = 2") +
                             call("op = \"reduce_scatter\"\nelements = 4\ngroup = \"shard\"") +
                             call("op = \"broadcast\"\nelements = 5\ngroup = [1, 2, 3]\nroot = 3") +
                             call("op = \"send_recv\"\nelements = 5\nsrc = 3\ndst = 0") +
                             call("op = \"barrier\"") + call("work = \"read\"\nbytes = 100\nranks = [2]");
    for (const std::string algorithm : {"ring", "direct", "halving_doubling"}) {
        INFO(algorithm);
        const std::string all = text + "[parallel]\nalgorithm = \"" + algorithm + "\"\n";
        const auto real = made(all).trace;
        const auto dry = run::run_dry(parse(all)).trace;
        const std::string columns =
            "SELECT rank, id, op, unit, group_ranks, sequence, in_elements, out_elements, bytes, algorithm, "
            "peer "
            "FROM collectives ORDER BY rank, id";
        const auto a = trace::query(*real, columns), b = trace::query(*dry, columns);
        CHECK(a.rows == b.rows);
        CHECK(a.rows.size() == 4 + 4 + 4 + 3 + 2 + 4);
        const run::Summary summary = run::summarize(*dry, time::classroom(), time::Absent::as_present);
        CHECK(summary.ranks.size() == 4);
        CHECK(summary.step_ns > 0);
    }
    CHECK(run::zero_formula(parse(text)).total() == 0);
}
