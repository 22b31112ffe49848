#include "core/comm/schedule/own/msccl.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <pugixml.hpp>
#include <set>
#include <utility>

#include "core/base/joined.h"
#include "core/comm/schedule/own/mistakes.h"
#include "core/comm/schedule/own/xml_text.h"

namespace meshscope::comm::own {
namespace {

constexpr std::array<std::pair<std::string_view, CollectiveOp>, 6> kWords{
    {{"allreduce", CollectiveOp::all_reduce},
     {"allgather", CollectiveOp::all_gather},
     {"reduce_scatter", CollectiveOp::reduce_scatter},
     {"alltoall", CollectiveOp::all_to_all},
     {"broadcast", CollectiveOp::broadcast},
     {"reduce", CollectiveOp::reduce}}};
constexpr std::array<std::string_view, 9> kTypes{"s", "r", "rcs", "rrc", "rrs", "rrcs", "re", "cpy", "nop"};

bool by_parts(CollectiveOp op) {
    return op == CollectiveOp::all_gather || op == CollectiveOp::reduce_scatter ||
           op == CollectiveOp::all_to_all;
}

/// Reads one file, collecting its mistakes.
class Reader {
  public:
    Reader(std::string_view text, const std::string& file) : text_(text), lines_(text), mistakes_(file) {}

    Msccl read() {
        pugi::xml_document document;
        const pugi::xml_parse_result parsed =
            document.load_buffer(text_.data(), text_.size(), pugi::parse_default);
        if (!parsed) {
            const SourcePosition at = lines_.position(
                mistakes_.file(), static_cast<std::size_t>(std::max<std::ptrdiff_t>(parsed.offset, 0)));
            mistakes_.add(at.line, at.column,
                          {"xml.syntax", {{"detail", std::string(parsed.description())}}});
            mistakes_.raise();
        }
        const pugi::xml_node root = document.document_element();
        made_.line = line(root);
        if (std::string_view(root.name()) != "algo") {
            mistake(root, {"msccl.root", {{"found", std::string(root.name())}}});
            mistakes_.raise();
        }
        head(root);
        mistakes_.raise();  // nothing below can be checked without
        gpus(root);
        mistakes_.raise();
        after();
        channels();
        mistakes_.raise();
        return std::move(made_);
    }

  private:
    int line(const pugi::xml_node& node) const {
        return lines_.line(static_cast<std::size_t>(std::max<std::ptrdiff_t>(node.offset_debug(), 0)));
    }
    void mistake(const pugi::xml_node& node, Message message, Message hint = {}) {
        const SourcePosition at =
            lines_.position("", static_cast<std::size_t>(std::max<std::ptrdiff_t>(node.offset_debug(), 0)));
        mistakes_.add(at.line, at.column, std::move(message), std::move(hint));
    }

    /// An attribute's number within [least, most]; reported and nothing where it is none. `otherwise` where
    /// it is not there.
    std::optional<int32_t> number(const pugi::xml_node& node, const char* name, int32_t least, int32_t most,
                                  std::optional<int32_t> otherwise = std::nullopt) {
        const pugi::xml_attribute attribute = node.attribute(name);
        if (!attribute) {
            if (!otherwise)
                mistake(node, {"msccl.attribute",
                               {{"tag", std::string(node.name())}, {"name", std::string(name)}}});
            return otherwise;
        }
        const std::string_view text = attribute.value();
        int64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error == std::errc() && end == text.data() + text.size() && value >= least && value <= most)
            return static_cast<int32_t>(value);
        mistake(node, {"msccl.number",
                       {{"name", std::string(name)},
                        {"found", std::string(text)},
                        {"least", int64_t{least}},
                        {"most", int64_t{most}}}});
        return std::nullopt;
    }

