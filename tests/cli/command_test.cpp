// Help, usage errors, languages, doctor: what every command shares.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <sstream>

#include "app/cli/table.h"
#include "core/comm/choice.h"
#include "tests/cli/program.h"
#include "tests/test.h"

namespace {

/// The commands that a help text lists under "Subcommands:".
std::vector<std::string> listed_commands(const std::string& help) {
    std::vector<std::string> commands;
    std::istringstream lines(help);
    bool inside = false;
    for (std::string line; std::getline(lines, line);) {
        if (line == "Subcommands:") {
            inside = true;
        } else if (line.empty()) {
            inside = false;
        } else if (inside && line.starts_with("  ") && line[2] != ' ') {
            commands.push_back(line.substr(2, line.find(' ', 2) - 2));
        }
    }
    return commands;
}

void check_help(const std::vector<std::string>& command) {
    std::vector<std::string> words = command;
    words.push_back("--help");
    std::string joined;
    for (const std::string& word : command) joined += " " + word;
    INFO("meshscope" << joined << " --help");
    const auto help = program::run(words);
    CHECK(help.exit_code == 0);
    CHECK(help.err.empty());
    CHECK(help.out.find("Usage: meshscope" + joined) != std::string::npos);
    CHECK(help.out.find("Examples:\n  meshscope") != std::string::npos);
    words.insert(words.begin(), {"--lang", "zh"});
    const auto chinese = program::run(words);
    CHECK(chinese.exit_code == 0);
    CHECK(chinese.out.find("示例：\n  meshscope") != std::string::npos);
    CHECK(chinese.out.find("cli.") == std::string::npos);  // an id without a text
    CHECK(help.out.find("cli.") == std::string::npos);
    for (const std::string& sub : listed_commands(help.out)) {
        std::vector<std::string> inner = command;
        inner.push_back(sub);
        check_help(inner);
    }
}

}  // namespace

TEST_CASE("every command explains itself with examples, in both languages") {
    const auto commands = listed_commands(program::run({"--help"}).out);
    for (const char* name : {"run", "lesson", "mesh", "doctor"})
        CHECK(std::count(commands.begin(), commands.end(), name) == 1);
    check_help({});
}

TEST_CASE("help has no English word of its maker in Chinese, and names every option's values") {
    for (const std::vector<std::string>& words : {std::vector<std::string>{"run"},
                                                  {"trace", "query"},
                                                  {"trace", "export"},
                                                  {"bench", "collectives"},
                                                  {}}) {
        std::vector<std::string> all{"--lang", "zh"};
        all.insert(all.end(), words.begin(), words.end());
        all.emplace_back("--help");
        const std::string help = program::run(all).out;
        INFO(help);
        for (const char* english :
             {"Positionals", "REQUIRED", "TEXT", "Excludes", "INT in", "用法: ", "选项:"})
            CHECK(help.find(english) == std::string::npos);
        CHECK(help.find("用法：meshscope") != std::string::npos);
        CHECK(help.find("选项：\n") != std::string::npos);
    }
    for (const char* language : {"en", "zh"}) {
        const std::string help = program::run({"run", "--help", "--lang", language}).out;
        CHECK(help.find("--level off|collectives|hops|values") != std::string::npos);
    }
    const std::string query = program::run({"trace", "query", "--help"}).out;
    CHECK(query.find("FILE (required)") != std::string::npos);
    CHECK(query.find("--csv (not with --json)") != std::string::npos);
    for (const char* language : {"en", "zh"}) {
        const std::string help = program::run({"launch", "--help", "--lang", language}).out;
        for (const char* names : {"--nodes,--nnodes A:B ", "--rdzv-endpoint HOST:PORT ", " N (1 … 4096)\n"})
            CHECK(help.find(names) != std::string::npos);
    }
}

