// Algorithms from files: real MSCCL files and broken copies of them get the verdict of an independent
// simulator (tests/golden/msccl/expected.json); the TOML form says what its expressions say.
#include "core/comm/schedule/own/own_algorithm.h"
#include "core/comm/parts.h"

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/comm/calling_group.h"
#include "core/comm/fingerprint.h"
#include "core/comm/schedule/own/expression.h"

#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using namespace meshscope::comm;
using nlohmann::json;

namespace {

std::string msccl_folder() {
    return test::golden_folder() + "/msccl/";
}

std::string content_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

/// What is refused, and where.
struct Refused {
    std::string id;
    int line = 0, column = 0;
    Message message;
};
std::optional<Refused> refused(const std::function<void()>& act) {
    try {
        act();
    } catch (const InputError& error) {
        const Diagnostic& first = error.diagnostics().front();
        return Refused{first.message.id, first.position.line, first.position.column, first.message};
    } catch (const InvalidArgument& error) {
        return Refused{error.message().id, 0, 0, error.message()};
    }
    return std::nullopt;
}
std::optional<Refused> proof_of(const std::string& text, int32_t ranks) {
    return refused([&] { OwnAlgorithm::parse(text, "a.toml")->proved(ranks); });
}
std::optional<Refused> proof_of_file(const std::string& name) {
    return refused([&] {
        const auto algorithm = OwnAlgorithm::read(msccl_folder() + name);
        algorithm->proved(algorithm->ranks().value_or(0));
    });
}
int64_t number(const Refused& refused, const std::string& name) {
    const MessageValue* const value = refused.message.find(name);
    REQUIRE(value != nullptr);
    return std::get<int64_t>(*value);
}
std::vector<int64_t> numbers(const Refused& refused, const std::string& name) {
    const MessageValue* const value = refused.message.find(name);
    REQUIRE(value != nullptr);
    return std::get<std::vector<int64_t>>(*value);
}

int64_t value(const std::string& text, own::Names names = {}) {
    return own::Expression::parse(text).value(names);
}
std::string expression_mistake(const std::string& text, own::Names names = {}) {
    try {
        value(text, names);
    } catch (const own::ExpressionError& error) {
        return error.id;
    }
    return "";
}

const char* const kRing = R"(collective = "all_reduce"
chunks = "p"

[[phase]]
rounds = "p - 1"
send = { to = "r + 1", chunk = "r - s - 1", then = "add" }

[[phase]]
rounds = "p - 1"
send = { to = "r + 1", chunk = "r - s" }
)";

}  // namespace

TEST_CASE("real MSCCL algorithms and broken copies get the verdict of an independent simulator") {
    const json expected = json::parse(content_of(msccl_folder() + "expected.json"));
    for (const auto& [name, facts] : expected.at("files").items()) {
        INFO(name);
        const auto found = proof_of_file(name);
        INFO((found ? found->id + " at line " + std::to_string(found->line) : std::string("proved")));
        const std::string verdict = facts.at("result").at("verdict");
        if (verdict == "correct") {
            CHECK(!found);
            const auto algorithm = OwnAlgorithm::read(msccl_folder() + name);
            CHECK(algorithm->name() == facts.at("name").get<std::string>());
            CHECK(algorithm->ranks() == facts.at("ngpus").get<int32_t>());
            const own::Program& program = algorithm->program(*algorithm->ranks());
            for (std::size_t r = 0; r < program.by_rank.size(); ++r) {
                int64_t messages = 0, chunks = 0;
                for (const own::FileStep& step : program.by_rank[r].steps)
                    if (step.kind == Step::Kind::send) {
                        ++messages;
                        chunks += step.chunks.count;
                    }
                CHECK(messages == facts.at("send_steps_per_rank")[r].get<int64_t>());
                CHECK(chunks == facts.at("chunks_sent_per_rank")[r].get<int64_t>());
            }
            continue;
        }
        REQUIRE(found);
        const bool waits = found->id == "algorithm.circle" || found->id == "algorithm.never_sent";
        CHECK(waits == (verdict == "deadlock"));
        CHECK(found->line > 0);
    }
}