    void head(const pugi::xml_node& root) {
        made_.name = root.attribute("name").value();
        const std::string_view word = root.attribute("coll").value();
        const auto found = std::ranges::find_if(kWords, [&](const auto& each) {
            return each.first == word ||
                   (word == "reducescatter" && each.second == CollectiveOp::reduce_scatter);
        });
        if (found == kWords.end()) {
            const std::string known = joined(kWords, [](const auto& each) { return each.first; });
            mistake(root, {"msccl.collective", {{"found", std::string(word)}, {"known", known}}});
        } else {
            made_.op = found->second;
        }
        const auto ranks = number(root, "ngpus", 2, kMostRanks);
        const auto chunks = number(root, "nchunksperloop", 1, kMostChunks);
        made_.in_place = number(root, "inplace", 0, 1, 1).value_or(1) == 1;
        if (!ranks || !chunks || found == kWords.end()) return;
        made_.gpus.resize(static_cast<std::size_t>(*ranks));
        made_.chunks = *chunks;
        if (by_parts(made_.op) && *chunks % *ranks != 0)
            mistake(root, {"algorithm.uneven_chunks",
                           {{"collective", std::string(name(made_.op))},
                            {"chunks", int64_t{*chunks}},
                            {"ranks", int64_t{*ranks}}}});
    }

    void gpus(const pugi::xml_node& root) {
        std::set<int32_t> seen;
        for (const pugi::xml_node& node : root.children()) {
            if (node.type() != pugi::node_element) continue;
            if (std::string_view(node.name()) != "gpu") {
                mistake(node,
                        {"msccl.tag", {{"found", std::string(node.name())}, {"wanted", std::string("gpu")}}});
                continue;
            }
            const auto id = number(node, "id", 0, static_cast<int32_t>(made_.gpus.size()) - 1);
            if (!id) continue;
            if (!seen.insert(*id).second)
                mistake(node, {"msccl.gpu_twice", {{"id", int64_t{*id}}}});
            else
                gpu(node, *id);
            if (mistakes_.are_many()) return;
        }
        for (std::size_t id = 0; id < made_.gpus.size(); ++id)
            if (!seen.contains(static_cast<int32_t>(id))) {
                mistake(root, {"msccl.gpu_missing",
                               {{"ngpus", static_cast<int64_t>(made_.gpus.size())},
                                {"id", static_cast<int64_t>(id)}}});
                return;
            }
    }

    void gpu(const pugi::xml_node& node, int32_t id) {
        Msccl::Gpu& gpu = made_.gpus[static_cast<std::size_t>(id)];
        gpu.line = line(node);
        gpu.scratch = number(node, "s_chunks", 0, kMostChunks, 0).value_or(0);
        for (const char* each : {"i_chunks", "o_chunks"}) number(node, each, 0, kMostChunks, 0);
        std::set<int32_t> seen;
        for (const pugi::xml_node& child : node.children()) {
            if (child.type() != pugi::node_element) continue;
            if (std::string_view(child.name()) != "tb") {
                mistake(child,
                        {"msccl.tag", {{"found", std::string(child.name())}, {"wanted", std::string("tb")}}});
                continue;
            }
            const auto block_id = number(child, "id", 0, kMostChunks);
            if (!block_id) continue;
            if (!seen.insert(*block_id).second)
                mistake(child, {"msccl.block_twice", {{"gpu", int64_t{id}}, {"id", int64_t{*block_id}}}});
            Msccl::Threadblock block;
            block.id = *block_id;
            block.line = line(child);
            peers(child, id, block);
            steps(child, id, gpu, block);
            gpu.blocks.push_back(std::move(block));
            if (mistakes_.are_many()) return;
        }
    }

    void peers(const pugi::xml_node& node, int32_t gpu, Msccl::Threadblock& block) {
        const int32_t last = static_cast<int32_t>(made_.gpus.size()) - 1;
        block.send = number(node, "send", -1, last, -1).value_or(-1);
        block.receive = number(node, "recv", -1, last, -1).value_or(-1);
        block.channel = number(node, "chan", 0, kMostChunks, 0).value_or(0);
        if (block.send == gpu || block.receive == gpu) mistake(node, {"msccl.self", {{"gpu", int64_t{gpu}}}});
    }

