"""Holds packaging/ against what its readers ask for, as far as that can be known without them.

The parts of the schemas that are used here, by hand, from the public specifications: Kubeflow's MPIJob v2beta1
(mpi-operator, pkg/apis/kubeflow/v2beta1/types.go and its CRD), Kubernetes' core/v1 PodSpec, the Compose
specification (compose-spec.json), and flatpak-manifest(5). Unknown keys are refused, as strict decoding does. Every test of a schema is tried on a
damaged copy as well, so that a check that finds nothing is not taken for a manifest without faults.
"""
import copy
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

import yaml

OPTIONAL, REQUIRED = False, True


class Fault(Exception):
    pass


def is_a(kind):
    def check(value, where):
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise Fault(f"{where}: {value!r} is no {kind.__name__}")
    return check


def one_of(*words):
    def check(value, where):
        if value not in words:
            raise Fault(f"{where}: {value!r} is none of {', '.join(words)}")
    return check


def like(pattern):
    def check(value, where):
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise Fault(f"{where}: {value!r} does not look like {pattern}")
    return check


def list_of(element):
    def check(value, where):
        if not isinstance(value, list):
            raise Fault(f"{where}: {value!r} is no list")
        for i, one in enumerate(value):
            element(one, f"{where}[{i}]")
    return check


def map_of(element):
    def check(value, where):
        if not isinstance(value, dict):
            raise Fault(f"{where}: {value!r} is no map")
        for key, one in value.items():
            element(one, f"{where}.{key}")
    return check


def fields(**known):
    def check(value, where):
        if not isinstance(value, dict):
            raise Fault(f"{where}: {value!r} is no map")
        for key in value:
            if key not in known:
                raise Fault(f"{where}: no field is called {key}")
        for key, (needed, element) in known.items():
            if key in value:
                element(value[key], f"{where}.{key}")
            elif needed:
                raise Fault(f"{where}: {key} is missing")
    return check