TEST_CASE("a broken MSCCL file is explained at the line that was broken, or at who waits for it") {
    // As expected.json says what was changed in each.
    const auto cycle = proof_of_file("bad_dependency_cycle.xml");
    REQUIRE(cycle);
    CHECK(cycle->id == "algorithm.circle");
    const std::string circle = std::get<std::string>(*cycle->message.find("circle"));
    INFO(circle);
    CHECK(circle.find("gpu 2 tb 2 step 0 (s, ") != std::string::npos);
    CHECK(circle.find("gpu 2 tb 0 step 4") != std::string::npos);

    const auto dropped = proof_of_file("bad_send_dropped.xml");
    REQUIRE(dropped);
    CHECK(dropped->id == "algorithm.never_sent");
    CHECK(std::get<std::string>(*dropped->message.find("who")) == "gpu 4 tb 0 step 27");
    CHECK(number(*dropped, "peer") == 3);
    CHECK(number(*dropped, "messages") == 13);

    const auto copied = proof_of_file("bad_reduce_is_copy.xml");
    REQUIRE(copied);
    CHECK(copied->id == "algorithm.flaw.lost");
    CHECK(number(*copied, "chunk") == 3);
    CHECK(number(*copied, "rank") == 0);
    CHECK(number(*copied, "by") == 5);
    CHECK(numbers(*copied, "ranks") == std::vector<int64_t>{5});
    const std::string text = content_of(msccl_folder() + "bad_reduce_is_copy.xml");
    std::istringstream lines(text);
    std::string line;
    int at = 0;
    while (++at <= copied->line) std::getline(lines, line);
    INFO(line);
    CHECK(line.find("s=\"3\" type=\"r\"") != std::string::npos);

    const auto wrong = proof_of_file("bad_wrong_chunk.xml");
    REQUIRE(wrong);
    CHECK(wrong->id == "algorithm.flaw.wrong_place");
    CHECK(number(*wrong, "rank") == 3);
    CHECK(number(*wrong, "chunk") == 1);
    CHECK(number(*wrong, "found") == 8 * 1 + 4);
    CHECK(number(*wrong, "peer") == 1);
}

TEST_CASE("damaged MSCCL files are refused for what is wrong with them") {
    const auto id = [](const std::string& name) {
        const auto found = proof_of_file("msccl_" + name + ".xml");
        REQUIRE(found);
        CHECK(found->line > 0);
        return found->id;
    };
    CHECK(id("cut") == "xml.syntax");
    CHECK(id("doctype_bomb") == "xml.doctype");
    CHECK(id("external_entity") == "xml.doctype");
    CHECK(id("peer_out_of_range") == "msccl.number");
    CHECK(id("missing_gpu") == "msccl.gpu_missing");
    CHECK(id("ngpus_huge") == "msccl.number");
    CHECK(id("unknown_type") == "msccl.type");
    CHECK(id("dep_on_nothing") == "msccl.dependency");
}

TEST_CASE("messages of one pair over two channels are received in the order of the pair") {
    // gpu 0 sends chunk 0 on channel 0, then chunk 1 on channel 1; gpu 1 may take channel 0 only after
    // channel 1.
    const std::string text =
        R"(<algo name="two" nchannels="2" nchunksperloop="2" ngpus="2" coll="broadcast" inplace="1">
<gpu id="0" i_chunks="2" o_chunks="0" s_chunks="0">
 <tb id="0" send="1" recv="-1" chan="0"><step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="1"/></tb>
 <tb id="1" send="1" recv="-1" chan="1"><step s="0" type="s" srcbuf="i" srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="0" deps="0" hasdep="0"/></tb>
</gpu>
<gpu id="1" i_chunks="2" o_chunks="0" s_chunks="0">
 <tb id="0" send="-1" recv="0" chan="0"><step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="1" deps="0" hasdep="0"/></tb>
 <tb id="1" send="-1" recv="0" chan="1"><step s="0" type="r" srcbuf="i" srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="1"/></tb>
</gpu></algo>)";
    CHECK(!proof_of(text, 2));
}