    void steps(const pugi::xml_node& node, int32_t gpu_id, const Msccl::Gpu& gpu, Msccl::Threadblock& block) {
        for (const pugi::xml_node& child : node.children()) {
            if (child.type() != pugi::node_element) continue;
            if (std::string_view(child.name()) != "step") {
                mistake(child, {"msccl.tag",
                                {{"found", std::string(child.name())}, {"wanted", std::string("step")}}});
                continue;
            }
            if (++n_steps_ > kMostSteps) {
                mistake(child, {"algorithm.too_many_steps", {{"most", kMostSteps}}});
                return;
            }
            step(child, gpu_id, gpu, block);
            if (mistakes_.are_many()) return;
        }
    }

    void step(const pugi::xml_node& node, int32_t gpu_id, const Msccl::Gpu& gpu, Msccl::Threadblock& block) {
        Msccl::Line made;
        made.line = line(node);
        made.number = number(node, "s", 0, kMostChunks).value_or(0);
        if (!block.steps.empty() && made.number <= block.steps.back().number)
            mistake(node,
                    {"msccl.step_number",
                     {{"found", int64_t{made.number}}, {"before", int64_t{block.steps.back().number}}}});
        const std::string_view word = node.attribute("type").value();
        const auto type = std::ranges::find(kTypes, word);
        if (type == kTypes.end()) {
            mistake(node, {"msccl.type", {{"found", std::string(word)}, {"known", joined(kTypes)}}});
        } else {
            made.type = static_cast<Msccl::Type>(type - kTypes.begin());
            if (sends(made.type) && block.send < 0)
                mistake(node,
                        {"msccl.no_peer", {{"type", std::string(word)}, {"name", std::string("send")}}});
            if (receives(made.type) && block.receive < 0)
                mistake(node,
                        {"msccl.no_peer", {{"type", std::string(word)}, {"name", std::string("recv")}}});
            if (made.type != Msccl::Type::nop) places(node, gpu_id, gpu, made);
        }
        if (const int32_t id = number(node, "depid", -1, kMostChunks, -1).value_or(-1); id >= 0) {
            made.after = {
                gpu_id, id,
                number(node, "deps", -1, kMostChunks, -1).value_or(-1)};  // its id, until all are read
        }
        block.steps.push_back(made);
    }

    /// Which of a step's two places count.
    static bool uses_source(Msccl::Type type) {
        using enum Msccl::Type;
        return type == s || type == rrc || type == rrs || type == rrcs || type == re || type == cpy;
    }
    static bool uses_target(Msccl::Type type) {
        using enum Msccl::Type;
        return type == r || type == rcs || type == rrc || type == rrcs || type == re || type == cpy;
    }

    void places(const pugi::xml_node& node, int32_t gpu_id, const Msccl::Gpu& gpu, Msccl::Line& made) {
        made.count = number(node, "cnt", 1, kMostChunks).value_or(1);
        if (uses_source(made.type))
            place(node, gpu_id, gpu, "srcbuf", "srcoff", made.count, made.src_buffer, made.src);
        if (uses_target(made.type))
            place(node, gpu_id, gpu, "dstbuf", "dstoff", made.count, made.dst_buffer, made.dst);
    }
    void place(const pugi::xml_node& node, int32_t gpu_id, const Msccl::Gpu& gpu, const char* buffer_name,
               const char* offset_name, int32_t count, char& buffer, int32_t& first) {
        const std::string_view word = node.attribute(buffer_name).value();
        if (word != "i" && word != "o" && word != "s") {
            mistake(node,
                    {"msccl.buffer", {{"name", std::string(buffer_name)}, {"found", std::string(word)}}});
            return;
        }
        buffer = word.front();
        const int32_t size = chunks_of(buffer, gpu);
        const auto offset = number(node, offset_name, 0, kMostChunks);
        if (!offset) return;
        first = *offset;
        if (first > size - count)
            mistake(node, {"algorithm.outside",
                           {{"rank", int64_t{gpu_id}},
                            {"buffer", std::string(word)},
                            {"chunks", int64_t{size}},
                            {"first", int64_t{first}},
                            {"last", int64_t{first} + count - 1}}});
    }
    int32_t chunks_of(char buffer, const Msccl::Gpu& gpu) const {
        const int32_t part = made_.chunks / static_cast<int32_t>(made_.gpus.size());
        if (buffer == 's') return gpu.scratch;
        if (buffer == 'i' && made_.op == CollectiveOp::all_gather) return part;
        if (buffer == 'o' && made_.op == CollectiveOp::reduce_scatter) return part;
        return made_.chunks;
    }