TEST_CASE("the value of a misspelt option is no second mistake") {
    for (const auto& [words, said] : {
             std::pair{std::vector<std::string>{"run", "s.toml", "--tracee", "t.mscope"}, "--trace"},
             {{"run", "s.toml", "--levle", "hops"}, "--level"},
             {{"mesh", "--shape", "2", "--nmaes", "a"}, "--names"},
         }) {
        const auto ended = program::run(words);
        INFO(ended.err);
        CHECK(ended.exit_code == 2);
        CHECK(ended.err.find(said) != std::string::npos);
        CHECK(std::ranges::count(ended.err, '\n') == 2);  // and where help is
    }
    // A flag takes no value: what stands behind it is a word of its own.
    CHECK(program::run({"run", "s.toml", "--queit", "t.mscope"}).err.find("t.mscope") != std::string::npos);
}

TEST_CASE("help's second column begins in one place, whatever the first is written with") {
    for (const char* language : {"en", "zh"})
        for (const char* command : {"mesh", "run", "launch", "sampler"}) {
            const std::string help = program::run({command, "--help", "--lang", language}).out;
            std::istringstream lines(help);
            int options = 0;
            for (std::string line; std::getline(lines, line);) {
                // "  --name WORDS …   what it is for"
                const std::size_t gap = line.find("  ", 2);
                if (!line.starts_with("  -") || gap == std::string::npos) continue;
                const std::size_t text = line.find_first_not_of(' ', gap);
                if (text == std::string::npos) continue;
                INFO(line);
                CHECK(meshscope::cli::display_width(line.substr(0, text)) == 34);
                ++options;
            }
            CHECK(options > 3);
        }
}

TEST_CASE("bench shows examples of its own and every default") {
    const std::string help = program::run({"bench", "--help"}).out;
    CHECK(help.find("meshscope bench step --strategy") != std::string::npos);
    CHECK(help.find("meshscope lesson") == std::string::npos);
    const std::string collectives = program::run({"bench", "collectives", "--help"}).out;
    for (const char* part :
         {"N (1 … 1024) = 4", "1K,64K = 1K,64K,1M,16M", "= direct", "= off", "= threads"}) {
        INFO(part << '\n' << collectives);
        CHECK(collectives.find(part) != std::string::npos);
    }
    const std::string step = program::run({"bench", "step", "--help"}).out;
    for (const char* part :
         {"= single", "= gpt", "= 64", "= 256", "= 32", "= 8", "= adamw", "= 20", "= collectives"}) {
        INFO(part << '\n' << step);
        CHECK(step.find(part) != std::string::npos);
    }
}

TEST_CASE("bench says when it measures another size than the one asked for") {
    const auto odd =
        program::run({"bench", "collectives", "--ranks", "2", "--sizes", "7", "--ops", "broadcast"});
    REQUIRE(odd.exit_code == 0);
    CHECK(nlohmann::json::parse(odd.out)["bytes"] == 8);
    CHECK(odd.err.find("8 bytes are measured instead") != std::string::npos);
    const auto even =
        program::run({"bench", "collectives", "--ranks", "2", "--sizes", "8", "--ops", "broadcast"});
    CHECK(even.err.empty());
}

TEST_CASE("bench starts the processes that a backend needs, as run does, and leaves tables to itself") {
    const auto ended = program::run({"bench", "collectives", "--backend", "tcp", "--ranks", "2", "--sizes",
                                     "64", "--ops", "all_reduce", "--repeats", "1"});
    INFO(ended.err);
    REQUIRE(ended.exit_code == 0);
    const auto row = nlohmann::json::parse(ended.out);  // one line: rank 0's
    CHECK(row["backend"] == "tcp");
    CHECK(row["us"] > 0);
    const auto inside =
        program::run({"bench", "collectives", "--table", "t.txt"},
                     {.environment = {"RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=1"}});
    CHECK(inside.exit_code == 2);
    CHECK(inside.err.find("--table starts processes of its own") != std::string::npos);
}