TEST_CASE("a ring in the TOML form is proved for every number of ranks, and says the steps of the ring") {
    const auto ring = OwnAlgorithm::parse(kRing, "my_ring.toml");
    CHECK(ring->op() == CollectiveOp::all_reduce);
    CHECK(ring->name() == "my_ring");
    CHECK(!ring->ranks());
    for (const int32_t p : {2, 3, 4, 7, 16, 33}) {
        const own::Program& program = ring->proved(p);
        CHECK(program.rounds == 2 * (p - 1));
        for (const int64_t n : {int64_t{2} * p, int64_t{p} / 2 + 1, int64_t{2} * p + 1}) {
            const ScheduleCall call{.op = CollectiveOp::all_reduce, .ranks = p, .elements = n};
            const auto flaw = verify(call, [&](const ScheduleQuery& query, const StepSink& sink) {
                return ring->say(query, sink);
            });
            INFO(p << " ranks, " << n << " elements");
            CHECK(!flaw);
        }
    }
}

TEST_CASE("each collective of the TOML form is proved, with parts that are uneven or empty") {
    const std::vector<std::string> texts{
        "collective = \"all_gather\"\nchunks = \"2 * p\"\n[[phase]]\nrounds = \"p - 1\"\n"
        "send = { to = \"r + 1\", chunk = \"2 * (r - s)\", count = 2 }\n",
        "collective = \"reduce_scatter\"\nchunks = \"p\"\n[[phase]]\nrounds = \"p - 1\"\n"
        "send = { to = \"r + 1\", chunk = \"r - s - 1\", then = \"add\" }\n",
        "collective = \"all_to_all\"\nchunks = \"p\"\n[[phase]]\nrounds = \"p - 1\"\n"
        "send = { to = \"r + s + 1\", chunk = \"r + s + 1\", at = \"r\" }\n",
        "collective = \"broadcast\"\nchunks = 3\n[[phase]]\nwhen = \"r == 0\"\n"
        "send = { each = \"p - 1\", to = \"i + 1\", chunk = 0, count = 3 }\n",
        "collective = \"reduce\"\nchunks = 1\n[[phase]]\nsend = { when = \"r != 0\", to = 0, chunk = 0, then "
        "= \"add\" }\n"};
    for (const std::string& text : texts) {
        INFO(text);
        const auto algorithm = OwnAlgorithm::parse(text, "a.toml");
        for (const int32_t p : {2, 3, 5, 8})
            for (const int32_t root : {0, p - 1}) {
                ScheduleCall call{.op = algorithm->op(), .ranks = p, .root = root, .elements = 3 * p};
                for (const bool uneven : {false, true}) {
                    if (uneven && call.op == CollectiveOp::all_to_all) continue;
                    if (uneven) {
                        call.elements = 0;
                        for (int32_t r = 0; r < p; ++r) call.counts.push_back(r % 3);
                        for (const int64_t each : call.counts) call.elements += each;
                    }
                    const auto flaw = verify(call, [&](const ScheduleQuery& query, const StepSink& sink) {
                        return algorithm->say(query, sink);
                    });
                    INFO(p << " ranks, root " << root);
                    CHECK(!flaw);
                }
            }
    }
}