    /// Threadblocks by position, in the place of their ids.
    void after() {
        for (Msccl::Gpu& gpu : made_.gpus) {
            std::map<int32_t, int32_t> by_id;
            for (std::size_t b = 0; b < gpu.blocks.size(); ++b)
                by_id[gpu.blocks[b].id] = static_cast<int32_t>(b);
            for (Msccl::Threadblock& block : gpu.blocks)
                for (Msccl::Line& step : block.steps) {
                    if (step.after.step < 0) continue;
                    const auto found = by_id.find(step.after.block);
                    const int32_t at =
                        found == by_id.end()
                            ? -1
                            : position(gpu.blocks[static_cast<std::size_t>(found->second)], step.after.step);
                    if (at < 0)
                        mistakes_.add(
                            step.line, 0,
                            {"msccl.dependency",
                             {{"block", int64_t{step.after.block}}, {"step", int64_t{step.after.step}}}});
                    else
                        step.after = {step.after.gpu, found->second, at};
                }
        }
    }

    /// Where in a threadblock the step of that number stands; -1: nowhere.
    static int32_t position(const Msccl::Threadblock& block, int32_t number) {
        const auto found = std::ranges::lower_bound(block.steps, number, {}, &Msccl::Line::number);
        if (found == block.steps.end() || found->number != number) return -1;
        return static_cast<int32_t>(found - block.steps.begin());
    }

    /// A channel between two gpus belongs to one threadblock on each side.
    void channels() {
        for (std::size_t g = 0; g < made_.gpus.size(); ++g) {
            std::set<std::array<int32_t, 3>> seen;
            for (const Msccl::Threadblock& block : made_.gpus[g].blocks)
                for (const int32_t side : {0, 1}) {
                    const int32_t peer = side == 0 ? block.send : block.receive;
                    const bool used = std::ranges::any_of(block.steps, [&](const Msccl::Line& step) {
                        return side == 0 ? sends(step.type) : receives(step.type);
                    });
                    if (peer >= 0 && used && !seen.insert({side, peer, block.channel}).second)
                        mistakes_.add(block.line, 0,
                                      {"msccl.channel_twice",
                                       {{"gpu", static_cast<int64_t>(g)},
                                        {"peer", int64_t{peer}},
                                        {"channel", int64_t{block.channel}}}});
                }
        }
    }

    std::string_view text_;
    Lines lines_;
    Mistakes mistakes_;
    Msccl made_;
    int64_t n_steps_ = 0;
};

}  // namespace

Msccl read_msccl(std::string_view text, const std::string& file) {
    guard_xml(text, file);
    return Reader(text, file).read();
}

std::string_view msccl_word(CollectiveOp op) {
    const auto found = std::ranges::find(kWords, op, &std::pair<std::string_view, CollectiveOp>::second);
    return found == kWords.end() ? std::string_view() : found->first;
}

std::string_view msccl_word(Msccl::Type type) {
    return kTypes[static_cast<std::size_t>(type)];
}

}  // namespace meshscope::comm::own
