#include "core/comm/choice.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/comm/schedule/card.h"
#include "tests/test.h"
#include "tests/thrown.h"

using namespace meshscope;
using namespace meshscope::comm;
using A = Algorithm;
using Op = CollectiveOp;

TEST_CASE("an op that lacks the wanted algorithm takes the documented other") {
    constexpr std::array kColumns{Op::all_reduce, Op::all_gather, Op::reduce_scatter, Op::broadcast,
                                  Op::reduce,     Op::barrier,    Op::all_to_all};
    struct Row {
        A wanted;
        std::array<A, 7> runs;  // on 4 ranks
    };
    // The table of docs/scenario.md, line by line.
    const std::array kTable{
        Row{A::none, {A::ring, A::ring, A::ring, A::tree, A::tree, A::tree, A::direct}},
        Row{A::ring, {A::ring, A::ring, A::ring, A::tree, A::tree, A::tree, A::direct}},
        Row{A::direct, {A::direct, A::direct, A::direct, A::direct, A::direct, A::direct, A::direct}},
        Row{A::tree, {A::tree, A::ring, A::ring, A::tree, A::tree, A::tree, A::direct}},
        Row{A::star, {A::star, A::direct, A::direct, A::direct, A::direct, A::direct, A::direct}},
        Row{A::recursive_doubling,
            {A::recursive_doubling, A::recursive_doubling, A::recursive_halving, A::tree, A::tree, A::tree,
             A::direct}},
        Row{A::halving_doubling,
            {A::halving_doubling, A::recursive_doubling, A::recursive_halving, A::tree, A::tree, A::tree,
             A::direct}},
        Row{A::recursive_halving,
            {A::halving_doubling, A::recursive_doubling, A::recursive_halving, A::tree, A::tree, A::tree,
             A::direct}},
        Row{A::double_tree, {A::double_tree, A::ring, A::ring, A::tree, A::tree, A::tree, A::direct}},
        Row{A::two_level, {A::two_level, A::two_level, A::two_level, A::tree, A::tree, A::tree, A::direct}},
        Row{A::swing,
            {A::swing, A::recursive_doubling, A::recursive_halving, A::tree, A::tree, A::tree, A::direct}},
        Row{A::double_ring, {A::double_ring, A::ring, A::ring, A::tree, A::tree, A::tree, A::direct}},
        Row{A::bruck,
            {A::recursive_doubling, A::bruck, A::recursive_halving, A::tree, A::tree, A::tree, A::bruck}},
        Row{A::pairwise, {A::ring, A::ring, A::ring, A::tree, A::tree, A::tree, A::pairwise}},
        Row{A::ring_pipeline, {A::ring, A::ring, A::ring, A::ring_pipeline, A::tree, A::tree, A::direct}},
        Row{A::scatter_all_gather,
            {A::halving_doubling, A::ring, A::ring, A::scatter_all_gather, A::tree, A::tree, A::direct}}};
    for (const Row& row : kTable)
        for (std::size_t c = 0; c < kColumns.size(); ++c) {
            INFO(name(row.wanted) << " " << name(kColumns[c]));
            CHECK(choose_algorithm(kColumns[c], row.wanted, 1) == A::none);
            CHECK(choose_algorithm(kColumns[c], row.wanted, 4) == row.runs[c]);
        }
    for (const AlgorithmCard& card : algorithm_cards()) {
        INFO(name(card.algorithm));
        CHECK(std::ranges::count(kTable, card.algorithm, &Row::wanted) == 1);
    }
    for (const Row& row : kTable)
        for (const Op op : {Op::gather, Op::scatter, Op::send, Op::recv})
            CHECK(choose_algorithm(op, row.wanted, 4) == A::direct);
    // Where p is no power of two doubling has no partner; parts of different sizes cannot be forwarded
    // unseen.
    CHECK(choose_algorithm(Op::all_gather, A::recursive_doubling, 6) == A::bruck);
    CHECK(choose_algorithm(Op::all_to_all, A::bruck, 4, {.counts_named = true}) == A::pairwise);
}

