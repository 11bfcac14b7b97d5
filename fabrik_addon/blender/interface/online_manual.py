# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the Online Manual entries in the context menus of operators and properties lead: to their places in the manual.

The site's address is the website of the manifest; scripts/manual.py builds its pages from docs into out/manual. In a
checkout the pages that were built there are opened instead: they are those of the code, and need no network.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import bpy

_ROOT = Path(__file__).resolve().parents[3]
_BUILT = _ROOT / "out/manual"

PLACES = {
    "chains/#the-list": "ops.pose.fabrik_chain_* chain.name chain.enabled settings.chains settings.active_index "
    "settings.list_index settings.named chain.tip_key chain.subtarget_key chain.pole_subtarget_key object.fabrik",
    "chains/#chain": "chain.tip chain.chain_count chain.use_tail",
    "chains/#target-and-pole": "ops.pose.fabrik_snap_target ops.pose.fabrik_target_add ops.pose.fabrik_pole_add "
    "settings.use_target_bones chain.target chain.subtarget chain.use_rotation "
    "chain.rotation_offset chain.pole_*",
    "chains/#solver": "chain.influence chain.iterations chain.tolerance",
    "chains/#status": "ops.pose.fabrik_solve chain.status chain.error chain.iterations_used",
    "several-targets/#pin": "chain.use_pin",
    "several-targets/#which-targets-are-met": "chain.weight",
    "stretch/#softness": "chain.softness",
    "stretch/#stretch": "chain.use_stretch chain.stretch_max",
    "stretch/#a-root-that-follows": "chain.root_motion",
    "joint-limits/": "chain.use_limits",
    "joint-limits/#in-the-panel": "ops.pose.fabrik_limits_set",
    "joint-limits/#presets": "ops.pose.fabrik_limits_preset*",
    "solvers/": "ops.pose.fabrik_compare chain.solver",
    "solvers/#presets": "ops.pose.fabrik_solver_preset*",
    "dragging/#drag": "ops.pose.fabrik_drag*",
    "dragging/#handles": "settings.show_handles",
    "dragging/#overlay": "settings.show_overlay",
    "baking/": "ops.pose.fabrik_bake",
    "baking/#keys-for-targets-and-poles-from-fk": "ops.pose.fabrik_key_targets",
    "conversion/": "ops.pose.fabrik_constraints_to_chains ops.pose.fabrik_chains_to_constraints chain.conversion",
    "native-rig/#making-one": "ops.pose.fabrik_rig_* ops.object.fabrik_rigs_purge chain.native_rig",
    "bodies/": "ops.pose.fabrik_body_add ops.pose.fabrik_body_remove settings.body body.*",
    "bodies/#parts": "ops.pose.fabrik_body_find part.*",
    "bodies/#handles": "ops.pose.fabrik_body_pull ops.pose.fabrik_body_turn ops.pose.fabrik_body_follow "
    "ops.pose.fabrik_body_bake ops.pose.fabrik_handle_* handle.*",
    "bodies/#look-at": "ops.pose.fabrik_body_look* body.use_look_at body.look_* body.use_eyes",
}
"""Page and heading of operators and properties. ``chain.`` stands for ``FabrikChain`` and so on; a star for any end."""


def _places() -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the manual's address, and pairs of a name in lower case and its place; Blender calls this."""
    is_built = (_BUILT / "index.html").is_file()
    manifest = tomllib.loads((_ROOT / "blender_manifest.toml").read_text(encoding="utf-8"))
    address = f"{_BUILT.as_uri()}/" if is_built else manifest["website"]
    # A server finds the index.html of a folder, a browser that opens files does not.
    places = {place.replace("/", "/index.html") if is_built else place: names for place, names in PLACES.items()}
    return address, tuple((_full_name(name), place) for place, names in places.items() for name in names.split())


def _full_name(name: str) -> str:
    owner = "bpy." if name.startswith("ops.") else "bpy.types." if name.startswith("object.") else "bpy.types.fabrik"
    return owner + name


def register() -> None:
    bpy.utils.register_manual_map(_places)


def unregister() -> None:
    bpy.utils.unregister_manual_map(_places)
