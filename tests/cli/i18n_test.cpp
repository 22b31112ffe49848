#include <netdb.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <system_error>

#include "app/i18n/catalogue.h"
#include "backends/tcp/frame.h"
#include "backends/tcp/handshake.h"
#include "core/parallel/declaration.h"
#include "core/parallel/model_declaration.h"
#include "core/scenario/keys.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using i18n::Catalogue;
using i18n::Language;
namespace fs = std::filesystem;

namespace {

std::string read(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Every "dotted.lower_case" string in the program's own sources, with the file it stands in.
std::map<std::string, std::string> dotted_strings() {
    std::map<std::string, std::string> found;
    const std::regex pattern("\"([a-z][a-z0-9_]*(?:\\.[a-z0-9_]+)+)\"");
    for (const char* room : {"core", "backends", "app"})
        for (const auto& entry : fs::recursive_directory_iterator(fs::path(test::source_root()) / room)) {
            if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
            const std::string text = read(entry.path());
            for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it)
                found.emplace((*it)[1].str(), entry.path().filename().string());
        }
    return found;
}

/// Dotted strings that are no message: names of compute events, of modules and parameters, of keys, tables
/// and files.
bool is_something_else(const std::string& text) {
    static const std::set<std::string> kExtensions{
        "h",   "glsl", "toml", "md",  "cpp",  "json", "mscope", "png", "mp4", "safetensors", "csv",
        "txt", "ttc",  "otf",  "ttf", "vert", "frag", "part",   "gif", "svg", "py"};
    static const std::set<std::string> kKnown{"dotted.id", "slice.shown", "sse4.2", "libnccl.so.2"};
    static const std::regex kWidgets("(sandbox|what_if|live)\\.at\\.[a-z_.]+");
    if (std::regex_match(text, kWidgets)) return true;
    // What a checkpoint calls arrays, and the keys of a scenario that it holds on to.
    static const std::set<std::string> kCheckpoint{"data.file",          "data.kind",
                                                   "data.samples",       "data.seed",
                                                   "data.sampler",       "data.shuffle",
                                                   "data.drop_last",     "optimizer.kind",
                                                   "optimizer.momentum", "optim.net1.weight.exp_avg"};
    if (kCheckpoint.count(text)) return true;
    // The keys of a scenario, which a refusal offers with other values.
    // A strategy names those of its own tables without [parallel].
    for (const scenario::Key& key : scenario::keys())
        for (const std::string& written : {text, "parallel." + text})
            if (written == std::string(key.table) + "." + std::string(key.name)) return true;
    if (kExtensions.count(text.substr(text.rfind('.') + 1)) || kKnown.count(text)) return true;
    // Compute events are named after kernels, in PyTorch's words; they are shown as they are.
    static const std::regex kKernels(
        "(linear|relu|gelu_tanh|gelu|multiply|scale|mse|add)\\..*|"
        "block\\.(forward|backward|input_grad|weight_grad)|"
        "(fsdp2|ddp|flat)\\.(copy_.*|chunk_cat|divide|accumulate)|"
        "fsdp2\\.(h2d|d2h|keep_part)|ddp\\.(de)?compress|dp\\.(un)?flatten|"
        "powersgd\\.(p|q|(un)?pack|feedback|orthonormalise|decompress)|"
        "(attention|batch_norm|bias|cross_entropy|embedding|layer_norm|rms_norm|rotary|silu_mul)"
        "([._]parts?)?(\\.(backward|combine|merge|input_grad|factors|statistics|weight_grad))?|"
        "tp\\.(copy|share_input|sum_partial|vocab_cross_entropy|loss\\.(row_max|row_sum_exp|pick_targets))|"
        "cp\\.(cut|pack|unpack|exchange|ring_attention|repeat_heads(\\.backward)?)|"
        "sp\\.(copy_in|copy_out|pack|pad|unpack|gather_for_all|gather_parts|scatter_sum)");
    static const std::regex kModules("(net1|net2|layers|blocks|tok|pos|train|model|layer)\\..*");
    // Keys of other programs' files (core/jobs).
    static const std::regex kJobKeys(
        "(trainer|training|parallelism|zero_optimization|tensor_parallel|fsdp_config|deepspeed_config|bf16|"
        "optimizer|feed_forward)\\.[a-z0-9_.]+|attention\\.(n_heads|n_kv_heads|qk_norm|(qkv_linear|rope)\\..*"
        ")|"
        "data\\.(global_batch_size|micro_batch_size|seq_length)");
    if (std::regex_match(text, kJobKeys)) return true;
    static const std::regex kTables(
        "(lesson\\.(step|number|only_threads|variant)(\\.(mesh|number))?|quiz\\.(choice(\\.hint)?|hint|"
        "question|reveal)|"
        "check\\.title|"
        "parallel\\.(mixed_precision|powersgd)|compare\\.strategies|"
        "compute\\.(kernels|overlap)|links\\.(inside|between))");
    return (std::regex_match(text, kKernels) || std::regex_match(text, kModules) ||
            std::regex_match(text, kTables)) &&
           text != "model.size" && text != "model.unknown_kind";
}

}  // namespace

