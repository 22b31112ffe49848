// A job file of another program: read, and made into a scenario where nothing is missing.
#include <string>

#include "core/base/error.h"
#include "core/jobs/read_job.h"
#include "core/jobs/write.h"
#include "tests/fuzz/scratch.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(job) {
    static const meshscope::fuzz::Scratch file;
    meshscope::jobs::JobOptions options;
    options.vocab = 64;
    try {
        meshscope::jobs::Job job = meshscope::jobs::read_job({file.hold(input)}, options);
        if (job.missing.empty())
            meshscope::jobs::write_scenario(job, "", [](const meshscope::Message& m) { return m.id; });
    } catch (const meshscope::InputError&) {
    } catch (const meshscope::IoError&) {  // deepspeed_config_file may name anything
    }
}
