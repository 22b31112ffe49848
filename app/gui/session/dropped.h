#pragma once

#include <string>

#include "core/base/message.h"

namespace meshscope::session {

/// What a file or folder dropped on the window is, by what is in it, not by its name.
struct Dropped {
    enum class Kind {
        run,  ///< a trace, a scenario, a lesson's folder, a pipeline's schedule: opened, beside what is open
        profile,  ///< a hardware profile: the run in front is played again under it, beside itself
        plan,     ///< what `meshscope plan --json` wrote, or a model's configuration, which is planned: its
                  ///< chart takes the place of what is open
        checkpoint,  ///< the scenario in front is run on from it, beside itself
        nothing      ///< none of them: `alone` says what was seen
    };
    Kind kind = Kind::nothing;
    std::string path;  ///< what opens it: a checkpoint's folder even where a file in it was dropped
    Message alone;     ///< what is told where nothing is open that it could be laid on; of nothing: why
};

/// Looks; runs nothing. Never throws: a damaged thing is what it seems to be, and told when it is opened.
Dropped look_at_drop(const std::string& path);

/// Whether a file is one of SQLite's, as traces are, whatever its name is.
bool is_database(const std::string& path);

/// Whether a file is a Hugging Face configuration (config.json), by its first bytes.
bool is_model_config(const std::string& path);
/// Whether a file opens as a plan: what `meshscope plan --json` writes, or such a configuration.
bool opens_as_plan(const std::string& path);

}  // namespace meshscope::session
