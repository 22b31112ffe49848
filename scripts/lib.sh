# Shared by the scripts beside it: packages, timed parts, the presets. Sourced, not run.
# shellcheck shell=bash

# What a bare Debian 12 needs to build the two programs: compiler and tools, the engine's libraries, the window's.
build_packages=(
  g++ cmake ninja-build pkg-config git ccache
  libopenblas-pthread-dev libdnnl-dev libssl-dev libsqlite3-dev libtomlplusplus-dev nlohmann-json3-dev libcli11-dev libfmt-dev libpugixml-dev libyaml-cpp-dev zlib1g-dev
  libimgui-dev libstb-dev libglfw3-dev libgl-dev libopengl-dev libegl-dev
)
# What the window needs when it runs: Mesa draws without a GPU and without a display, the fonts hold both languages.
window_packages=(
  libgl1 libopengl0 libegl1 libgl1-mesa-dri libegl-mesa0 libglx-mesa0 fonts-wqy-microhei fonts-dejavu-core
)
# The demo makes a film.
demo_packages=("${build_packages[@]}" "${window_packages[@]}" ffmpeg)
# Both MPIs, side by side: the backend mpi is built for each, and its tests run under each mpiexec.
mpi_packages=(openmpi-bin libopenmpi-dev mpich libmpich-dev)
# The course site: Markdown is read by a library.
site_packages=(python3 python3-markdown-it)
# What the Python package is made of.
python_packages=(python3 python3-setuptools python3-wheel)
# The tests drive the real window on a virtual display, check films, the scripts in Python and those of the course
# site, read the manifests of packaging/, and install the Python package. They need all that the demo does, so whoever ran the one lacks nothing that the
# other would have told.
test_packages=("${demo_packages[@]}" "${mpi_packages[@]}" "${site_packages[@]}" "${python_packages[@]}" catch2 xvfb xdotool nodejs python3-pip python3-yaml)
# libFuzzer; GCC has none, and older Clangs lack std::source_location.
fuzz_packages=(clang-16 libclang-rt-16-dev)

if [ -t 1 ]; then bold=$'\e[1m' plain=$'\e[0m'; else bold='' plain=''; fi

# The exit status of scripts/bare where it cannot do its work.
cannot_run=77

say() { printf '%s\n' "$*"; }
heading() { printf '%s\n' "${bold}==> $*${plain}"; }
fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# part NAME COMMAND…: runs it under a heading and remembers how long it took, for print_times.
part_names=() part_seconds=()
part() {
  local name=$1 begin=$SECONDS status=0
  shift
  heading "$name"
  "$@" || status=$?
  part_names+=("$name")
  part_seconds+=($((SECONDS - begin)))
  return "$status"
}

print_times() {
  local i
  say ""
  for i in "${!part_names[@]}"; do
    printf '%5d s  %s\n' "${part_seconds[$i]}" "${part_names[$i]}"
  done
}

# Names of the given packages that are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || printf '%s\n' "$package"
  done
}

# apt-get as root, quiet; what it is busy with goes to the terminal as a count, all of its words to a log.
run_apt() {
  local as_root=() log=$1
  shift
  if [ "$(id -u)" != 0 ]; then as_root=(sudo); fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y -o Dpkg::Use-Pty=0 "$@" 2>&1 | tee -a "$log" |
    awk -v tty="$([ -t 1 ] && echo 1 || echo 0)" '
      / newly installed/ { total = $3 }
      /^Get:/ { got++ } /^Unpacking / { unpacked++ } /^Setting up / { set_up++ }
      /^(Get:|Unpacking |Setting up )/ {
        line = sprintf("    fetched %d, unpacked %d, set up %d%s", got, unpacked, set_up, total ? " of " total : "")
        if (tty) printf "\r%s", line
        else if (++lines % 60 == 0) print line
        fflush()
      }
      END { if (line != "") printf "%s%s\n", tty ? "\r" : "", line }'
}

# install_packages NAME…: installs what is missing; says so and takes no time when nothing is.
install_packages() {
  local missing log
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
    fail "this script installs what it needs with apt (Debian 12 or newer), and there is no apt here. Install by your own means: $*; then build with: cmake --workflow --preset release"
  mapfile -t missing < <(missing_packages "$@" | sort -u)
  if [ ${#missing[@]} = 0 ]; then
    say "All $# packages are there."
    return 0
  fi
  say "Installing ${#missing[@]} packages with apt, and what they need: ${missing[*]}"
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
      fail "installing needs root, and there is no sudo. Run as root: apt-get update && apt-get install --no-install-recommends ${missing[*]}"
    say "This asks for your password, for sudo apt-get."
    sudo -v || fail "sudo was refused. Run as root: apt-get update && apt-get install --no-install-recommends ${missing[*]}"
  fi
  log=$(mktemp "${TMPDIR:-/tmp}/meshscope-apt.XXXXXX")
  if ! run_apt "$log" update || ! run_apt "$log" install --no-install-recommends "${missing[@]}"; then
    tail -n 20 "$log" >&2
    fail "apt could not install the packages; all it said is in $log"
  fi
  rm -f "$log"
}

# python_with MODULES: of the Pythons here the first that is 3.11 or newer and has them ("a, b"); tests/needs.cmake looks for
# markdown_it so. Debian's modules are Debian's Python's alone, and another may come first on PATH.
python_with() {
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -c "import sys, $1; sys.exit(sys.version_info < (3, 11))" 2>/dev/null; then
      say "$python"
      return 0
    fi
  done
  fail "no Python 3.11 with $1 is here; Debian's packages for it: python3-setuptools, python3-wheel, python3-markdown-it"
}

# configure PRESET [OPTION…]: what CMake remembers of a folder that was moved since is of no use, so it begins anew there.
configure() {
  local preset=$1 fresh=() home
  shift
  home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "build/$preset/CMakeCache.txt" 2>/dev/null || true)
  if [ -n "$home" ] && ! [ "$home" -ef . ]; then
    say "build/$preset was made in $home, so everything is built again."
    fresh=(--fresh)
  fi
  cmake "${fresh[@]}" --preset "$preset" "$@"
}

# build PRESET [TARGET…]
build() {
  local preset=$1
  shift
  cmake --build --preset "$preset" --parallel "$(nproc)" ${1:+--target "$@"}
}

# compile PRESET: each file of it, linking nothing, and going on behind an error: the next file may have another.
compile() {
  ninja -C "build/$1" -t targets all | sed -n 's/: CXX_COMPILER__.*//p' | xargs ninja -C "build/$1" -j "$(nproc)" -k 20
}
