// Plain calls that no rank could make are refused when the file is read.
#include "core/scenario/scenario.h"
#include "tests/scenario/mistakes.h"
#include "tests/test.h"

using namespace meshscope;
using test::BadScenario;
using test::changes_in;
using test::mistakes;

namespace {

const std::string kFour = "format = 1\n[mesh]\nshape = [4]\n[[call]]\n";  // lines 1 to 4
const std::string kGrid =
    "format = 1\n[mesh]\nshape = [2, 2]\nnames = [\"replicate\", \"shard\"]\n[[call]]\n";  // to 5

/// The words and hints of a file with one mistake.
Diagnostic only(const std::string& text) {
    try {
        scenario::parse_scenario(text, "bad.toml");
    } catch (const InputError& error) {
        REQUIRE(error.diagnostics().size() == 1);
        return error.diagnostics()[0];
    }
    FAIL("nothing was refused");
    return {};
}

int64_t number(const Message& message, const std::string& name) {
    const MessageValue* const value = message.find(name);
    REQUIRE(value != nullptr);
    return std::get<int64_t>(*value);
}

}  // namespace

TEST_CASE("a call that no rank could make is refused, with the place of the mistake") {
    const std::vector<BadScenario> cases{
        {"no op", kFour + "elements = 2\n", {"4:1 scenario.missing_either"}},
        {"an unknown op", kFour + "op = \"allreduce\"\nelements = 2\n", {"5:6 scenario.unknown_word"}},
        {"op and work", kFour + "op = \"barrier\"\nwork = \"read\"\n", {"6:1 scenario.keys_exclude"}},
        {"no elements", kFour + "op = \"all_reduce\"\n", {"4:1 scenario.missing_key"}},
        {"a root outside of the world",
         kFour + "op = \"broadcast\"\nelements = 2\nroot = 4\n",
         {"7:8 scenario.call_member"}},
        {"a root outside of the group",
         kFour + "op = \"broadcast\"\nelements = 2\ngroup = [2, 3]\nroot = 0\n",
         {"8:8 scenario.call_member"}},
        {"a root outside of a dim's groups",
         kGrid + "op = \"reduce\"\nelements = 2\ngroup = \"shard\"\nroot = 2\n",
         {"9:8 scenario.call_group_rank"}},
        {"a dim that is not there",
         kGrid + "op = \"barrier\"\ngroup = \"tp\"\n",
         {"7:9 scenario.unknown_word"}},
        {"a group with a rank that is not there",
         kFour + "op = \"barrier\"\ngroup = [0, 4]\n",
         {"6:13 scenario.call_member"}},
        {"a rank twice", kFour + "op = \"barrier\"\ngroup = [1, 1]\n", {"6:13 scenario.call_rank_twice"}},
        {"nobody", kFour + "op = \"barrier\"\nranks = []\n", {"6:9 scenario.call_no_ranks"}},
        {"who is not of the group",
         kFour + "op = \"barrier\"\ngroup = [0, 1]\nranks = [2]\n",
         {"7:10 scenario.call_member"}},
        {"a scatter that does not divide",
         kFour + "op = \"scatter\"\nelements = 6\n",
         {"6:12 scenario.call_parts"}},
        {"a reduce_scatter that does not divide",
         kFour + "op = \"reduce_scatter\"\nelements = 3\n",
         {"6:12 scenario.call_parts"}},
        {"an all_to_all that does not divide",
         kGrid + "op = \"all_to_all\"\nelements = 3\ngroup = \"shard\"\n",
         {"7:12 scenario.call_parts"}},
        {"bits of a float",
         kFour + "op = \"all_reduce\"\nelements = 2\nreduce = \"band\"\n",
         {"7:10 comm.reduce_op_not_for_dtype"}},
        {"an average of integers",
         kFour + "op = \"all_reduce\"\nelements = 2\nreduce = \"avg\"\ndtype = \"int32\"\n",
         {"7:10 comm.reduce_op_not_for_dtype"}},
        {"premul_sum without its factor",
         kFour + "op = \"all_reduce\"\nelements = 2\nreduce = \"premul_sum\"\n",
         {"4:1 scenario.missing_key"}},
        {"a factor of a sum",
         kFour + "op = \"all_reduce\"\nelements = 2\nfactor = 2.0\n",
         {"7:1 scenario.call_factor"}},
        {"a reduction of a gather",
         kFour + "op = \"gather\"\nelements = 2\nreduce = \"sum\"\n",
         {"7:1 scenario.key_not_for_kind"}},
        {"a root of an all_gather",
         kFour + "op = \"all_gather\"\nelements = 2\nroot = 0\n",
         {"7:1 scenario.key_not_for_kind"}},
        {"a barrier with elements",
         kFour + "op = \"barrier\"\nelements = 2\n",
         {"6:1 scenario.key_not_for_kind"}},
        {"to itself",
         kFour + "op = \"send_recv\"\nelements = 2\nsrc = 1\ndst = 1\n",
         {"8:7 scenario.call_self"}},
        {"a recv with numbers",
         kFour + "op = \"recv\"\nelements = 2\nsrc = 1\ndst = 0\nfill = \"ones\"\n",
         {"9:1 scenario.key_not_for_kind"}},
        {"too few rows", kFour + "op = \"all_reduce\"\nvalues = [[1], [2]]\n", {"6:10 scenario.call_rows"}},
        {"uneven rows",
         kFour + "op = \"all_reduce\"\nvalues = [[1], [2], [3, 4], [5]]\n",
         {"6:21 scenario.call_row_length"}},
        {"a fraction of an integer",
         kFour + "op = \"all_reduce\"\nelements = 2\ndtype = \"int32\"\noffset = 0.5\n",
         {"8:10 scenario.call_value"}},
        {"an integer that no double holds among the values",
         kFour + "op = \"all_reduce\"\ndtype = \"int32\"\nvalues = [[9007199254740993], [2], [3], [4]]\n",
         {"7:10 scenario.call_value"}},
        {"a value that no integer is",
         kFour + "op = \"all_reduce\"\ndtype = \"int32\"\nvalues = [[nan], [2], [3], [4]]\n",
         {"7:10 scenario.call_value"}},
        {"a value without end among integers",
         kFour + "op = \"all_reduce\"\ndtype = \"int64\"\nvalues = [[1], [-inf], [3], [4]]\n",
         {"7:10 scenario.call_value"}},
        {"NaN and Inf in a tensor of floats, which holds them",
         kFour + "op = \"all_reduce\"\nvalues = [[nan], [inf], [-inf], [4]]\n",
         {"(none)"}},
        {"values and elements",
         kFour + "op = \"all_reduce\"\nvalues = [[1], [2], [3], [4]]\nelements = 1\n",
         {"7:1 scenario.keys_exclude"}},
        {"work without bytes", kFour + "work = \"read\"\n", {"4:1 scenario.missing_key"}},
        {"bytes of a barrier", kFour + "op = \"barrier\"\nbytes = 3\n", {"6:1 scenario.key_not_for_kind"}},
        {"training beside calls",
         kFour + "op = \"barrier\"\n[model]\nkind = \"toy\"\n",
         {"6:2 scenario.keys_exclude"}},
        {"a strategy beside calls",
         kFour + "op = \"barrier\"\n[parallel]\ndata = \"ddp\"\n",
         {"7:1 scenario.keys_exclude"}},
        {"too many ranks",
         "format = 1\n[mesh]\nshape = [4097]\n[[call]]\nop = \"barrier\"\n",
         {"3:9 scenario.call_ranks"}},
        {"no call", "format = 1\ncall = []\n", {"2:1 scenario.no_calls"}},
        {"every mistake at once",
         kFour + "op = \"scatter\"\nelements = 6\nroot = 9\n[[call]]\nop = \"gather\"\n",
         {"6:12 scenario.call_parts", "7:8 scenario.call_member", "8:1 scenario.missing_key"}},
    };
    for (const BadScenario& each : cases) {
        INFO(each.what);
        CHECK(mistakes(each.text) == each.expected);
    }
}