TEST_CASE("both languages have the same ids with the same placeholders, each once") {
    const Catalogue catalogue = Catalogue::embedded();
    CHECK(catalogue.problems() == std::vector<std::string>{});
    const auto en = catalogue.ids(Language::en), zh = catalogue.ids(Language::zh);
    std::vector<std::string> one_side;
    std::set_symmetric_difference(en.begin(), en.end(), zh.begin(), zh.end(), std::back_inserter(one_side));
    CHECK(one_side == std::vector<std::string>{});
    CHECK(en.size() > 100);
    for (const std::string& id : en) {
        const std::string* other = catalogue.find(id, Language::zh);
        if (!other) continue;
        INFO(id);
        CHECK(i18n::placeholders(*catalogue.find(id, Language::en)) == i18n::placeholders(*other));
        CHECK_FALSE(other->empty());
    }
}

TEST_CASE("every message id and rule in the sources has its text") {
    const Catalogue catalogue = Catalogue::embedded();
    std::vector<std::string> missing;
    for (const auto& [text, file] : dotted_strings()) {
        if (is_something_else(text) || catalogue.find(text, Language::en)) continue;
        if (!catalogue.rule(text, Language::en).sentence.empty()) continue;
        if (catalogue.find("op." + text + ".sentence", Language::en)) continue;
        missing.push_back(text + " in " + file);
    }
    CHECK(missing == std::vector<std::string>{});
}

TEST_CASE("every file of texts is inside the program") {
    const Catalogue catalogue = Catalogue::embedded();
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(test::source_root()) / "app/i18n")) {
        if (entry.path().extension() != ".toml") continue;
        const bool zh = entry.path().string().ends_with("zh.toml");
        const Catalogue alone = Catalogue::from_files(
            {{entry.path().string(), zh ? Language::zh : Language::en, read(entry.path())}});
        for (const std::string& id : alone.ids(zh ? Language::zh : Language::en)) {
            INFO(entry.path().string() << " " << id);
            CHECK(catalogue.find(id, zh ? Language::zh : Language::en) != nullptr);
        }
    }
}

TEST_CASE("every rule has its sentence and its PyTorch call in both languages") {
    const Catalogue catalogue = Catalogue::embedded();
    int rules = 0;
    for (const std::string& id : catalogue.ids(Language::en)) {
        if (!id.starts_with("rule.") || !id.ends_with(".sentence")) continue;
        const std::string rule = id.substr(5, id.size() - 5 - 9);
        INFO(rule);
        for (const Language language : {Language::en, Language::zh}) {
            CHECK_FALSE(catalogue.rule(rule, language).sentence.empty());
            CHECK_FALSE(catalogue.rule(rule, language).pytorch.empty());
        }
        CHECK(catalogue.rule(rule, Language::en).sentence != catalogue.rule(rule, Language::zh).sentence);
        ++rules;
    }
    CHECK(rules >= 11);
    CHECK(catalogue.rule("nothing.such", Language::en).sentence.empty());
}

