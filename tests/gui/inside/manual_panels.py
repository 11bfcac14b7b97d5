# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manual's pictures of panels that are closed at first, of the dialog of Bake, and of native rigs."""

from __future__ import annotations

import bpy
from hands import window
from mathutils import Vector
from stage import (
    Stage,
    Steps,
    activate,
    addon,
    area,
    check,
    fresh_file,
    human,
    middle,
    open_sidebar,
    over,
    region,
    shot,
)

CLOSED = {'DEFAULT_CLOSED'}


def manual_panels() -> Steps:
    panels = addon("interface.chain_panel")
    compare = addon("interface.compare_panel").VIEW3D_PT_fabrik_compare
    kinds = (panels.VIEW3D_PT_fabrik_limits, panels.VIEW3D_PT_fabrik_solver, compare)
    others = (panels.VIEW3D_PT_fabrik_chain, panels.VIEW3D_PT_fabrik_target)
    before = {kind: set(getattr(kind, "bl_options", ())) for kind in (*kinds, *others)}
    try:
        open_at_first(before, kinds[:1])
        make_arm()
        yield from open_sidebar()
        yield from scroll_down()
        shot("manual-joint-limits")
        open_at_first(before, kinds[1:])
        yield from fresh_file()
        make_arm()
        bpy.context.preferences.view.ui_scale = 0.76  # both panels fit the window
        yield from open_sidebar()
        yield from scroll_down()
        shot("manual-solvers-panel")
        bpy.context.preferences.view.ui_scale = 1.0
        yield 0.5
        Stage.hands.move(*middle(region()))
        yield 0.3
        with over():
            bpy.ops.pose.fabrik_bake('INVOKE_DEFAULT')
        yield 0.8
        shot("manual-bake-dialog")
        Stage.hands.move(*(middle(region()) + Vector((-300.0, 0.0))))
        yield 0.3
        Stage.hands.key("ESC")
        yield 0.3
    finally:
        for kind, options in before.items():
            kind.bl_options = options
        open_at_first(before, ())
        bpy.context.preferences.view.ui_scale = 1.0
    check(True, "pictures are taken")


def manual_native_rig() -> Steps:
    """A human whose left arm and leg are native rigs, and the nodes of two links with a pole."""
    rig = human("hand.L")
    area().spaces.active.show_region_ui = False
    moves = {"forearm.L": Vector((-0.1, -0.3, 0.35)), "shin.L": Vector((0.05, -0.35, 0.3))}
    with over():
        for name, move in moves.items():
            bpy.ops.pose.select_all(action='DESELECT')
            activate(rig, name)
            bpy.ops.pose.fabrik_chain_add(chain_count=2, create_target=True, create_pole=True)
            rig.fabrik.chains[-1].target.location += move
        answer = bpy.ops.pose.fabrik_rig_add()
        bpy.ops.view3d.view_orbit(angle=0.6, type='ORBITLEFT')
        bpy.ops.pose.select_all(action='DESELECT')
    yield 0.6
    shot("manual-native-rig")
    check(answer == {'FINISHED'}, f"native rigs are made ({answer})")
    with over():
        bpy.ops.screen.screen_full_area(use_hide_panels=True)
    yield 0.6
    canvas = area()
    canvas.ui_type = 'GeometryNodeTree'
    yield 0.6
    editor = canvas.spaces.active
    editor.pin = True
    editor.node_tree = next(tree for tree in bpy.data.node_groups if tree.name.startswith("FABRIK 2 links, pole"))
    for node in editor.node_tree.nodes:
        node.select = False
    yield 0.6
    with bpy.context.temp_override(window=window(), area=canvas, region=region(of=canvas)):
        bpy.ops.node.view_all()
    yield 0.8
    shot("manual-native-rig-nodes")


def make_arm() -> None:
    rig = human("hand.L")
    with over():
        for name, joint in (("upper_arm.L", "SHOULDER"), ("forearm.L", "ELBOW")):
            bpy.ops.pose.select_all(action='DESELECT')
            activate(rig, name)
            bpy.ops.pose.fabrik_limits_set(joint=joint)
        bpy.ops.pose.fabrik_chain_add(chain_count=2, create_pole=False)
        rig.fabrik.chains[0].target.location.z += 0.15
        bpy.ops.pose.fabrik_compare()
        bpy.ops.pose.fabrik_solve()


def scroll_down() -> Steps:
    Stage.hands.move(*middle(region("UI")))
    yield 0.3
    for _ in range(40):
        Stage.hands.wheel(False)
        yield 0.03
    Stage.hands.move(*middle(region()))
    yield 0.6


def open_at_first(before: dict[type, set[str]], kinds: tuple[type, ...]) -> None:
    """Register the panels again, so that only some of them are open in a sidebar that has not shown them yet."""
    for kind in reversed(before):
        bpy.utils.unregister_class(kind)
    for kind, options in before.items():
        kind.bl_options = (options - CLOSED if kind in kinds else options | CLOSED) if kinds else options
        bpy.utils.register_class(kind)
