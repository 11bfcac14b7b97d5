# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Blender with its window, on a machine without a screen: Debian's Blender in a chroot, on software OpenGL.

``python3 scripts/blender_window.py`` makes the chroot (once: some minutes, 1.3 GB) and prints where it is;
``--remove`` deletes it; ``run FOLDER COMMAND...`` runs a command in it on a fresh virtual screen, with a folder of
this machine seen as ``/share``. It is kept outside the repository, in ``/var/tmp/fabrik-ik-window`` or where
``FABRIK_WINDOW_HOME`` says. It takes root and a Debian mirror among the machine's own apt sources.

Nothing is left mounted or running by a run, two runs at once do not meet, and nothing inside reaches a network.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SUITE = "sid"  # the Debian that has Blender 5.2 LTS
BLENDER = "5.2"
HOME = Path(os.environ.get("FABRIK_WINDOW_HOME", "/var/tmp/fabrik-ik-window"))
SIZE = (1280, 800)

_PACKAGES = (
    "blender",
    # Not among the dependencies of Debian's Blender; its extension system and add-ons with numpy need them.
    "python3-numpy python3-cattr python3-requests python3-zstandard",
    # Virtual screen, software OpenGL, simulated mouse and keys, screenshots.
    "xvfb libgl1-mesa-dri libegl-mesa0 libglx-mesa0 xdotool imagemagick",
)
_STAMP = "fabrik-window 1: " + " ".join(_PACKAGES)
_SETUP_SECONDS = 1500.0
_FIRST_WINDOW_SECONDS = 240.0

# Runs in mount, pid and network namespaces of its own.
_INSIDE = r"""
set -e
root=$1; share=$2; seconds=$3; size=$4; shift 4
mount --bind "$share" "$root/share"
mount -t tmpfs tmpfs "$root/tmp"
mkdir -p "$root/dev/shm" "$root/var/cache/window-mesa" "$root/var/cache/window-xdg"
mount -t tmpfs tmpfs "$root/dev/shm"
mkdir -p "$root/tmp/home" "$root/tmp/xdg" "$root/tmp/.X11-unix"
chmod 1777 "$root/tmp" "$root/tmp/.X11-unix"; chmod 700 "$root/tmp/xdg"
exec env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/tmp/home XDG_RUNTIME_DIR=/tmp/xdg LANG=C.UTF-8 \
  TERM=dumb LIBGL_ALWAYS_SOFTWARE=1 GALLIUM_DRIVER=llvmpipe PYTHONDONTWRITEBYTECODE=1 \
  BLENDER_USER_RESOURCES=/tmp/home/blender MESA_SHADER_CACHE_DIR=/var/cache/window-mesa \
  XDG_CACHE_HOME=/var/cache/window-xdg SECONDS_LEFT="$seconds" SIZE="$size" \
  chroot "$root" bash -c '
    Xvfb -displayfd 3 -screen 0 "${SIZE}x24" -nolisten tcp -ac +extension GLX 3>/tmp/display >/tmp/xvfb.log 2>&1 & x=$!
    for i in $(seq 600); do [ -s /tmp/display ] && break; sleep 0.05; done
    [ -s /tmp/display ] || { echo "Xvfb did not start" >&2; cat /tmp/xvfb.log >&2; exit 70; }
    export DISPLAY=:$(cat /tmp/display); cd /share
    timeout -k 5 "$SECONDS_LEFT" "$@"; status=$?
    kill $x; wait $x 2>/dev/null
    exit $status' bash "$@"
"""

_FIRST_WINDOW = """
import bpy, os, subprocess
def look():
    shot = "import -window root png:- | convert - -format %k info:"
    colors = subprocess.run(shot, shell=True, capture_output=True, text=True).stdout.strip()
    print("colours on the screen:", colors, flush=True)
    os._exit(0 if colors.isdigit() and int(colors) > 100 else 9)
bpy.app.timers.register(look, first_interval=4)
"""


class Unavailable(Exception):
    """Blender with a window can't run on this machine now; the message is the reason."""