TEST_CASE("a message of several chunks names each, and of an all_to_all's those that go on") {
    const auto named = [](const std::string& text, int32_t p, int32_t rank) {
        std::string said;
        const std::vector<Part> parts = chunk_parts(2 * p, p);
        OwnAlgorithm::parse(text, "a.toml")
            ->say({.op = OwnAlgorithm::parse(text, "a.toml")->op(),
                   .ranks = p,
                   .rank = rank,
                   .elements = 2 * p,
                   .in_parts = parts,
                   .out_parts = parts},
                  [&](const Step& step) {
                      if (step.kind != Step::Kind::receive) return;
                      int64_t left = step.pieces.empty() ? 0 : step.elements;
                      for (const trace::HopPiece& piece : step.pieces) {
                          left -= piece.elements;
                          said += std::to_string(piece.chunk) + "@" + std::to_string(piece.offset) + "+" +
                                  std::to_string(piece.elements) + " ";
                      }
                      CHECK(left == 0);
                      said += "| ";
                  });
        return said;
    };
    CHECK(named("collective = \"broadcast\"\nchunks = 3\n[[phase]]\nwhen = \"r == 0\"\n"
                "send = { each = \"p - 1\", to = \"i + 1\", chunk = 0, count = 3 }\n",
                3, 1) == "0@0+2 1@2+2 2@4+2 | ");
    // Rank 0's two parts for others go to rank 1 together, which hands the one for rank 2 on.
    CHECK(named(R"(collective = "all_to_all"
chunks = "p"
scratch = 2
[[phase]]
send = [
    { when = "r == 0", to = 1, chunk = 1, count = 2, to_buffer = "scratch", at = 0 },
    { when = "r == 1", each = 2, to = "2 * i", chunk = "2 * i", at = 1 },
    { when = "r == 2", each = 2, to = "i", chunk = "i", at = 2 },
]
[[phase]]
copy = { when = "r == 1", from_buffer = "scratch", chunk = 0, at = 0 }
send = { when = "r == 1", to = 2, from_buffer = "scratch", chunk = 1, at = 0 }
)",
                3, 1) == "0@0+2 0@-1+2 | | ");
}

TEST_CASE("what a TOML algorithm does wrong is told at its line") {
    const auto wrong = [](std::string from, const std::string& to) {
        std::string text = kRing;
        text.replace(text.find(from), from.size(), to);
        return text;
    };
    const auto lost = proof_of(wrong(", then = \"add\"", ""), 4);
    REQUIRE(lost);
    CHECK(lost->id == "algorithm.flaw.lost");
    CHECK(lost->line == 6);
    const auto twice = proof_of(wrong("chunk = \"r - s\" }", "chunk = \"r - s\", then = \"add\" }"), 4);
    REQUIRE(twice);
    CHECK(twice->id == "algorithm.flaw.twice");
    CHECK(twice->line == 10);
    const auto missing = proof_of(wrong("\"p - 1\"", "\"p - 2\""), 4);
    REQUIRE(missing);
    CHECK((missing->id == "algorithm.flaw.lost" || missing->id == "algorithm.flaw.missing"));
    const std::string ring = kRing;
    const auto half = proof_of(ring.substr(0, ring.rfind("[[phase]]")), 2);
    REQUIRE(half);
    CHECK(half->id == "algorithm.flaw.missing_own");
    const auto zero = proof_of(wrong("\"r - s - 1\"", "\"r - s % (s - 1)\""), 4);
    REQUIRE(zero);
    CHECK(zero->id == "algorithm.expression.zero");
    CHECK(zero->line == 6);
    CHECK(number(*zero, "s") == 1);
    const auto self = proof_of(wrong("\"r + 1\"", "\"r + p\""), 4);
    REQUIRE(self);
    CHECK(self->id == "algorithm.self_send");
    const auto key = proof_of(wrong("rounds", "rouns"), 4);
    REQUIRE(key);
    CHECK(key->id == "algorithm.unknown_key");
    CHECK(key->line == 5);
    const auto expression = proof_of(wrong("\"r - s - 1\"", "\"r - s - \""), 4);
    REQUIRE(expression);
    CHECK(expression->id == "algorithm.expression.ends");
    const auto scratch = proof_of(
        "collective = \"all_reduce\"\nchunks = 1\nscratch = 1\n[[phase]]\n"
        "send = { to = \"r + 1\", chunk = 0, from_buffer = \"scratch\", then = \"add\" }\n",
        2);
    REQUIRE(scratch);
    CHECK(scratch->line == 5);
}

