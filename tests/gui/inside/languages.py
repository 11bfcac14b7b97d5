# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar in every language: texts are translated, and labels and buttons fit its usual width."""

from __future__ import annotations

import blf
import bpy
from bpy.app.translations import pgettext_iface
from stage import Stage, Steps, activate, addon, area, check, human, middle, open_sidebar, over, region, shot

LABELS = (
    *("Tip", "Pin", "Object", "Bone", "Rotation", "Weight", "Angle", "Method"),
    *("Influence", "Softness", "Stretch", "Root", "Iterations", "Tolerance"),
)
"""Of properties in the panels."""

HALF_BUTTONS = ("Drag Bone", "Drag Target", "Solve Active", "Snap Targets")
BUTTONS = (
    *("Solve", "Bake Chains...", "Key Targets from Pose...", "IK Constraints to Chains", "Chains to IK Constraints"),
    *("Make Native Rig", "Remove Native Rig", "Make Body", "Compare Solvers", "Set Joint Limits"),
)

LABEL_SHARE = 0.4
"""Share of a row that Blender gives the label of a property."""

MARGINS, ICON, FRAME = 55.0, 20.0, 10.0
"""Pixels at scale 1, measured in a picture: of the sidebar beside a row of a panel; an icon; a button's frame."""


def languages() -> Steps:
    rig = human("hand.L")
    activate(rig, "forearm.L")
    with over():
        bpy.ops.pose.fabrik_chain_add(chain_count=2, create_pole=True)
        rig.fabrik.chains[0].target.location.x += 5.0
        bpy.ops.pose.fabrik_solve()
    yield from open_sidebar()
    view = bpy.context.preferences.view
    view.use_translate_interface = view.use_translate_tooltips = view.use_translate_reports = True
    try:
        for language, texts in addon("translation.catalogue").load().items():
            view.language = language
            area().tag_redraw()
            Stage.hands.move(*middle(region()))
            yield 1.2
            check(bpy.app.translations.locale == language, f"Blender speaks {language}")
            check(pgettext_iface("Snap Targets", "Operator") != "Snap Targets", f"{language}: buttons are translated")
            long = too_long(texts)
            check(not long, f"{language}: labels and buttons fit, but {long}")
            shot(f"language-{language}")
    finally:
        view.language = "DEFAULT"
    yield 0.5


def too_long(texts: dict[tuple[str, str], str]) -> list[str]:
    """Return the texts that are wider than their place, of those that Blender doesn't translate by itself."""
    scale = bpy.context.preferences.system.ui_scale
    row = region("UI").width / scale - MARGINS
    places = [("*", name, LABEL_SHARE * row) for name in LABELS]
    places += [("FABRIK IK", name, LABEL_SHARE * row) for name in ("Chain Length", "Use Tail")]
    places += [("Operator", name, 0.5 * row - FRAME) for name in HALF_BUTTONS]
    places += [("Operator", name, row - ICON - FRAME) for name in BUTTONS]
    found = []
    blf.size(0, 11.0 * scale)
    for context, name, room in places:
        text = pgettext_iface(name, context)
        width = blf.dimensions(0, text)[0] / scale
        if width > room and text == texts.get((context, name)):
            found.append(f"{text} ({width:.0f} of {room:.0f})")
    return found
