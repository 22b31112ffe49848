#include "core/scenario/readers.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "core/base/rank_set.h"
#include "core/base/toml_number.h"
#include "core/comm/reduce.h"
#include "core/scenario/words.h"

namespace meshscope::scenario {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 24;
constexpr int64_t kMostBytes = int64_t{1} << 30;
constexpr IntegerRange kAnyInteger{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
/// Larger whole numbers are no float32s, and the record holds float32s.
constexpr double kMostInteger = 16'777'216.0;

bool is_integer(DType dtype) {
    return dtype == DType::int32 || dtype == DType::int64 || dtype == DType::uint8;
}

/// Reads one [[call]].
class CallReader {
  public:
    CallReader(const Section& section, bool mesh_known, const Scenario& s)
        : section_(section), mesh_known_(mesh_known), scenario_(s) {
        for (const int64_t n : s.mesh_shape) mesh_ranks_ *= n;
    }

    Call read() {
        read_kind();
        read_group();
        read_ranks();
        call_.dtype = DType::float32;
        if (const auto word = section_.word("dtype", dtypes()))
            call_.dtype = enumerator<DType>(dtypes(), *word);
        read_numbers();
        read_reduction();
        read_places();
        call_.eager = section_.boolean("eager").value_or(false);
        check_parts();
        refuse_foreign();
        call_.label = section_.text("label").value_or(what_);
        return std::move(call_);
    }

  private:
    bool is(CollectiveOp op) const {
        return call_.kind == Call::Kind::collective && known_ && call_.op == op;
    }
    bool is_message() const { return known_ && call_.kind == Call::Kind::message; }
    bool is_work() const { return known_ && call_.kind == Call::Kind::work; }
    bool reduces() const {
        return is(CollectiveOp::reduce) || is(CollectiveOp::all_reduce) || is(CollectiveOp::reduce_scatter);
    }
    bool is_rooted() const {
        return is(CollectiveOp::broadcast) || is(CollectiveOp::reduce) || is(CollectiveOp::gather) ||
               is(CollectiveOp::scatter);
    }
    /// Whether a rank's buffer has something in it before the call.
    bool fills() const {
        if (!known_ || is_work() || is(CollectiveOp::barrier)) return false;
        return !is_message() || call_.sends;
    }

    void read_kind() {
        const auto op = section_.word("op", call_ops());
        const auto work = section_.word("work", call_works());
        call_.bytes = section_.integer("bytes", {1, kMostBytes}).value_or(0);
        if (section_.has("op") && section_.has("work")) {
            section_.report_key("work", {"scenario.keys_exclude",
                                         {{"key", section_.full("work")}, {"other", section_.full("op")}}});
        } else if (!section_.has("work") && section_.sure("work")) {
            if (!section_.has("op") && section_.sure("op"))
                section_.report_key("op", {"scenario.missing_either",
                                           {{"key", section_.full("op")}, {"other", section_.full("work")}}});
        }
        known_ = op.has_value() != work.has_value();
        if (!known_) return;
        what_ = op ? *op : *work;
        if (work) {
            call_.kind = Call::Kind::work;
            call_.work = *work;
            section_.require("bytes");
        } else if (*op == "send" || *op == "recv" || *op == "send_recv") {
            call_.kind = Call::Kind::message;
            call_.sends = *op != "recv";
            call_.receives = *op != "send";
        } else {
            call_.op = *parse_collective_op(*op);
        }
    }

    Message not_members(std::string_view key, const std::vector<int64_t>& ranks,
                        const std::vector<int32_t>& members) const {
        return {"scenario.call_member",
                {{"key", section_.full(key)},
                 {"ranks", ranks},
                 {"group", group_text()},
                 {"members", rank_list(members)}}};
    }

    /// The whole numbers of a list, each with its place; what else is in it is reported.
    std::vector<std::pair<std::size_t, int64_t>> integers(std::string_view key) const {
        std::vector<std::pair<std::size_t, int64_t>> found;
        const toml::node* const given = section_.node(key);
        if (given == nullptr) return found;
        const toml::array* const list = given->as_array();
        if (list == nullptr) section_.wrong_type(key, "array of integers", *given);
        if (list != nullptr && list->empty())
            section_.refuse(key, {"scenario.call_no_ranks", {{"key", section_.full(key)}}});
        for (std::size_t i = 0; list != nullptr && i < list->size(); ++i)
            if (const auto* const rank = list->get(i)->as_integer())
                found.emplace_back(i, rank->get());
            else
                section_.wrong_element(key, i, "integer", *list->get(i));
        return found;
    }

    /// A list of ranks of `among` (ascending), each once; sorted, as new_group sorts them. All that is wrong
    /// with it is told at once.
    std::vector<int32_t> read_ranks(std::string_view key, const std::vector<int32_t>& among) {
        std::vector<int32_t> ranks;
        std::vector<int64_t> outside, twice;
        std::size_t first_outside = 0, first_twice = 0;
        const auto note = [](std::vector<int64_t>& list, std::size_t& first, std::size_t i, int64_t rank) {
            if (list.empty()) first = i;
            if (std::ranges::find(list, rank) == list.end()) list.push_back(rank);
        };
        for (const auto& [i, rank] : integers(key)) {
            const bool possible = rank >= 0 && rank < kMostCallRanks;
            const auto n = static_cast<int32_t>(possible ? rank : -1);
            if (!possible || (mesh_known_ && !std::ranges::binary_search(among, n)))
                note(outside, first_outside, i, rank);
            else if (std::ranges::find(ranks, n) != ranks.end())
                note(twice, first_twice, i, rank);
            else
                ranks.push_back(n);
        }
        if (!outside.empty()) section_.doubt(key);
        if (!outside.empty() && mesh_known_)
            section_.report_element(key, first_outside, not_members(key, outside, among));
        else if (!outside.empty())
            section_.report_element(
                key, first_outside,
                {"scenario.out_of_range", {{"key", section_.full(key)}, {"value", ranks_text(outside)}}},
                {"scenario.hint.range", {{"least", int64_t{0}}, {"most", kMostCallRanks - 1}}});
        if (!twice.empty())
            section_.report_element(
                key, first_twice,
                {"scenario.call_rank_twice", {{"key", section_.full(key)}, {"ranks", twice}}});
        std::ranges::sort(ranks);
        return ranks;
    }

    std::vector<int32_t> whole_mesh() const {
        std::vector<int32_t> all(static_cast<std::size_t>(mesh_ranks_));
        std::iota(all.begin(), all.end(), 0);
        return all;
    }

    void read_group() {
        const toml::node* const given = section_.node("group");
        members_ = whole_mesh();
        if (given == nullptr) return;
        if (given->is_array()) {
            const std::vector<int32_t> ranks = read_ranks("group", members_);
            // Who is in a group with mistakes is not known: its call is held to the whole mesh.
            if (!section_.sure("group") || ranks.empty()) return;
            call_.group_ranks = ranks;
            members_ = ranks;
            return;
        }
        if (!given->is_string()) return section_.wrong_type("group", "string or array of integers", *given);
        const std::string name = *section_.text("group");
        const auto dim = std::ranges::find(scenario_.mesh_names, name);
        if (dim != scenario_.mesh_names.end()) {
            call_.mesh_dim = name;
            group_size_of_dim_ =
                scenario_.mesh_shape.at(static_cast<std::size_t>(dim - scenario_.mesh_names.begin()));
        } else if (mesh_known_) {
            const std::vector<std::string_view> names(scenario_.mesh_names.begin(),
                                                      scenario_.mesh_names.end());
            section_.refuse_word("group", name, names, [&](const std::string& other) {
                return Candidate{{section_.place("group"), other}};
            });
        }
    }

    std::string group_text() const {
        if (!call_.group_ranks.empty()) return "[" + ranks_text(call_.group_ranks) + "]";
        return call_.mesh_dim.empty() ? "world" : call_.mesh_dim;
    }
    int64_t group_size() const {
        return call_.mesh_dim.empty() ? static_cast<int64_t>(members_.size()) : group_size_of_dim_;
    }

    void read_ranks() {
        call_.ranks = read_ranks("ranks", members_);
        // All of them is nobody in particular.
        if (call_.ranks == members_) call_.ranks.clear();
    }

    /// A root, sender or receiver. By a mesh dim each group has its own, so it is counted in the group, as
    /// PyTorch's group_src and group_dst; otherwise it is the rank itself.
    void read_place(std::string_view key, int32_t& into) {
        // Where the group is known, the message says which ranks it has.
        const bool known = mesh_known_ && section_.sure("group");
        const auto given = section_.integer(key, known ? kAnyInteger : IntegerRange{0, kMostCallRanks - 1});
        if (!given || !known) return;
        const auto rank = static_cast<int32_t>(std::clamp<int64_t>(*given, -1, kMostCallRanks));
        if (!call_.mesh_dim.empty()) {
            if (*given >= 0 && *given < group_size()) {
                into = rank;
                return;
            }
            std::vector<int32_t> places(static_cast<std::size_t>(group_size()));
            std::iota(places.begin(), places.end(), 0);
            return refuse_place(key, rank, places,
                                {"scenario.call_group_rank",
                                 {{"key", section_.full(key)},
                                  {"rank", *given},
                                  {"group", call_.mesh_dim},
                                  {"size", group_size()}}});
        }
        const auto found = std::ranges::lower_bound(members_, rank);
        if (found != members_.end() && *found == rank) {
            into = static_cast<int32_t>(found - members_.begin());
            return;
        }
        refuse_place(key, rank, members_, not_members(key, {*given}, members_));
    }

    /// Offers the nearest of those that are possible.
    void refuse_place(std::string_view key, int32_t rank, std::vector<int32_t> possible, Message message) {
        std::ranges::stable_sort(possible, {}, [&](int32_t n) { return std::abs(n - rank); });
        possible.resize(std::min<std::size_t>(possible.size(), 8));
        Offer offer;
        for (const int32_t n : possible) offer.candidates.push_back({{section_.place(key), int64_t{n}}});
        section_.doubt(key);
        section_.report_offering(key, std::move(message), {offer});
    }

    void read_places() {
        read_place("root", call_.root);
        read_place("src", call_.src);
        read_place("dst", call_.dst);
        if (!is_message()) return;
        const bool both = section_.require("src") && section_.require("dst");
        if (both && mesh_known_ && section_.sure("src", "dst", "group") && call_.src == call_.dst)
            section_.report("dst", {"scenario.call_self", {{"op", what_}}});
    }

    void read_reduction() {
        const auto word = section_.word("reduce", call_reduce_ops());
        const auto factor = section_.number("factor", {-1e30, 1e30});
        if (!reduces() || !section_.sure("reduce", "dtype")) return;
        call_.reduce_op = word ? *parse_reduce_op(*word) : ReduceOp::sum;
        call_.factor = factor.value_or(1.0);
        if (call_.reduce_op == ReduceOp::premul_sum) {
            section_.require("factor");
        } else if (section_.has("factor")) {
            section_.report_key("factor",
                                {"scenario.call_factor", {{"reduce", std::string(name(call_.reduce_op))}}});
        }
        try {
            comm::check_reduce_op(call_.reduce_op, call_.dtype);
        } catch (const InvalidArgument& error) {
            section_.report("reduce", error.message());
        }
    }

    void read_numbers() {
        const auto elements = section_.integer("elements", {1, kMostElements});
        if (const auto word = section_.word("fill", call_fills()))
            call_.fill = enumerator<CallFill>(call_fills(), *word);
        call_.offset = section_.number("offset", {-1e30, 1e30}).value_or(0.0);
        check_value("offset", call_.offset);
        const bool values = section_.has("values");
        if (values) read_values();
        for (const std::string_view key : {"elements", "fill", "offset"})
            if (values && section_.has(key))
                section_.report_key(key, {"scenario.keys_exclude",
                                          {{"key", section_.full(key)}, {"other", section_.full("values")}}});
        if (values) return;
        call_.elements = elements.value_or(0);
        if (known_ && !is_work() && !is(CollectiveOp::barrier)) section_.require("elements");
    }

    /// Whether the dtype has that number; else reports it in `key`.
    bool check_value(std::string_view key, double value) {
        const double least = call_.dtype == DType::uint8 ? 0.0 : -kMostInteger;
        const double most = call_.dtype == DType::uint8 ? 255.0 : kMostInteger;
        if (!is_integer(call_.dtype) || (std::trunc(value) == value && value >= least && value <= most))
            return true;
        section_.report(
            key,
            {"scenario.call_value",
             {{"key", section_.full(key)}, {"value", value}, {"dtype", std::string(name(call_.dtype))}}},
            {"scenario.hint.call_value",
             {{"least", static_cast<int64_t>(least)}, {"most", static_cast<int64_t>(most)}}});
        return false;
    }

    void read_values() {
        const toml::node& given = *section_.node("values");
        const auto wrong = [&] { section_.wrong_type("values", "array of arrays of numbers", given); };
        const toml::array* const rows = given.as_array();
        if (rows == nullptr) return wrong();
        call_.fill = CallFill::values;
        for (const toml::node& node : *rows) {
            const toml::array* const row = node.as_array();
            if (row == nullptr) return wrong();
            std::vector<double>& numbers = call_.values.emplace_back();
            for (const toml::node& element : *row) {
                const std::optional<double> number = toml_number(element);
                if (!number) return wrong();
                if (!check_value("values", *number)) return;
                numbers.push_back(*number);
            }
        }
        if (mesh_known_ && static_cast<int64_t>(call_.values.size()) != mesh_ranks_)
            return section_.report(
                "values", {"scenario.call_rows",
                           {{"rows", static_cast<int64_t>(call_.values.size())}, {"ranks", mesh_ranks_}}});
        if (call_.values.empty()) return wrong();
        const std::size_t first = call_.values[0].size();
        for (std::size_t r = 0; r < call_.values.size(); ++r)
            if (call_.values[r].empty() || call_.values[r].size() != first)
                return section_.report_element("values", r,
                                               {"scenario.call_row_length",
                                                {{"row", static_cast<int64_t>(r)},
                                                 {"elements", static_cast<int64_t>(call_.values[r].size())},
                                                 {"first", static_cast<int64_t>(first)}}});
        call_.elements = static_cast<int64_t>(first);
    }

    /// Ops that cut a rank's buffer into one part a rank.
    void check_parts() {
        const bool cuts =
            is(CollectiveOp::scatter) || is(CollectiveOp::reduce_scatter) || is(CollectiveOp::all_to_all);
        const int64_t parts = group_size();
        if (!cuts || !mesh_known_ || !section_.sure("group") || parts < 1 || call_.elements % parts == 0)
            return;
        std::vector<Offer> offers;
        if (!section_.has("values"))
            offers = offers_around(section_.place("elements"), call_.elements, parts, kMostElements);
        section_.report_offering(
            section_.has("values") ? "values" : "elements",
            {"scenario.call_parts", {{"op", what_}, {"elements", call_.elements}, {"ranks", parts}}},
            std::move(offers));
    }

    void refuse_foreign() {
        if (!known_) return;
        const auto refuse = [&](std::initializer_list<std::string_view> keys) {
            refuse_for_kind(section_, keys, what_, is_work() ? "work" : "op");
        };
        if (!is_work()) refuse({"bytes"});
        if (is_work()) refuse({"group"});
        if (is_message()) refuse({"ranks"});
        if (!is_message()) refuse({"src", "dst"});
        if (!is_message() || !call_.sends) refuse({"eager"});
        if (!is_rooted()) refuse({"root"});
        if (!reduces()) refuse({"reduce", "factor"});
        if (!fills()) refuse({"fill", "offset", "values"});
        if (is_work() || is(CollectiveOp::barrier)) refuse({"elements", "dtype"});
    }

    const Section& section_;
    bool mesh_known_;
    const Scenario& scenario_;
    int64_t mesh_ranks_ = 1;
    bool known_ = false;            ///< what the call is
    std::string what_;              ///< the op's name, or the work's
    std::vector<int32_t> members_;  ///< of a group that is not a mesh dim's
    int64_t group_size_of_dim_ = 1;
    Call call_;
};

}  // namespace

bool read_calls(const Section& root, Scenario& s) {
    for (const std::string_view key : {"model", "data", "train", "optimizer", "memory", "eval", "checkpoint"})
        if (root.has(key))
            root.report_key(key,
                            {"scenario.keys_exclude", {{"key", std::string(key)}, {"other", "[[call]]"}}});
    bool mesh_known = read_mesh_and_algorithm(root, s);
    int64_t ranks = 1;
    for (const int64_t n : s.mesh_shape) ranks *= n;
    if (ranks > kMostCallRanks) {
        root.section("mesh").report("shape",
                                    {"scenario.call_ranks", {{"ranks", ranks}, {"most", kMostCallRanks}}});
        mesh_known = false;
        s.mesh_shape = {1};
    }
    for (const Section& section : root.sections("call"))
        s.calls.push_back(CallReader(section, mesh_known, s).read());
    if (s.calls.empty() && root.has("call") && root.sure("call"))
        root.report_key("call", {"scenario.no_calls", {}});
    return mesh_known;
}

}  // namespace meshscope::scenario