TEST_CASE("bench on threads inside a launcher is refused, as each of its processes would measure the same") {
    const std::vector<std::vector<std::string>> launchers{{"RANK=1", "WORLD_SIZE=2"},
                                                          {"PMI_RANK=0", "PMI_SIZE=2"}};
    for (const std::vector<std::string>& what :
         {std::vector<std::string>{"collectives", "--ranks", "2"}, {"step", "--ranks", "2"}, {"profile"}})
        for (const auto& environment : launchers) {
            std::vector<std::string> words{"bench"};
            words.insert(words.end(), what.begin(), what.end());
            const auto ended = program::run(words, {.environment = environment});
            INFO(ended.err);
            CHECK(ended.exit_code == 2);
            CHECK(ended.out.empty());
            CHECK(ended.err.find("the backend threads runs all 2 ranks in one process, but ") !=
                  std::string::npos);
            CHECK(ended.err.find(" started 2 processes") != std::string::npos);
        }
    // One process is no such job.
    CHECK(program::run({"bench", "collectives", "--ranks", "2", "--sizes", "8", "--ops", "broadcast"},
                       {.environment = {"RANK=0", "WORLD_SIZE=1"}})
              .exit_code == 0);
}

TEST_CASE("bench shows the word that is no size, be it empty") {
    for (const auto& [sizes, word] : std::vector<std::pair<std::string, std::string>>{
             {"1K,,2K", ""}, {"1K,", ""}, {"1K,2X", "2X"}, {"0", "0"}}) {
        const auto ended = program::run({"bench", "collectives", "--sizes", sizes});
        CHECK(ended.exit_code == 2);
        CHECK(ended.err.starts_with("meshscope: --sizes: \"" + word + "\" is not a size; "));
    }
}

TEST_CASE("a bench whose buffers no memory has room for is refused before a rank starts") {
    for (const char* backend : {"threads", "tcp"}) {
        const auto ended = program::run({"bench", "collectives", "--backend", backend, "--ranks", "1024",
                                         "--sizes", "8,8G", "--ops", "all_reduce,all_to_all"});
        INFO(backend << ": " << ended.err);
        CHECK(ended.exit_code == 71);
        CHECK(ended.out.empty());
        CHECK(ended.err.find("all_reduce of 8589934592 bytes among 1024 ranks would take 24") !=
              std::string::npos);
        CHECK(ended.err.find("use smaller --sizes or fewer --ranks") != std::string::npos);
    }
}

TEST_CASE("bench refuses a file without a name before it measures") {
    for (const std::vector<std::string>& words : {std::vector<std::string>{"collectives", "--table", ""},
                                                  {"step", "--profile", ""},
                                                  {"profile", "--out", ""}}) {
        std::vector<std::string> all{"bench"};
        all.insert(all.end(), words.begin(), words.end());
        const auto ended = program::run(all);
        CHECK(ended.exit_code == 2);
        CHECK(ended.out.empty());
        CHECK(ended.err ==
              "meshscope: " + words[1] + " has an empty value; give a value or remove the option\n");
    }
}

TEST_CASE("bench measures every algorithm and writes a table that names one for everything") {
    const program::Folder folder;
    const std::string file = folder.file("table.txt");
    const auto ended =
        program::run({"bench", "collectives", "--table", file, "--ranks", "2", "--sizes", "1K,2K"});
    INFO(ended.err);
    REQUIRE(ended.exit_code == 0);
    std::set<std::string> measured;  // all that two ranks have
    std::istringstream lines(ended.out);
    for (std::string line; std::getline(lines, line);) {
        const auto row = nlohmann::json::parse(line);
        measured.insert(row["op"].get<std::string>() + " " + row["algorithm"].get<std::string>());
    }
    CHECK(measured.contains("all_reduce double_tree"));
    CHECK(measured.contains("all_to_all bruck"));
    CHECK_FALSE(measured.contains("all_reduce two_level"));  // depends on nodes
    const auto table = meshscope::comm::ChoiceTable::parse(program::content(file));
    for (const auto& row : table.rows()) {
        if (!row.shares_memory || row.op == meshscope::CollectiveOp::barrier) continue;
        CHECK(row.ranks_from == 2);
        CHECK(row.ranks_to == meshscope::comm::ChoiceTable::kMax);
        CHECK((row.bytes_to == 1448 || row.bytes_to == meshscope::comm::ChoiceTable::kMax));  // √(1024·2048)
        CHECK(measured.contains(std::string(name(row.op)) + " " + std::string(name(row.algorithm))));
    }
}