TEST_CASE("the refusal of a call says what would be right") {
    const Diagnostic parts = only(kFour + "op = \"scatter\"\nelements = 6\n");
    CHECK(number(parts.message, "elements") == 6);
    CHECK(number(parts.message, "ranks") == 4);
    CHECK(changes_in(parts.hint) == "call.elements = 4; call.elements = 8");
    const Diagnostic root = only(kFour + "op = \"broadcast\"\nelements = 2\ngroup = [0, 3]\nroot = 1\n");
    CHECK(changes_in(root.hint) == "call.root = 0");
    const Diagnostic far = only(kFour + "op = \"broadcast\"\nelements = 2\ngroup = [0, 3]\nroot = 2\n");
    CHECK(changes_in(far.hint) == "call.root = 3");
    // The nearest is the sender itself.
    const Diagnostic self = only(kFour + "op = \"send\"\nelements = 2\nsrc = 3\ndst = 5\n");
    CHECK(changes_in(self.hint) == "call.dst = 2");
}

TEST_CASE("roots, senders and receivers are counted in their group, and a group is sorted") {
    const auto read =
        scenario::parse_scenario(kFour +
                                     "op = \"send_recv\"\nelements = 2\ngroup = [3, 1]\nsrc = 3\ndst = 1\n"
                                     "[[call]]\nop = \"broadcast\"\nelements = 1\nroot = 2\nlabel = \"x\"\n",
                                 "good.toml");
    REQUIRE(read.calls.size() == 2);
    CHECK(read.calls[0].group_ranks == std::vector<int32_t>{1, 3});
    CHECK(read.calls[0].src == 1);
    CHECK(read.calls[0].dst == 0);
    CHECK(read.calls[0].label == "send_recv");
    CHECK(read.calls[1].root == 2);
    CHECK(read.calls[1].label == "x");
}

