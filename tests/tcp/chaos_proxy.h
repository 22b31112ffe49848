#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace meshscope::test {

/// What a bad network does to connections.
enum class Mischief : uint8_t {
    none,
    delay,      ///< holds bytes back for some milliseconds
    split,      ///< passes them on one by one
    reset,      ///< cuts the connection with a reset, somewhere
    half_open,  ///< swallows everything from somewhere on, and says nothing
    flip        ///< turns one bit over, somewhere
};

/// Stands between a caller and a TCP server on loopback, on a thread of its own, and does mischief at places
/// drawn from a seed. Ends with the object.
class ChaosProxy {
  public:
    /// `after`: mischief that strikes once does so behind this many bytes of a connection's direction, and
    /// before `before`.
    struct Plan {
        Mischief mischief = Mischief::none;
        uint64_t seed = 0;
        int64_t after = 0;
        int64_t before = 4000;
    };

    /// `target`: "127.0.0.1:port".
    ChaosProxy(const std::string& target, const Plan& plan);
    ~ChaosProxy();
    ChaosProxy(const ChaosProxy&) = delete;
    ChaosProxy& operator=(const ChaosProxy&) = delete;

    /// Where to connect instead.
    std::string address() const;

  private:
    class Service;
    std::unique_ptr<Service> service_;
};

}  // namespace meshscope::test