TEST_CASE("placeholders are filled by name, braces can be written, and gaps stay visible") {
    const std::vector<MessageArg> args{{"a", int64_t{3}}, {"shape", std::vector<int64_t>{2, 2}}};
    CHECK(i18n::fill("{a} of {shape}", args) == "3 of [2, 2]");
    CHECK(i18n::fill("{{a}} {b} {", args) == "{a} {b} {");
    CHECK(i18n::fill("{not a name} {}", args) == "{not a name} {}");
    CHECK(i18n::placeholders("{b} {a} {a} {{c}} {") == std::vector<std::string>{"a", "b"});
}

TEST_CASE("a word takes the form that fits its number") {
    const auto ranks = [](MessageValue n) {
        return i18n::fill("{n} {n|rank|ranks} {n|runs|run}", {{"n", std::move(n)}});
    };
    CHECK(ranks(int64_t{1}) == "1 rank runs");
    CHECK(ranks(int64_t{0}) == "0 ranks run");
    CHECK(ranks(int64_t{2}) == "2 ranks run");
    CHECK(ranks(int64_t{-1}) == "-1 ranks run");
    CHECK(ranks(std::string(">2^63-1")) == ">2^63-1 ranks run");
    CHECK(i18n::fill("{n|rank|ranks} {n|rank} {n|a|b|c} {|a|b}", {}) ==
          "{n|rank|ranks} {n|rank} {n|a|b|c} {|a|b}");
    CHECK(i18n::fill("{n|rank} {n|a|b|c}", {{"n", int64_t{1}}}) == "{n|rank} {n|a|b|c}");
    CHECK(i18n::placeholders("{n} {n|rank|ranks} {m|a|b}") == std::vector<std::string>{"m", "n"});
    CHECK(i18n::placeholders("{p|rank|ranks} {p:ranks} {q:other}") == std::vector<std::string>{"p"});
    const auto folded = [](std::vector<int64_t> list) {
        return i18n::fill("{p|rank|ranks} {p:ranks}, {p}", {{"p", std::move(list)}});
    };
    CHECK(folded({4}) == "rank 4, [4]");
    CHECK(folded({0, 1, 2}) == "ranks 0–2, [0, 1, 2]");
}

TEST_CASE("no English text counts one of a thing in the plural") {
    // Where a number stands before a plural, a form for one must stand beside it; those listed are never one.
    static const std::set<std::string> kNeverOne{
        "run.too_many_ranks",       "toml.too_large",  "lesson.too_large",       "scenario.mesh_too_large",
        "query.too_many_rows",      "query.too_large", "query.result_too_large", "query.too_long",
        "cli.mesh.world_too_large", "sampler.too_many"};
    const Catalogue catalogue = Catalogue::embedded();
    const std::regex plural(
        "\\{[a-z_]+\\} (ranks|steps|rows|columns|frames|dims|collectives|hops|elements|samples)\\b");
    std::vector<std::string> found;
    for (const std::string& id : catalogue.ids(Language::en))
        if (!kNeverOne.count(id) && !id.starts_with("rule.") &&
            std::regex_search(*catalogue.find(id, Language::en), plural))
            found.push_back(id);
    CHECK(found == std::vector<std::string>{});
}

TEST_CASE("an unknown id describes itself, and a missing language falls back") {
    const Catalogue catalogue = Catalogue::from_files(
        {{"en.toml", Language::en, "\"a.b\" = \"hello {n}\""}, {"zh.toml", Language::zh, ""}});
    CHECK(catalogue.text({"a.b", {{"n", int64_t{1}}}}, Language::zh) == "hello 1");
    CHECK(catalogue.text({"x.y", {{"n", int64_t{1}}}}, Language::zh) == "x.y(n=1)");
    CHECK(catalogue.text("a.b", Language::en) == "hello {n}");
}