TEST_CASE("by size: the lines of the table, first line that fits: by counts nothing depends on size") {
    const ChoiceTable table = ChoiceTable::parse(
        "all_reduce shared_memory 2-4 1000 recursive_doubling # a comment\n"
        "all_reduce shared_memory 2-4 max double_tree\n"
        "all_reduce shared_memory 5-max max ring\n\n"
        "# a line\n"
        "all_reduce messages 2-max max two_level\n"
        "all_gather shared_memory 2-max max bruck\nall_gather messages 2-max max ring\n"
        "reduce_scatter shared_memory 2-max max ring\nreduce_scatter messages 2-max max ring\n"
        "broadcast shared_memory 2-max max tree\nbroadcast messages 2-max max tree\n"
        "reduce shared_memory 2-max max tree\nreduce messages 2-max max tree\n"
        "all_to_all shared_memory 2-max max bruck\nall_to_all messages 2-max max bruck\n"
        "barrier shared_memory 2-max max tree\nbarrier messages 2-max max tree\n");
    CHECK(table.choose(Op::all_reduce, true, 2, 0) == A::recursive_doubling);
    CHECK(table.choose(Op::all_reduce, true, 4, 1000) == A::recursive_doubling);
    CHECK(table.choose(Op::all_reduce, true, 4, 1001) == A::double_tree);
    CHECK(table.choose(Op::all_reduce, true, 4, int64_t{1} << 40) == A::double_tree);
    CHECK(table.choose(Op::all_reduce, true, 5, 0) == A::ring);
    CHECK(table.choose(Op::all_reduce, false, 5, 0) == A::two_level);
    CHECK(table.choose(Op::gather, false, 5, 0) == A::direct);
    // Written and read again it is the same.
    std::string text;
    for (const auto& row : table.rows()) text += line_of(row) + "\n";
    CHECK(ChoiceTable::parse(text).rows() == table.rows());
    for (const int64_t bytes : {1, 1 << 20, 1 << 28})
        for (const int32_t p : {2, 3, 8}) {
            CHECK(choose_algorithm(Op::all_to_all, A::automatic, p, {bytes, true, true}) == A::direct);
            CHECK(choose_algorithm(Op::all_to_all, A::automatic, p, {bytes, true, false}) == A::pairwise);
        }
}

TEST_CASE("the table in the library answers every question with an algorithm that the op has") {
    for (int i = 0; i <= static_cast<int>(Op::barrier); ++i) {
        const auto op = static_cast<Op>(i);
        const auto has = algorithms_of(op);
        for (const bool shared : {true, false})
            for (const int32_t p : {2, 3, 4, 5, 8, 9, 17, 1000, 100000})
                for (const int64_t bytes : {int64_t{0}, int64_t{1000}, int64_t{1} << 20, int64_t{1} << 40}) {
                    const A chosen = choose_algorithm(op, A::automatic, p, {bytes, false, shared});
                    INFO(name(op) << " " << p << " " << bytes << " " << name(chosen));
                    CHECK(std::find(has.begin(), has.end(), chosen) != has.end());
                }
    }
}

TEST_CASE("from measured times: the fastest up to the middle of two sizes, and no change within a tenth") {
    const auto lines =
        lines_from({Op::all_reduce, true, 4, 7, 0, A::none}, {100, 400, 1600, 6400, 25600},
                   {A::ring, A::direct, A::tree},
                   {{9, 5, 4.6}, {9, 8, 7.3}, {9, 8, 7.1}, {9, 8, 20}, {6, 8, 20}});
    REQUIRE(lines.size() == 4);
    // Best over all sizes; at 100 and 400 the tree is less than a tenth faster.
    CHECK(lines[0] == ChoiceTable::Row{Op::all_reduce, true, 4, 7, 800, A::direct});
    CHECK(lines[1] == ChoiceTable::Row{Op::all_reduce, true, 4, 7, 3200, A::tree});
    CHECK(lines[2] == ChoiceTable::Row{Op::all_reduce, true, 4, 7, 12800, A::direct});
    CHECK(lines[3] == ChoiceTable::Row{Op::all_reduce, true, 4, 7, ChoiceTable::kMax, A::ring});
}

TEST_CASE("a table with a gap, an overlap or an unreadable line is refused") {
    const auto broken = [](const std::string& text) { ChoiceTable::parse(text); };
    for (const char* line :
         {"all_reduce shared_memory 2-max max nonsense", "all_reduce threads 2-max max ring",
          "all_reduce shared_memory 2-max max pairwise", "all_reduce shared_memory 2-max ring",
          "all_reduce shared_memory 2-max max ring ring", "all_reduce shared_memory 4-2 max ring",
          "all_reduce shared_memory 1-max max ring", "all_reduce shared_memory 2-max -1 ring",
          "all_reduce shared_memory 2-max max ring\nall_reduce shared_memory 3-max max ring",
          "all_reduce shared_memory 2-max 10 ring\nall_reduce shared_memory 2-max 10 tree"}) {
        INFO(line);
        CHECK(test::thrown_id<InvalidArgument>([&] { broken(line); }) == "comm.choice_line");
    }
    CHECK(test::thrown_id<InvalidArgument>([&] { broken(""); }) == "comm.choice_gap");
    CHECK(test::thrown_id<InvalidArgument>([&] { broken("all_reduce shared_memory 2-4 max ring"); }) ==
          "comm.choice_gap");
}
