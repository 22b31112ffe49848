#include "app/html/page.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/base/json_text.h"
#include "core/base/kinds.h"
#include "core/base/replace_file.h"
#include "core/trace/ended.h"

namespace meshscope::embedded {
std::string_view html_player(std::string_view file);
}

namespace meshscope::html {
namespace {

using nlohmann::ordered_json;
using trace::Event;
using trace::EventKind;
using trace::Trace;

/// What the page says by itself; each id is the catalogue's "html." and this word.
constexpr const char* kWords[] = {
    "play",  "pause",  "back",    "on",       "speed",     "clock",  "modelled",     "measured", "theme",
    "mesh",  "now",    "nothing", "timeline", "hint",      "event",  "why",          "pytorch",  "source",
    "rank",  "stream", "step",    "phase",    "unit",      "group",  "elements",     "sent",     "begins",
    "lasts", "loss",   "from",    "ranks",    "algorithm", "failed", "communication"};

/// Every text in it as printable() shows it: what turned a line's direction would do so on the page too.
void make_visible(ordered_json& json) {
    if (auto* const text = json.get_ptr<std::string*>()) *text = printable(*text, "\n\t");
    if (json.is_structured())
        for (ordered_json& inner : json) make_visible(inner);
}

/// JSON that may stand inside a page: nothing in it can end the script.
std::string for_page(ordered_json json) {
    make_visible(json);
    const std::string text = json_text(json);
    std::string safe;
    safe.reserve(text.size());
    for (const char c : text)
        if (c == '<')
            safe += "\\u003c";
        else
            safe += c;
    return safe;
}

ordered_json words(const i18n::Catalogue& catalogue) {
    ordered_json both = ordered_json::object();
    for (const auto language : {i18n::Language::en, i18n::Language::zh}) {
        ordered_json& table = both[std::string(i18n::name(language))] = ordered_json::object();
        for (const char* word : kWords) table[word] = catalogue.text(std::string("html.") + word, language);
    }
    return both;
}

/// Why the run ended before its end or came to NaN, in both languages; null for one that did not.
ordered_json failed(const trace::RunInfo& info, const i18n::Catalogue& catalogue) {
    const std::optional<Message> why = trace::early_end(info);
    if (!why) return nullptr;
    ordered_json both = ordered_json::object();
    for (const auto language : {i18n::Language::en, i18n::Language::zh})
        both[std::string(i18n::name(language))] = catalogue.text(*why, language);
    return both;
}

/// The sentence and the PyTorch line of each rule that the trace names, by its string id.
ordered_json rules(const Trace& trace, const i18n::Catalogue& catalogue) {
    std::set<trace::StringId> named;
    for (const trace::RankTrace& rank : trace.ranks)
        for (const Event& event : rank.events) named.insert(event.rule);
    ordered_json all = ordered_json::object();
    for (const trace::StringId id : named) {
        if (id == 0) continue;
        const std::string rule(trace.text(id));
        const i18n::Rule en = catalogue.rule(rule, i18n::Language::en),
                         zh = catalogue.rule(rule, i18n::Language::zh);
        all[std::to_string(id)] = {{"en", en.sentence}, {"zh", zh.sentence}, {"pytorch", en.pytorch}};
    }
    return all;
}

template <class Kind>
ordered_json names(int count) {
    ordered_json list = ordered_json::array();
    for (int i = 0; i < count; ++i) list.push_back(name(static_cast<Kind>(i)));
    return list;
}

ordered_json header(const Trace& trace, const time::Clock& modelled, const i18n::Catalogue& catalogue,
                    const PageLook& look) {
    const trace::RunInfo& info = trace.info;
    ordered_json groups = ordered_json::array();
    for (const trace::Group& group : trace.groups)
        groups.push_back({{"dim", group.mesh_dim}, {"ranks", group.ranks}});
    int64_t measured_end = 0;
    for (const trace::RankTrace& rank : trace.ranks)
        for (const Event& event : rank.events) measured_end = std::max(measured_end, event.t_end_ns);
    return {{"name", look.name},
            {"title", {{"en", info.title_en}, {"zh", info.title_zh}}},
            {"language", i18n::name(look.language)},
            {"theme", look.theme},
            {"rank", look.rank},
            {"cursor", look.cursor_ns},
            {"clock", look.measured ? 1 : 0},
            {"profile", modelled.profile},
            {"ends", {modelled.end_ns, measured_end}},
            {"world", info.world_size},
            {"backend", info.backend},
            {"engine", info.engine_version},
            {"steps", info.steps},
            {"losses", info.losses},
            {"failed", failed(info, catalogue)},
            {"mesh", {{"shape", info.mesh_shape}, {"names", info.mesh_names}, {"ranks", info.mesh_ranks}}},
            {"nodes", info.node_of_rank},
            {"groups", groups},
            {"strings", trace.strings},
            {"rules", rules(trace, catalogue)},
            {"ops", names<CollectiveOp>(static_cast<int>(CollectiveOp::barrier) + 1)},
            {"streams", names<Stream>(static_cast<int>(Stream::p2p) + 1)},
            {"phases", names<Phase>(static_cast<int>(Phase::evaluation) + 1)},
            {"algorithms", names<Algorithm>(kAlgorithms)},
            {"dtypes", names<DType>(static_cast<int>(DType::float16) + 1)},
            {"words", words(catalogue)}};
}

/// One event as a list of numbers; player.html reads it by place (its table `F`).
std::string row(const Event& e, const time::Interval& modelled) {
    const bool compute = e.kind == EventKind::compute;
    const int64_t fields[] = {compute ? 0 : 1,
                              static_cast<int64_t>(e.stream),
                              static_cast<int64_t>(e.phase),
                              e.step,
                              static_cast<int64_t>(e.op),
                              static_cast<int64_t>(e.algorithm),
                              static_cast<int64_t>(e.dtype),
                              e.name,
                              e.unit,
                              e.rule,
                              e.source,
                              e.group,
                              e.in_elements,
                              e.out_elements,
                              e.sent_bytes,
                              modelled.begin_ns,
                              modelled.end_ns,
                              e.t_begin_ns,
                              e.t_end_ns};
    std::string text = "[";
    for (const int64_t field : fields) text += (text.size() > 1 ? "," : "") + std::to_string(field);
    return text + "]";
}

}  // namespace

void write_page(const Trace& trace, const time::Clock& modelled, const i18n::Catalogue& catalogue,
                const PageLook& look, const trace::TextSink& out) {
    int64_t events = 0;
    for (const trace::RankTrace& rank : trace.ranks) events += static_cast<int64_t>(rank.events.size());
    if (events > kMostEvents)
        throw InvalidArgument({"html.too_large", {{"events", events}, {"most", kMostEvents}}});
    const std::string_view page = embedded::html_player("app/html/player.html");
    constexpr std::string_view kMark = "@RUN@";
    const std::size_t mark = page.find(kMark);
    out(page.substr(0, mark));
    // The header's closing brace is left open for the events, which come piece by piece.
    std::string text = for_page(header(trace, modelled, catalogue, look));
    text.pop_back();
    out(text + ",\"events\":[");
    for (std::size_t r = 0; r < trace.ranks.size(); ++r) {
        std::string rows = r == 0 ? "[" : ",\n[";
        for (std::size_t i = 0; i < trace.ranks[r].events.size(); ++i) {
            rows += (i == 0 ? "" : ",") + row(trace.ranks[r].events[i], modelled.events[r][i]);
            if (rows.size() < 1'000'000) continue;
            out(rows);
            rows.clear();
        }
        out(rows + "]");
    }
    out("]}");
    out(page.substr(mark + kMark.size()));
}

void export_page(const Trace& trace, const time::Clock& modelled, const i18n::Catalogue& catalogue,
                 const PageLook& look, const std::string& path, const std::function<void()>& go_on) {
    ReplaceFile file(path);
    write_page(trace, modelled, catalogue, look, [&](std::string_view text) {
        if (go_on) go_on();
        file.write(text);
    });
    file.commit();
}

}  // namespace meshscope::html
