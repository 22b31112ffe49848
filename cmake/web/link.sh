#!/bin/sh
# link.sh COMMAND…: links a program of the web build. Emscripten's passes over JavaScript need acorn, which Debian keeps where Node
# looks only when it is Debian's own. wasm-opt walks what is nested by recursion, and for our longest functions the usual 8 MiB of
# stack are too few: it ended with SIGSEGV.
ulimit -S -s 262144 2>/dev/null || ulimit -S -s "$(ulimit -H -s)"
NODE_PATH=/usr/share/nodejs exec "$@"