TEST_CASE("what the system says of a file is told in the language, where it is known") {
    const Catalogue catalogue = Catalogue::embedded();
    const auto told = [&](const char* reason, Language language) {
        return catalogue.text(
            {"file.cannot_write", {{"path", std::string("a")}, {"reason", std::string(reason)}}}, language);
    };
    CHECK(told("No space left on device", Language::zh).find("磁盘空间已满") != std::string::npos);
    CHECK(told("No space left on device", Language::zh).find("No space") == std::string::npos);
    CHECK(told("No space left on device", Language::en).find("No space left on device") != std::string::npos);
    CHECK(told("something else", Language::zh).find("something else") != std::string::npos);
}

TEST_CASE("the types of a scenario's values have Chinese words, all that the sources name") {
    const Catalogue catalogue = Catalogue::embedded();
    std::set<std::string> types;
    const std::regex named(
        R"re((?:wrong_type|wrong_element)\([^;"]*(?:"[a-z_]*", [^;"]*)?"((?:[a-z ,]|\\")+)", [^",;]*\);|            return "([a-z ]+)";)re");
    for (const auto& entry : fs::directory_iterator(fs::path(test::source_root()) / "core/scenario")) {
        const std::string name = entry.path().filename().string();
        if (!name.ends_with(".cpp") ||
            (!name.starts_with("read_") && name != "section.cpp" && name != "scenario.cpp"))
            continue;
        const std::string text = read(entry.path());
        for (std::sregex_iterator found(text.begin(), text.end(), named), end; found != end; ++found)
            for (std::size_t group = 1; group <= 2; ++group)
                if ((*found)[group].matched)
                    types.insert(std::regex_replace((*found)[group].str(), std::regex(R"(\\)"), ""));
    }
    for (const parallel::Declaration* const strategy : parallel::strategies())
        for (const parallel::StrategyKey& key : strategy->keys) types.insert(key.type());
    for (const parallel::ModelDeclaration* const each : parallel::model_declarations())
        for (const parallel::StrategyKey& key : each->keys) types.insert(key.type());
    CHECK(types.size() >= 15);
    for (const std::string& type : types) {
        INFO(type);
        REQUIRE(catalogue.find("type." + type, Language::zh) != nullptr);
        CHECK(*catalogue.find("type." + type, Language::en) == type);
        // Only words that are written so in a file stay as they are, between quotes.
        const std::string zh =
            std::regex_replace(*catalogue.find("type." + type, Language::zh), std::regex("\"[a-z]+\""), "");
        CHECK_FALSE(std::regex_search(zh, std::regex("[a-z]")));
        const Message message{
            "scenario.wrong_type",
            {{"key", std::string("mesh.shape")}, {"wanted", type}, {"found", std::string("table")}}};
        CHECK(catalogue.text(message, Language::zh).ends_with("，不能是表"));
        CHECK(catalogue.text(message, Language::en).ends_with(type + ", not table"));
    }
}

TEST_CASE("what the system says of files, names and connections has Chinese words") {
    const Catalogue catalogue = Catalogue::embedded();
    std::vector<std::string> said;
    for (const int error :
         {EINVAL,       ENOENT,    EACCES,        EPERM,       EISDIR,      ENOTDIR,      EEXIST,
          ENOSPC,       EDQUOT,    EFBIG,         EIO,         EROFS,       EMFILE,       ENFILE,
          ENOMEM,       EAGAIN,    EBUSY,         ETXTBSY,     ELOOP,       ENAMETOOLONG, ENOTEMPTY,
          ENXIO,        ENODEV,    ESPIPE,        EOPNOTSUPP,  ENOSYS,      EXDEV,        ESTALE,
          EBADF,        ENOEXEC,   E2BIG,         EINTR,       EPIPE,       ECONNREFUSED, ECONNRESET,
          ECONNABORTED, ETIMEDOUT, EHOSTUNREACH,  EHOSTDOWN,   ENETUNREACH, ENETDOWN,     ENOTCONN,
          EADDRINUSE,   ENOBUFS,   EADDRNOTAVAIL, EAFNOSUPPORT})
        said.push_back(std::generic_category().message(error));
    for (const int error : {EAI_NONAME, EAI_AGAIN, EAI_FAIL, EAI_NODATA, EAI_ADDRFAMILY, EAI_SERVICE})
        said.emplace_back(gai_strerror(error));
    for (const std::string& words : said) {
        INFO(words);
        REQUIRE(catalogue.find("reason." + words, Language::zh) != nullptr);
        CHECK(*catalogue.find("reason." + words, Language::zh) != words);
        CHECK(*catalogue.find("reason." + words, Language::en) == words);
    }
}

TEST_CASE("Chinese texts call a backend by its Chinese word, and put no blank behind their colon") {
    const Catalogue catalogue = Catalogue::embedded();
    for (const std::string& id : catalogue.ids(Language::zh)) {
        const std::string& text = *catalogue.find(id, Language::zh);
        INFO(id << " = " << text);
        CHECK(text.find(" backend") == std::string::npos);
        CHECK(text.find("： ") == std::string::npos);
    }
    CHECK(catalogue.text({"backend.unknown", {{"name", std::string("foo")}}}, Language::zh)
              .starts_with("没有叫 foo 的后端"));
    CHECK(catalogue.text({"cli.run.part_failed", {{"failure", std::string("无法写入")}}}, Language::zh)
              .ends_with("记录不完整：无法写入"));
}

TEST_CASE("why a connection or a frame was refused is told in words, in both languages") {
    namespace tcp = backends::tcp;
    std::set<std::string> words;
    for (auto r = static_cast<int>(tcp::Refusal::not_ours); r <= static_cast<int>(tcp::Refusal::unanswered);
         ++r)
        words.insert(tcp::to_word(static_cast<tcp::Refusal>(r)));
    for (auto f = 1; f <= static_cast<int>(tcp::FrameFault::too_long); ++f)
        words.insert(tcp::to_word(static_cast<tcp::FrameFault>(f)));
    CHECK(words.size() > 16);
    CHECK(words.count("?") == 0);
    const Catalogue catalogue = Catalogue::embedded();
    for (const std::string& word : words)
        for (const Language language : {Language::en, Language::zh}) {
            INFO(word);
            REQUIRE(catalogue.find("reason." + word, language) != nullptr);
            const std::string& said = *catalogue.find("reason." + word, language);
            CHECK(catalogue
                      .text({"tcp.stranger_refused", {{"address", std::string("a")}, {"reason", word}}},
                            language)
                      .ends_with(said));
            CHECK(catalogue.text({"comm.frame_damaged", {{"fault", word}}}, language).find(said) !=
                  std::string::npos);
        }
}

TEST_CASE("a damaged file of texts is a problem told, not a crash") {
    const Catalogue catalogue = Catalogue::from_files({{"a.toml", Language::en, "\"a.b\" = \"x\"\n[\n"},
                                                       {"b.toml", Language::en, "\"a.b\" = 3\n"},
                                                       {"c.toml", Language::en, "\"a.c\" = \"x\"\n"},
                                                       {"d.toml", Language::en, "[a]\nc = \"y\"\n"}});
    REQUIRE(catalogue.problems().size() == 3);
    CHECK(catalogue.problems()[0].starts_with("a.toml:2:2"));
    CHECK(catalogue.problems()[2] == "d.toml: id a.c stands twice");
    CHECK(catalogue.text("a.c", Language::en) == "x");
}

TEST_CASE("the language follows the environment") {
    CHECK(i18n::language_from({"", "", "zh_CN.UTF-8"}) == Language::zh);
    CHECK(i18n::language_from({"C", "zh_CN.UTF-8"}) == Language::en);
    CHECK(i18n::language_from({}) == Language::en);
}