TEST_CASE("what is wrong with a command line is told, with what was meant, and exits with 2") {
    const auto fails = [](const std::vector<std::string>& words, const std::string& said) {
        const auto ended = program::run(words);
        INFO(ended.err);
        CHECK(ended.exit_code == 2);
        CHECK(ended.out.empty());
        CHECK(ended.err.find(said) != std::string::npos);
        CHECK(ended.err.find("--help") != std::string::npos);
    };
    fails({}, "a command is missing");
    fails({"doctr"}, "did you mean doctor?");
    fails({"doctor", "--jsno"}, "did you mean --json?");
    fails({"doctor", "everything"}, "unexpected argument everything");
    fails({"run"}, "SCENARIO is missing");
    fails({"run", "s.toml", "--level", "all"},
          "--level cannot be \"all\": it takes one of off, collectives, hops, values");
    fails({"run", "s.toml", "--trase=x"}, "did you mean --trace?");
    fails({"lesson"}, "a command is missing");
    fails({"--lang", "fr", "doctor"}, "--lang cannot be \"fr\": it takes one of en, zh");
    fails({"bench", "step", "--ranks", "0"},
          "--ranks cannot be \"0\": it takes a whole number from 1 to 1024");
    fails({"bench", "step", "--steps", "many"},
          "--steps cannot be \"many\": it takes a whole number from 1 to");
    fails({"bench", "step", "--steps"}, "--steps needs a value");
    fails({"schedule", "--ranks", "few"}, "--ranks cannot be \"few\": it takes a whole number from 1 to");
    fails({"doctor", "--json=maybe"}, "--json");
    fails({"trace", "query", "t.mscope", "select 1", "--csv", "--json"}, "cannot be used together");
    fails({"launch"}, "COMMAND is missing");
    fails({"launch", "--"}, "COMMAND is missing");
    CHECK(program::run({"bench", "step", "--strategy", "ddq"}).exit_code == 2);
    // The -- before a command is no word that is too many.
    CHECK(program::run({"launch", "--frob", "--", "true"}).err ==
          "meshscope: unknown option --frob\nmeshscope: see: meshscope launch --help\n");
    const auto chinese = program::run({"doctr", "--lang", "zh"});
    CHECK(chinese.err.find("是不是想写 doctor？") != std::string::npos);
    // CLI11's own sentences are not left in the middle of ours.
    for (const std::vector<std::string>& words : {std::vector<std::string>{"bench", "step", "--ranks", "0"},
                                                  {"bench", "step", "--steps"},
                                                  {"run", "s.toml", "--level", "all"},
                                                  {"trace", "query", "t", "q", "--csv", "--json"}}) {
        std::vector<std::string> all{"--lang", "zh"};
        all.insert(all.end(), words.begin(), words.end());
        const std::string said = program::run(all).err;
        INFO(said);
        for (const char* english : {"Value", "range", "required", "excludes", " not "})
            CHECK(said.find(english) == std::string::npos);
    }
}

TEST_CASE("a number that no 64 bits hold is refused, not taken for the nearest that they do") {
    const std::vector<std::string> sampler{"sampler", "--samples", "11", "--world", "2", "--shuffle"},
        schedule{"schedule", "--kind", "gpipe", "--ranks", "2", "--microbatches", "2"},
        mesh{"mesh", "--shape", "2,2"};
    const auto ends = [](std::vector<std::string> words, const std::string& option,
                         const std::string& value) {
        words.insert(words.end(), {option, value});
        return program::run(words);
    };
    // Every option that takes an int64_t, alone or after the required ones.
    for (const auto& [words, option] : std::vector<std::pair<std::vector<std::string>, std::string>>{
             {sampler, "--seed"},
             {sampler, "--epoch"},
             {sampler, "--batch-size"},
             {{"sampler", "--world", "2"}, "--samples"},
             {{"sampler", "--samples", "11"}, "--world"},
             {schedule, "--stages-per-rank"},
             {{"schedule", "--kind", "gpipe", "--ranks", "2"}, "--microbatches"},
             {{"schedule", "--kind", "gpipe", "--microbatches", "2"}, "--ranks"},
             {mesh, "--world"},
             {mesh, "--rank"}})
        for (const std::string value : {"18446744073709551615", "9223372036854775808", "-9223372036854775809",
                                        "99999999999999999999999"}) {
            const auto ended = ends(words, option, value);
            INFO(option << ' ' << value << '\n' << ended.err);
            CHECK(ended.exit_code == 2);
            CHECK(ended.out.empty());
            CHECK(ended.err.find(option + " cannot be \"" + value + "\": it takes a whole number from") !=
                  std::string::npos);
            CHECK(ended.err.find("--help") != std::string::npos);
        }
    CHECK(ends(sampler, "--seed", "9223372036854775808").err.find("0 to 9223372036854775807") !=
          std::string::npos);
    CHECK(ends(sampler, "--seed", "9223372036854775807").exit_code == 0);  // the last that they hold
    CHECK(ends(sampler, "--seed", "many").err.find("--seed cannot be \"many\": it takes a whole number") !=
          std::string::npos);
}