NAME = like(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")  # RFC 1123 label
QUANTITY = like(r"[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?")

SECRET = fields(secretKeyRef=(REQUIRED, fields(name=(REQUIRED, NAME), key=(REQUIRED, is_a(str)))))
VARIABLE = fields(name=(REQUIRED, like(r"[A-Za-z_][A-Za-z0-9_]*")), value=(OPTIONAL, is_a(str)), valueFrom=(OPTIONAL, SECRET))
CONTAINER = fields(
    name=(REQUIRED, NAME), image=(REQUIRED, is_a(str)), command=(OPTIONAL, list_of(is_a(str))),
    args=(OPTIONAL, list_of(is_a(str))), env=(OPTIONAL, list_of(VARIABLE)), securityContext=(OPTIONAL, fields(runAsUser=(OPTIONAL, is_a(int)))),
    resources=(OPTIONAL, fields(requests=(OPTIONAL, map_of(QUANTITY)), limits=(OPTIONAL, map_of(QUANTITY)))))
POD_TEMPLATE = fields(spec=(REQUIRED, fields(containers=(REQUIRED, list_of(CONTAINER)))))
REPLICA = fields(replicas=(OPTIONAL, is_a(int)),
                 restartPolicy=(OPTIONAL, one_of("Never", "OnFailure", "Always", "ExitCode")),
                 template=(REQUIRED, POD_TEMPLATE))
MPIJOB = fields(
    apiVersion=(REQUIRED, one_of("kubeflow.org/v2beta1")), kind=(REQUIRED, one_of("MPIJob")),
    metadata=(REQUIRED, fields(name=(REQUIRED, NAME))),
    spec=(REQUIRED, fields(
        slotsPerWorker=(OPTIONAL, is_a(int)), sshAuthMountPath=(OPTIONAL, like(r"/.*")),
        mpiImplementation=(OPTIONAL, one_of("OpenMPI", "Intel", "MPICH")),
        runPolicy=(OPTIONAL, fields(cleanPodPolicy=(OPTIONAL, one_of("None", "Running", "All")),
                                    backoffLimit=(OPTIONAL, is_a(int)))),
        mpiReplicaSpecs=(REQUIRED, fields(Launcher=(REQUIRED, REPLICA), Worker=(OPTIONAL, REPLICA))))))

SERVICE = fields(
    build=(OPTIONAL, fields(context=(REQUIRED, is_a(str)), dockerfile=(OPTIONAL, is_a(str)))),
    image=(OPTIONAL, is_a(str)), environment=(OPTIONAL, map_of(is_a(str))), command=(OPTIONAL, list_of(is_a(str))),
    depends_on=(OPTIONAL, list_of(is_a(str))), networks=(OPTIONAL, list_of(is_a(str))))
COMPOSE = fields(services=(REQUIRED, map_of(SERVICE)),
                 networks=(OPTIONAL, map_of(fields(internal=(OPTIONAL, is_a(bool))))))


def check_mpijob(job):
    MPIJOB(job, "mpijob")
    spec = job["spec"]
    args = spec["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["args"]
    slots = spec["slotsPerWorker"] * spec["mpiReplicaSpecs"]["Worker"]["replicas"]
    if args[:2] != ["-n", str(slots)]:
        raise Fault(f"mpijob: {slots} slots, but the launcher asks for {args[:2]}")


def check_gpu_mpijob(job):
    """One rank a GPU: as many slots as a worker has GPUs, and all that ranks over NCCL need to meet."""
    check_mpijob(job)
    spec = job["spec"]
    worker = spec["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    gpus = worker["resources"]["limits"]["nvidia.com/gpu"]
    if gpus != str(spec["slotsPerWorker"]):
        raise Fault(f"mpijob-gpu: {spec['slotsPerWorker']} ranks on {gpus} GPUs a worker")
    launcher = spec["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    words = launcher["args"]
    if option(words, "--backend") != "nccl":
        raise Fault("mpijob-gpu: the backend is not nccl")
    given = {words[i + 1].split("=")[0] for i, word in enumerate(words) if word == "-x"}
    if given != {"MASTER_ADDR", "MASTER_PORT", "MESHSCOPE_BIND", "MESHSCOPE_TOKEN"}:
        raise Fault(f"mpijob-gpu: the ranks are given {sorted(given)}")
    if [variable["name"] for variable in launcher["env"]] != ["MESHSCOPE_TOKEN"]:
        raise Fault("mpijob-gpu: the launcher has no token to hand on")
    host = next(word for word in words if word.startswith("MASTER_ADDR=")).split("=")[1]
    if host != f"{job['metadata']['name']}-worker-0.{job['metadata']['name']}":
        raise Fault(f"mpijob-gpu: {host} is not the first worker")


def option(words, name):
    return words[words.index(name) + 1]


def check_compose(compose, root):
    COMPOSE(compose, "compose")
    services = compose["services"]
    ranks = set()
    for name, service in services.items():
        for other in service.get("depends_on", []):
            if other not in services:
                raise Fault(f"compose.{name}: depends on {other}, which there is not")
        for network in service.get("networks", []):
            if network not in compose.get("networks", {}):
                raise Fault(f"compose.{name}: network {network} is not there")
        words = service["command"]
        ranks.add(int(option(words, "--node-rank")))
        if option(words, "--nodes") != str(len(services)):
            raise Fault(f"compose.{name}: {len(services)} services, --nodes {option(words, '--nodes')}")
        if option(words, "--rdzv-endpoint").split(":")[0] not in services:
            raise Fault(f"compose.{name}: the rendezvous is at no service")
        if "MESHSCOPE_TOKEN" not in service["environment"]:
            raise Fault(f"compose.{name}: a bind to all addresses without a token")
        scenario = words[-1].removeprefix("/opt/meshscope/")
        if not (root / scenario).is_file():
            raise Fault(f"compose.{name}: there is no {scenario}")
    if ranks != set(range(len(services))):
        raise Fault(f"compose: node ranks {sorted(ranks)}")
    built = [s for s in services.values() if "build" in s]
    if not built or not (root / built[0]["build"]["dockerfile"]).is_file():
        raise Fault("compose: nothing builds the image")


def paths_in(value, path=()):
    """Every place in a manifest, as a path of keys."""
    if path:
        yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []
    for key, child in children:
        yield from paths_in(child, path + (key,))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def check_that_it_checks(check, manifest, name):
    """A key that nobody knows must be refused in every map with fixed fields; a wrong type in every required place."""
    refused = 0
    for path in paths_in(manifest):
        damaged = copy.deepcopy(manifest)
        parent = at(damaged, path[:-1])
        if isinstance(parent, dict) and isinstance(path[-1], str):
            parent["x" + path[-1]] = parent.pop(path[-1])
        else:
            parent[path[-1]] = 3.5
        try:
            check(damaged)
        except (Fault, KeyError, ValueError, AttributeError, TypeError, IndexError):
            refused += 1
    if refused < 10:
        raise Fault(f"{name}: only {refused} of the damaged copies were refused")


def check_shell(path, needs):
    subprocess.run(["bash", "-n", str(path)], check=True)
    text = path.read_text()
    if not text.startswith("#!/bin/bash\n#SBATCH "):
        raise Fault(f"{path.name}: #SBATCH lines must follow the first")
    for line in text.splitlines():
        if line.startswith("#SBATCH") and not re.fullmatch(r"#SBATCH --[a-z-]+(=\S+)?", line):
            raise Fault(f"{path.name}: {line}")
    for word in needs:
        if word not in text:
            raise Fault(f"{path.name}: nothing of {word}")


def check_dockerfile(path, root, bases=("debian:12",), stages_meant=2):
    stages, froms = set(), 0
    logical = path.read_text().replace("\\\n", " ")
    known = {"FROM", "RUN", "WORKDIR", "COPY", "ENV", "USER", "ENTRYPOINT", "CMD"}
    for line in logical.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split()
        if words[0] not in known:
            raise Fault(f"Dockerfile: {words[0]} is no instruction")
        if words[0] == "FROM":
            froms += 1
            if not words[1].startswith(bases):
                raise Fault(f"Dockerfile: from {words[1]}")
            if len(words) == 4:
                stages.add(words[3])
        if words[0] == "COPY" and words[1].startswith("--from="):
            if words[1][7:] not in stages:
                raise Fault(f"Dockerfile: no stage {words[1][7:]}")
        elif words[0] == "COPY":
            for source in words[1:-1]:
                if not (root / source).exists():
                    raise Fault(f"Dockerfile: there is no {source}")
    if froms != stages_meant:
        raise Fault(f"{path.name}: {stages_meant} stages were meant")
    # Opened by name while the program runs, so nothing else tells that one is not there.
    linked = re.findall(r"meshscope_blas_module\((\w+) ", (root / "core/tensor/CMakeLists.txt").read_text())
    for library in ["libmeshscope_core.so"] + [f"meshscope_blas_{word}.so" for word in linked]:
        if f"/build/lib/{library}" not in logical:
            raise Fault(f"{path.name}: {library} is not in the image")
    if not linked:
        raise Fault("core/tensor/CMakeLists.txt: no module of a matrix library")


def check_desktop(folder):
    """The desktop entry, the file type and the AppStream data name one another, the program and the icon."""
    entry = dict(line.split("=", 1) for line in (folder / "meshscope-app.desktop").read_text().splitlines() if "=" in line)
    for key, wanted in {"Type": "Application", "Exec": "meshscope-app %F", "Icon": "meshscope", "Terminal": "false"}.items():
        if entry.get(key) != wanted:
            raise Fault(f"meshscope-app.desktop: {key} is {entry.get(key)!r}, not {wanted!r}")
    kind = xml.etree.ElementTree.parse(folder / "meshscope.xml").find("{*}mime-type")
    if kind is None or entry.get("MimeType") != kind.get("type") + ";" or kind.find("{*}glob").get("pattern") != "*.mscope":
        raise Fault(f"meshscope.xml: not the file type of the desktop entry, {entry.get('MimeType')!r}")
    component = xml.etree.ElementTree.parse(folder / "meshscope.metainfo.xml.in").getroot()
    if component.find("launchable").text != "meshscope-app.desktop" or component.find("provides/mediatype").text != kind.get("type"):
        raise Fault("meshscope.metainfo.xml.in: not the desktop entry's program and file type")
    for key in ("name", "summary", "description"):
        if component.find(key) is None:
            raise Fault(f"meshscope.metainfo.xml.in: no {key}")
    xml.etree.ElementTree.parse(folder / "meshscope.svg")


SOURCE = fields(
    type=(REQUIRED, one_of("archive", "dir")), url=(OPTIONAL, like(r"https://snapshot\.debian\.org/archive/debian/\d{8}T\d{6}Z/pool/main/\S+\.orig\.tar\.(gz|xz|bz2)")),
    sha256=(OPTIONAL, like(r"[0-9a-f]{64}")), path=(OPTIONAL, is_a(str)), skip=(OPTIONAL, list_of(is_a(str))))
MODULE = fields(**{
    "name": (REQUIRED, NAME), "buildsystem": (REQUIRED, one_of("cmake-ninja", "meson", "simple")), "builddir": (OPTIONAL, is_a(bool)),
    "config-opts": (OPTIONAL, list_of(like(r"-D\w+=\S+"))), "build-commands": (OPTIONAL, list_of(is_a(str))), "sources": (REQUIRED, list_of(SOURCE))})
FLATPAK = fields(**{
    "id": (REQUIRED, like(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*){2,}")), "runtime": (REQUIRED, is_a(str)), "runtime-version": (REQUIRED, is_a(str)),
    "sdk": (REQUIRED, is_a(str)), "command": (REQUIRED, one_of("meshscope-app")), "rename-desktop-file": (REQUIRED, is_a(str)),
    "rename-appdata-file": (REQUIRED, is_a(str)), "rename-icon": (REQUIRED, is_a(str)), "finish-args": (REQUIRED, list_of(like(r"--[a-z-]+=\S+"))),
    "cleanup": (OPTIONAL, list_of(is_a(str))), "modules": (REQUIRED, list_of(MODULE))})

# What the runtime has of what CMake looks for; under which names modules bring the rest.
RUNTIME_HAS = {"sqlite3", "libcrypto", "opengl", "threads", "pkgconfig", "git", "python3", "zlib"}
# Backends and a faster product of matrices that the window on one machine does without; CMake leaves them out where they are missing.
DONE_WITHOUT = {"cudatoolkit", "ompi-c", "mpich", "openblas"}
MODULE_OF = {"nlohmann_json": "nlohmann-json", "glfw3": "glfw"}


def looked_for(root):
    """What the programs' CMake files look for, by module: names of find_package(...) and pkg_check_modules(...)."""
    lists = [root / "CMakeLists.txt", *(root / "cmake").glob("*.cmake")]
    for part in ("core", "app", "backends"):
        lists += [path for kind in ("CMakeLists.txt", "*.cmake") for path in (root / part).rglob(kind)]
    text = "\n".join(line.split("#")[0] for path in sorted(lists) for line in path.read_text().splitlines())
    names = re.findall(r"find_package\((\w[\w-]*)[^)]*\)", text)
    names += re.findall(r"pkg_check_modules\(\w+ (?:REQUIRED )?(?:IMPORTED_TARGET )?(?:GLOBAL )?([\w-]+)\)", text)
    return {MODULE_OF.get(name, name.lower()) for name in names} - RUNTIME_HAS - DONE_WITHOUT


def check_flatpak(manifest, folder):
    """What it renames is what CMake installs, each source of an address has its checksum, each library has its module."""
    FLATPAK(manifest, "flatpak")
    root = folder.parent
    for key, name in (("rename-desktop-file", "meshscope-app.desktop"), ("rename-icon", "meshscope"), ("rename-appdata-file", "meshscope-app.metainfo.xml")):
        if manifest[key] != name or name not in (root / "cmake/MeshscopeInstall.cmake").read_text():
            raise Fault(f"flatpak: {key} is {manifest[key]}, which is not installed")
    if any(word.startswith("--share=network") for word in manifest["finish-args"]):
        raise Fault("flatpak: nothing of Meshscope's window needs the network")
    names = [module["name"] for module in manifest["modules"]]
    if len(set(names)) != len(names) or names[-1] != "meshscope":
        raise Fault(f"flatpak: modules {names}")
    missing = looked_for(root) - set(names)
    if missing:
        raise Fault(f"flatpak: no module brings {', '.join(sorted(missing))}")
    for module in manifest["modules"]:
        if (module["buildsystem"] == "simple") != ("build-commands" in module):
            raise Fault(f"flatpak.{module['name']}: build-commands and buildsystem simple go together")
        for source in module["sources"]:
            wanted = {"type", "url", "sha256"} if source["type"] == "archive" else {"type", "path", "skip"}
            if set(source) != wanted:
                raise Fault(f"flatpak.{module['name']}: a source of type {source['type']} has {sorted(source)}")
            if source["type"] == "dir" and (folder / "flatpak" / source["path"]).resolve() != root.resolve():
                raise Fault(f"flatpak: {source['path']} is not the tree")
    known = set(re.findall(r"(?:option|set)\((MESHSCOPE_\w+)", "".join(p.read_text() for p in [root / "CMakeLists.txt", *(root / "cmake").glob("*.cmake")])))
    for option_given in manifest["modules"][-1]["config-opts"]:
        name = option_given[2:].split("=")[0]
        if name.startswith("MESHSCOPE_") and name not in known:
            raise Fault(f"flatpak.meshscope: CMake knows no {name}")


def check_appimage(folder):
    """The script and what it starts are shell, and it takes what CMake installs by the names that it has there."""
    root = folder.parent
    subprocess.run(["bash", "-n", str(folder / "appimage/appdir")], check=True)
    subprocess.run(["sh", "-n", str(folder / "appimage/AppRun")], check=True)
    script, installed = (folder / "appimage/appdir").read_text(), (root / "cmake/MeshscopeInstall.cmake").read_text()
    for name, where in (("meshscope-app.desktop", "share/applications"), ("meshscope.svg", "share/icons/hicolor/scalable/apps")):
        if f"usr/{where}/{name}" not in script or f"{name} DESTINATION {where}" not in installed:
            raise Fault(f"appimage: {name} is not taken from {where}")
    if "set(private_lib lib/meshscope)" not in installed or "usr/lib/meshscope" not in script:
        raise Fault("appimage: the libraries are not where the programs look for them")
    fonts = set(re.findall(r"(\w+/[\w-]+\.tt[fc])", re.search(r"for font in (.*); do", script)[1]))
    looked_at = (root / "app/gui/window/fonts.cpp").read_text()
    for font in fonts:
        if f"/usr/share/fonts/truetype/{font}" not in looked_at:
            raise Fault(f"appimage: the window does not look for {font}")
    if len(fonts) != 3:
        raise Fault(f"appimage: fonts {sorted(fonts)}")


def main():
    folder = pathlib.Path(sys.argv[1])
    root = folder.parent
    job = yaml.safe_load((folder / "mpijob.yaml").read_text())
    compose = yaml.safe_load((folder / "compose.yaml").read_text())
    gpu_job = yaml.safe_load((folder / "mpijob-gpu.yaml").read_text())
    check_mpijob(job)
    check_gpu_mpijob(gpu_job)
    check_compose(compose, root)
    check_that_it_checks(check_gpu_mpijob, gpu_job, "mpijob-gpu")
    check_that_it_checks(check_mpijob, job, "mpijob")
    check_that_it_checks(lambda damaged: check_compose(damaged, root), compose, "compose")
    check_shell(folder / "srun.sbatch", ["srun ", "MASTER_ADDR", "MASTER_PORT", "MESHSCOPE_TOKEN", "--backend tcp"])
    check_shell(folder / "mpirun.sbatch", ["mpirun ", "--backend mpi-openmpi", "--resume auto"])
    check_shell(folder / "nccl.sbatch", ["srun ", "MASTER_ADDR", "MASTER_PORT", "MESHSCOPE_TOKEN", "--backend nccl",
                                         "--gpus-per-node=4", "--ntasks-per-node=4"])
    check_desktop(folder / "desktop")
    flatpak = yaml.safe_load((folder / "flatpak/io.github.meshscope.Meshscope.yaml").read_text())
    check_flatpak(flatpak, folder)
    check_that_it_checks(lambda damaged: check_flatpak(damaged, folder), flatpak, "flatpak")
    check_appimage(folder)
    check_dockerfile(folder / "Dockerfile", root)
    check_dockerfile(folder / "Dockerfile.cuda", root, ("debian:12", "nvidia/cuda:13."), 3)
    for line in (folder / "hostfile").read_text().splitlines():
        if line and not line.startswith("#") and not re.fullmatch(r"\S+ slots=\d+", line):
            raise Fault(f"hostfile: {line}")


if __name__ == "__main__":
    try:
        main()
    except Fault as fault:
        sys.exit(str(fault))
