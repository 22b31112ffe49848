#include "core/scenario/readers.h"

#include <algorithm>
#include <set>

#include "core/base/cause.h"
#include "core/comm/schedule/own/own_algorithm.h"
#include "core/scenario/named_path.h"

namespace meshscope::scenario {
namespace {

/// The file, read; null and reported where it cannot be.
std::shared_ptr<const comm::OwnAlgorithm> read(const Section& parallel, const std::string& path) {
    try {
        return comm::OwnAlgorithm::read(path);
    } catch (const InputError& error) {
        for (const Diagnostic& each : error.diagnostics()) parallel.report_at(each);
    } catch (const IoError& error) {
        parallel.report("algorithm", error.message());
    }
    return nullptr;
}

enum class Proof : uint8_t { none, other_ranks, proved };

/// Whether it is for so many ranks, and proved for them; what is wrong is reported.
Proof proof_of(const Section& parallel, const comm::OwnAlgorithm& algorithm, int32_t ranks) {
    try {
        if (!algorithm.fits(ranks)) return Proof::other_ranks;
        algorithm.proved(ranks);
        return Proof::proved;
    } catch (const InputError& error) {
        for (const Diagnostic& each : error.diagnostics()) parallel.report_at(each);
    }
    return Proof::none;
}

}  // namespace

void read_own_algorithm(const Section& parallel, Scenario& s) {
    const std::string path = existing_file(parallel, "algorithm", s.folder);
    if (path.empty()) return;
    const auto algorithm = read(parallel, path);
    if (!algorithm) return;
    std::set<int32_t> sizes;
    for (const int64_t size : s.mesh_shape)
        if (size > 1) sizes.insert(static_cast<int32_t>(size));
    bool fits_any = sizes.empty();
    for (const int32_t size : sizes) {
        const Proof proof = proof_of(parallel, *algorithm, size);
        if (proof == Proof::none) return;
        fits_any = fits_any || proof == Proof::proved;
    }
    if (!fits_any) {
        parallel.report("algorithm",
                        with_cause({"algorithm.no_group", {}}, algorithm->misfit(*sizes.rbegin())));
        return;
    }
    s.parallel.algorithm = Algorithm::own;
    s.parallel.own = algorithm;
}

}  // namespace meshscope::scenario