TEST_CASE("a word of a TOML algorithm that was probably meant is tried in the file") {
    const auto hint_of = [](std::string from, const std::string& to, std::string text = kRing) {
        text.replace(text.find(from), from.size(), to);
        try {
            OwnAlgorithm::parse(text, "a.toml");
        } catch (const InputError& error) {
            std::string said;
            for (const Diagnostic& each : error.diagnostics()) {
                said += (said.empty() ? "" : "; ") + each.hint.id;
                for (const char* name : {"guess", "known", "cause.id"})
                    if (const MessageValue* const value = each.hint.find(name)) said += " " + to_text(*value);
            }
            return said;
        }
        return std::string("it was read");
    };
    CHECK(hint_of("rounds", "rouns") == "scenario.hint.did_you_mean rounds");
    CHECK(hint_of("rounds = \"p - 1\"", "rouns = \"p -\"") ==
          "scenario.hint.did_you_mean_then rounds algorithm.expression.ends");
    CHECK(hint_of("rounds", "rouns = 1\nrounds") == "scenario.hint.key_is_there rounds");
    // What seems to be there under a wrong name is not said to be missing.
    CHECK(hint_of("collective", "colective") == "scenario.hint.did_you_mean collective");
    CHECK(hint_of("chunk = \"r", "chunkk = \"r") == "scenario.hint.did_you_mean chunk");
    CHECK(hint_of("all_reduce", "all_reduc") == "scenario.hint.did_you_mean all_reduce");
    // A ring of parts asks for as many chunks as ranks, or some times as many.
    CHECK(hint_of(
              "all_reduce", "reduce_scater",
              "collective = \"all_reduce\"\nchunks = 3\n[[phase]]\nsend = { to = \"r + 1\", chunk = 0 }\n") ==
          "scenario.hint.did_you_mean_then reduce_scatter algorithm.uneven_chunks");
    CHECK(hint_of("then = \"add\"", "then = \"ad\"") == "scenario.hint.did_you_mean add");
    // There is no scratch in this file.
    CHECK(hint_of("then = \"add\"", "then = \"ad\", from_buffer = \"scrach\"") ==
          "scenario.hint.did_you_mean add; "
          "scenario.hint.did_you_mean_then scratch algorithm.no_scratch");
    CHECK(hint_of("then = \"add\"", "from_buffer = \"buffer\"") == "scenario.hint.known_here data");
    CHECK(hint_of("then = \"add\"", "from_buffer = \"scrach\"") ==
          "scenario.hint.did_you_mean_then scratch algorithm.no_scratch");
}

TEST_CASE("rings of any size are proved in a time that nobody minds, and huge ones are refused") {
    const auto ring = OwnAlgorithm::parse(kRing, "my_ring.toml");
    CHECK(ring->proved(64).rounds == 126);
    CHECK(!ring->fits(own::kMostRanks + 1));
    const auto many = proof_of(
        "collective = \"all_reduce\"\nchunks = \"p\"\n[[phase]]\nrounds = 65536\nsend = { each = 65536, to = "
        "\"r + 1\", chunk = 0 }\n",
        2);
    REQUIRE(many);
    CHECK(many->id == "algorithm.too_many_steps");
    const auto idle = proof_of(
        "collective = \"all_reduce\"\nchunks = \"p\"\n[[phase]]\nrounds = 65536\nsend = { each = \"1 << "
        "60\", when = \"i < 0\", to = \"r + 1\", chunk = 0 }\n",
        2);
    REQUIRE(idle);
    CHECK(idle->id == "algorithm.too_many_steps");
    const auto chunks = proof_of(
        "collective = \"all_reduce\"\nchunks = \"1 << 40\"\n[[phase]]\nsend = { to = \"r + 1\", chunk = 0 "
        "}\n",
        2);
    REQUIRE(chunks);
    CHECK(chunks->id == "algorithm.value");
}