TEST_CASE("where bench would write is looked at before it measures") {
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"bench", "profile", "--out", "/no/such/folder/p.toml"},
          {"bench", "collectives", "--ranks", "2", "--sizes", "1K", "--table", "/no/such/folder/t.txt"}}) {
        const auto ended = program::run(words);
        INFO(ended.err);
        CHECK(ended.exit_code == 74);
        CHECK(ended.out.empty());  // the table's rows come as they are measured
        CHECK(ended.err.find("/no/such/folder is not a writable folder") != std::string::npos);
    }
}

TEST_CASE("bench step names the heads that tensor parallelism deals out: those of llama's keys, gpt's own") {
    const auto gpt = program::run({"bench", "step", "--strategy", "tp", "--ranks", "3", "--heads", "4"});
    CHECK(gpt.exit_code == 65);
    CHECK(gpt.err.find(" 4 heads do not divide among 3 ranks") != std::string::npos);
    const auto llama = program::run({"bench", "step", "--strategy", "tp", "--ranks", "3", "--model", "llama",
                                     "--heads", "4", "--kv-heads", "2"});
    CHECK(llama.exit_code == 65);
    CHECK(llama.err.find(" 2 key/value heads do not divide among 3 ranks") != std::string::npos);
    const auto chinese = program::run({"bench", "step", "--strategy", "tp", "--ranks", "3", "--lang", "zh"});
    CHECK(chinese.err.find("键/值") == std::string::npos);
}

TEST_CASE("the language comes from --lang, else from the environment") {
    CHECK(program::run({"doctor"}, {0, "", {"LC_ALL=zh_CN.UTF-8"}}).out.find("处理器") != std::string::npos);
    CHECK(program::run({"doctor"}, {0, "", {"LC_ALL=", "LANG=zh_CN"}}).out.find("处理器") !=
          std::string::npos);
    CHECK(program::run({"doctor", "--lang", "en"}, {0, "", {"LC_ALL=zh_CN.UTF-8"}}).out.find("processor") !=
          std::string::npos);
}

TEST_CASE("the version names the commit, the compiler and the backends") {
    const auto version = program::run({"--version"});
    CHECK(version.exit_code == 0);
    CHECK(version.out.starts_with("meshscope "));
    CHECK(version.out.find("threads") != std::string::npos);
}

TEST_CASE("doctor answers as JSON too, with the facts of this machine") {
    const auto ended = program::run({"doctor", "--json"});
    REQUIRE(ended.exit_code == 0);
    const auto facts = nlohmann::json::parse(ended.out);
    CHECK(facts["cores"].get<int>() >= 1);
    CHECK(facts["memory_bytes"].get<int64_t>() >= facts["memory_available_bytes"].get<int64_t>());
    CHECK(facts["memory_available_bytes"].get<int64_t>() > 0);
    CHECK(facts["backends"][0] == "threads");
    for (const char* key :
         {"version", "git", "compiler", "blas", "chinese_fonts", "display", "egl", "ffmpeg", "limits"})
        CHECK(facts.contains(key));
}

TEST_CASE("standard output that cannot be written is an input/output error") {
    const auto ended = program::run({"doctor"}, {0, "/dev/full", {}});
    CHECK(ended.exit_code == 74);
}