def prepare() -> Path:
    """Make the chroot, or reuse it when it is up to date.

    Returns:
        Its folder.

    Raises:
        Unavailable: no root, no mirror, or the packages can't be installed.
    """
    root, stamp = HOME / SUITE, HOME / SUITE / ".ready"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == _STAMP:
        return root
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        raise Unavailable("a Blender with a window takes Linux and root to make its chroot")
    try:
        HOME.mkdir(parents=True, exist_ok=True)
        with (HOME / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (stamp.exists() and stamp.read_text(encoding="utf-8") == _STAMP):
                _make(root)
                _open_first_window(root)
                stamp.write_text(_STAMP, encoding="utf-8")
    except OSError as error:
        raise Unavailable(f"the chroot can't be made here: {error}") from error
    return root


def add_languages(root: Path) -> None:
    """Add Blender's own languages: the chroot is made without translations.

    Raises:
        Unavailable: they can't be downloaded.
    """
    if (root / "usr/share/locale/languages").exists():
        return
    script = (
        "set -e; cd /tmp; apt-get update -qq; apt-get download -qq blender-data; "
        "dpkg-deb --fsys-tarfile blender-data_*.deb | tar x -C / ./usr/share/locale; rm blender-data_*.deb"
    )
    log = HOME / "setup.log"
    if _logged(["chroot", str(root), "bash", "-c", script], log):
        raise Unavailable(f"Blender's languages can't be downloaded (see {log}): {_last_line(log)}")


def run(root: Path, share: Path, command: list[str], seconds: float, log: Path | None = None) -> int:
    """Run a command in the chroot, on a virtual screen of its own.

    Args:
        root: of the chroot.
        share: folder that the command sees as /share, its working directory.
        command: what to run.
        seconds: it may take; then it is stopped, and the status is 124.
        log: file for its output; the terminal's where left out.

    Returns:
        the command's exit status.
    """
    size = "x".join(map(str, SIZE))
    wrapped = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--net", "--propagation", "private"]
    wrapped += [f"--mount-proc={root}/proc", "bash", "-c", _INSIDE, "bash", str(root), str(share.resolve())]
    wrapped += [str(int(seconds)), size, *command]
    with log.open("wb") if log else tempfile.TemporaryFile() as output:
        target = output if log else None
        try:
            done = subprocess.run(
                wrapped, stdin=subprocess.DEVNULL, stdout=target, stderr=subprocess.STDOUT, timeout=seconds + 60.0
            )
        except subprocess.TimeoutExpired:
            return 124
    return done.returncode


def _make(root: Path) -> None:
    log = HOME / "setup.log"
    start = time.perf_counter()
    print(f"[window] making {root} (some minutes, once); the log is {log}", flush=True)
    if shutil.which("mmdebstrap") is None:
        install = "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "
        if _logged(["bash", "-c", install + "mmdebstrap"], log):
            raise Unavailable(f"mmdebstrap can't be installed (see {log})")
    mirror = _mirror()
    if not mirror:
        raise Unavailable("there is no Debian mirror among this machine's apt sources")
    new = root.with_suffix(".new")
    _delete(new)
    includes = ",".join(" ".join(_PACKAGES).split())
    options = ['--aptopt=APT::Install-Recommends "false"', '--aptopt=Acquire::Languages "none"']
    options += ['--aptopt=Acquire::Retries "3"', *(f"--aptopt={line}" for line in _apt_settings())]
    options += ["--dpkgopt=force-unsafe-io"]
    options += [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "man", "locale")]
    command = ["mmdebstrap", "--mode=root", "--variant=minbase", "--components=main", *options]
    if _logged([*command, f"--include={includes}", SUITE, str(new), mirror], log):
        _delete(new)
        raise Unavailable(f"the chroot can't be made from {mirror} (see {log}): {_last_line(log)}")
    (new / "etc/mtab").symlink_to("/proc/self/mounts")  # else Blender warns that it can't list file systems
    (new / "share").mkdir()
    _delete(root)
    new.rename(root)
    version = subprocess.run(["chroot", str(root), "blender", "--version"], capture_output=True, text=True).stdout
    found = version.partition("\n")[0]
    if not found.startswith(f"Blender {BLENDER}"):
        raise Unavailable(f"Debian {SUITE} has '{found}', not Blender {BLENDER}")
    print(f"[window] {found} is in {root} after {time.perf_counter() - start:.0f} s", flush=True)


def _open_first_window(root: Path) -> None:
    """Check that Blender draws, and let it compile its shaders."""
    with tempfile.TemporaryDirectory() as folder:
        share = Path(folder)
        (share / "look.py").write_text(_FIRST_WINDOW, encoding="utf-8")
        command = ["blender", "--factory-startup", "--gpu-backend", "opengl", "-P", "/share/look.py"]
        log = HOME / "first-window.log"
        if run(root, share, command, _FIRST_WINDOW_SECONDS, log):
            raise Unavailable(f"Blender's window doesn't come up (see {log}): {_last_line(log)}")


def _mirror() -> str:
    """Return the mirror that this machine's apt uses."""
    targets = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    try:
        found = subprocess.run(targets, capture_output=True, text=True).stdout.split()
    except OSError:
        return ""
    for path in [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]:
        if path.is_file():
            found += re.findall(r"(?m)^(?:URIs:|deb(?: \[[^\]]*\])?) *(https?://\S+)", path.read_text(encoding="utf-8"))
    return next((uri for uri in found if "security" not in uri), "")


def _apt_settings() -> list[str]:
    """Return this machine's apt settings for proxies and clocks, which the chroot needs too."""
    dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True).stdout
    wanted = re.compile(r"Acquire::(Check-|https?::|ForceIPv)")
    return [line for line in dump.splitlines() if wanted.match(line) and "User-Agent" not in line]


def _logged(command: list[str], log: Path) -> int | None:
    """Run a command with its output in a log; return its exit status, None if it took too long."""
    with log.open("a", encoding="utf-8") as output:
        print(shlex.join(command), file=output, flush=True)
        try:
            return subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, timeout=_SETUP_SECONDS
            ).returncode
        except subprocess.TimeoutExpired:
            return None


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if log.exists() else []
    return lines[-1] if lines else ""


def _delete(folder: Path) -> None:
    # Nothing of a user is ever mounted below it outside a private namespace; still, never across file systems.
    subprocess.run(["rm", "-rf", "--one-file-system", str(folder)], check=True)


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--remove", action="store_true", help="delete the chroot")
    parser.add_argument("run", nargs="*", metavar="run FOLDER COMMAND", help="run a command in it")
    arguments, rest = parser.parse_known_args()
    if arguments.remove:
        _delete(HOME)
        return
    try:
        root = prepare()
    except Unavailable as reason:
        sys.exit(f"skipped: {reason}")
    words = [*arguments.run, *rest]
    if not words:
        print(root)
        return
    if len(words) < 3 or words[0] != "run":
        parser.error("run takes a folder and a command")
    sys.exit(run(root, Path(words[1]), words[2:], 600.0))


if __name__ == "__main__":
    main()