TEST_CASE("a file is for the ranks that it says") {
    const std::string head = "collective = \"all_reduce\"\nchunks = 1\n";
    const std::string doubling =
        "[[phase]]\nrounds = \"log2(p)\"\nsend = { to = \"r ^ (1 << s)\", chunk = 0, then = \"add\" }\n";
    const auto powers = OwnAlgorithm::parse("require = \"p & (p - 1) == 0\"\n" + head + doubling, "a.toml");
    for (int32_t p = 2; p <= 32; ++p) CHECK(powers->fits(p) == ((p & (p - 1)) == 0));
    CHECK(powers->proved(16).rounds == 4);
    CHECK(refused([&] { powers->proved(6); })->id == "algorithm.require");
    const auto four = OwnAlgorithm::parse("ranks = 4\n" + head + doubling, "a.toml");
    CHECK(four->fits(4));
    CHECK(refused([&] { four->proved(8); })->id == "algorithm.other_ranks");
    // Without the condition the proof finds it.
    CHECK(proof_of(head + doubling, 6));
}

TEST_CASE("expressions mean what they mean in Python") {
    CHECK(value("1 + 2 * 3") == 7);
    CHECK(value("-7 / 2") == -4);
    CHECK(value("-7 // 2") == -4);
    CHECK(value("-7 % 4") == 1);
    CHECK(value("7 % -4") == -1);
    CHECK(value("1 << 2 + 1") == 8);
    CHECK(value("5 ^ 1 << 1") == 7);
    CHECK(value("6 & 3 == 2") == 1);
    CHECK(value("not 1 == 2 and 3 > 2") == 1);
    CHECK(value("0 or 5") == 1);
    CHECK(value("log2(p) + min(r, 2) * max(s, i)", {.r = 9, .p = 9, .s = 1, .i = 4}) == 11);
    CHECK(value("- -3") == 3);
    CHECK(expression_mistake("1 < 2 < 3") == "algorithm.expression.chained");
    CHECK(expression_mistake("r +") == "algorithm.expression.ends");
    CHECK(expression_mistake("q + 1") == "algorithm.expression.name");
    CHECK(expression_mistake("2r") == "algorithm.expression.unexpected");
    CHECK(expression_mistake("1 $ 2") == "algorithm.expression.unexpected");
    CHECK(expression_mistake("99999999999999999999") == "algorithm.expression.number");
    CHECK(expression_mistake("9223372036854775807 + 1") == "algorithm.expression.overflow");
    CHECK(expression_mistake("1 << 63") == "algorithm.expression.shift");
    CHECK(expression_mistake("log2(0)") == "algorithm.expression.log2");
    CHECK(expression_mistake(std::string(150, '(') + "1") == "algorithm.expression.deep");
    CHECK(expression_mistake(std::string(150, '-') + "1") == "algorithm.expression.deep");
    CHECK(expression_mistake(std::string(300, '1')) == "algorithm.expression.long");
}

TEST_CASE("ranks whose files differ do not make the same call, though both call the algorithm own") {
    const auto call = [](const std::string& file, Algorithm algorithm) {
        IssuedCall made;
        made.op = CollectiveOp::all_reduce;
        made.algorithm = algorithm;
        made.group = std::make_shared<GroupInfo>(GroupInfo{0, "world", {GlobalRank{0}, GlobalRank{1}}, file});
        return Fingerprint(made, 0);
    };
    const std::string mine = description(*OwnAlgorithm::parse(kRing, "folder/my_ring.toml"));
    const std::string changed =
        description(*OwnAlgorithm::parse(std::string(kRing) + "# \n", "my_ring.toml"));
    CHECK(mine.starts_with("my_ring.toml, "));
    CHECK(call(mine, Algorithm::own).differences(call(mine, Algorithm::own)).empty());
    const auto found = call(mine, Algorithm::own).differences(call(changed, Algorithm::own));
    REQUIRE(found.size() == 1);
    CHECK(std::string(found.front()) == "algorithm");
    CHECK(call(mine, Algorithm::own).hash() != call(changed, Algorithm::own).hash());
    CHECK(call(mine, Algorithm::own).report().algorithm == "own (" + mine + ")");
    // Where another algorithm runs, the file is none of the call's.
    CHECK(call(mine, Algorithm::ring).differences(call(changed, Algorithm::ring)).empty());
}