TEST_CASE(
    "a key that a call has no use for is told with the key that says so, a call without any with both") {
    const auto says = [](const std::string& text, const std::string& name) {
        const Message message = only(text).message;
        const MessageValue* const value = message.find(name);
        REQUIRE(value != nullptr);
        return std::get<std::string>(*value);
    };
    CHECK(says(kFour + "op = \"barrier\"\nelements = 3\n", "kind_key") == "op");
    CHECK(says(kFour + "work = \"read\"\nbytes = 3\nroot = 1\n", "kind_key") == "work");
    CHECK(says(kFour + "elements = 2\n", "key") == "call.op");
    CHECK(says(kFour + "elements = 2\n", "other") == "call.work");
}

TEST_CASE("all that is wrong with a list of ranks is told at once, folded, with the ranks that there are") {
    const auto list = [](const Diagnostic& d, const char* name) {
        const MessageValue* const value = d.message.find(name);
        REQUIRE(value != nullptr);
        return std::get<std::vector<int64_t>>(*value);
    };
    const std::string text = kFour + "op = \"barrier\"\nranks = [0, 9, 5000, -1, 2, 2]\n";
    CHECK(mistakes(text) ==
          std::vector<std::string>{"6:13 scenario.call_member", "6:29 scenario.call_rank_twice"});
    const Diagnostic outside = only(kFour + "op = \"barrier\"\nranks = [0, 9, 5000, -1, 2]\n");
    CHECK(list(outside, "ranks") == std::vector<int64_t>{9, 5000, -1});
    CHECK(list(outside, "members") == std::vector<int64_t>{0, 1, 2, 3});
    std::string many;
    for (int rank = 0; rank < 100; ++rank) many += std::to_string(rank) + ",";
    CHECK(list(only(kFour + "op = \"barrier\"\ngroup = [" + many + "]\n"), "ranks").size() == 96);
    CHECK(mistakes(kFour + "op = \"barrier\"\nranks = [0, \"a\", 1.5]\n") ==
          std::vector<std::string>{"6:13 scenario.wrong_type", "6:18 scenario.wrong_type"});
    // Who is in a wrong group is not known: a root is not held against what is left of it.
    CHECK(mistakes(kFour + "op = \"broadcast\"\nelements = 1\ngroup = [0, 9]\nroot = 9\n") ==
          std::vector<std::string>{"7:13 scenario.call_member"});
}

TEST_CASE("a root that is outside, or of an op that has none, is told once and with the ranks of its group") {
    const Diagnostic far = only(kFour + "op = \"broadcast\"\nelements = 2\nroot = 5000\n");
    CHECK(far.message.id == "scenario.call_member");
    CHECK(changes_in(far.hint) == "call.root = 3");
    CHECK(only(kGrid + "op = \"reduce\"\nelements = 2\ngroup = \"shard\"\nroot = 5000\n").message.id ==
          "scenario.call_group_rank");
    CHECK(mistakes(kFour + "op = \"all_reduce\"\nelements = 2\ngroup = [0, 1]\nroot = 3\n") ==
          std::vector<std::string>{"8:1 scenario.key_not_for_kind"});
    CHECK(mistakes(kFour + "op = \"barrier\"\nelements = 0\n") ==
          std::vector<std::string>{"6:1 scenario.key_not_for_kind"});
}
