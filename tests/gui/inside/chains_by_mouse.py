# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains set up and posed with the mouse: the list, and targets and poles in Pose mode."""

from __future__ import annotations

from typing import Any

import bpy
from mathutils import Vector
from stage import (
    Stage,
    Steps,
    activate,
    area,
    check,
    click,
    click_button,
    drag,
    find_button,
    hold,
    human,
    is_dragging,
    middle,
    moved_bones,
    open_sidebar,
    over,
    part_of,
    picture,
    pixel_of,
    pose_bits,
    press,
    region,
    release,
    rig_now,
    shot,
    traces,
    undo,
)

STATUS_BAR = 20
"""Height of the status bar, pixels."""


def selected(rig: Any) -> list[str]:
    return [bone.name for bone in rig.pose.bones if bone.select]


def press_add() -> Steps:
    """Press + beside the list of chains."""
    yield from open_sidebar()
    yield from click_button("a button to add a chain", "pose.fabrik_chain_add", across=0.83)
    yield 0.4


def chain_list() -> Steps:
    """+ with two selected bones, and a click on a row of the list."""
    rig = human("foot.R")
    activate(rig, "hand.L")
    with over():
        bpy.ops.ed.undo_push(message="two bones")
    yield 0.4
    yield from press_add()
    rig = rig_now()
    check([chain.tip for chain in rig.fabrik.chains] == ["hand.L", "foot.R"], "+ adds a chain for each selected bone")
    check(rig.fabrik.active_index == 0, "the active bone's chain is the active one")
    at = yield from find_button("fabrik.list_index", across=0.4)
    check(at, f"there are the rows of two chains, around {at}")
    if not at:
        return
    yield from click(at - Vector((0.0, 10.0)))
    yield 0.4
    shot("chain-list")
    rig = rig_now()
    check(rig.fabrik.active_index == 1, "a click on a row makes its chain active")
    check(selected(rig) == ["foot.R"] and rig.data.bones.active.name == "foot.R", f"and its bone ({selected(rig)})")
    yield from undo()
    rig = rig_now()
    check(len(rig.fabrik.chains) == 2 and set(selected(rig)) == {"hand.L", "foot.R"}, "undo takes the click back")
    check(rig.fabrik.active_index == 0, "with the active chain")


def controls() -> Steps:
    """Drag an IK control of a generated rig: it moves, by the mouse and along an axis; one undo step, Escape."""
    with over():
        bpy.ops.object.armature_basic_human_metarig_add()
        bpy.ops.pose.rigify_generate()
        rig = bpy.data.objects["rig"]
        bpy.data.objects.remove(bpy.data.objects["metarig"])
        bpy.context.view_layer.objects.active = rig
        bpy.ops.object.mode_set(mode="POSE")
        bpy.ops.pose.select_all(action="DESELECT")
        activate(rig, "hand_ik.L")
        bpy.ops.view3d.view_axis(type="FRONT")
        bpy.ops.view3d.view_all(center=False)
        bpy.ops.ed.undo_push(message="generated")
    yield 0.6
    left, before = traces(), pose_bits(rig)
    start = rig.matrix_world @ rig.pose.bones["hand_ik.L"].head
    way = Vector((-40, 30))
    yield from drag(way, grab="BONE")
    yield 0.3
    shot("controls")
    rig = bpy.data.objects["rig"]
    now = rig.matrix_world @ rig.pose.bones["hand_ik.L"].head
    check((pixel_of(now) - pixel_of(start) - way).length < 1.5, f"the control goes with the mouse ({now - start})")
    hand = rig.matrix_world @ rig.pose.bones["DEF-hand.L"].head
    check((hand - now).length < 0.01, "the hand follows it")
    Stage.hands.key("X")
    yield 0.3
    off = rig.matrix_world @ rig.pose.bones["hand_ik.L"].head - start
    check(abs(off.x) > 0.02 and abs(off.y) + abs(off.z) < 1e-4, f"X locks the axis ({tuple(off)})")
    Stage.hands.key("ESC")
    yield 0.3
    check(pose_bits(rig) == before and not is_dragging() and traces() == left, "Escape restores every bit")
    yield from drag(way, grab="BONE")
    Stage.hands.key("RET")
    yield 0.3
    moved = moved_bones(before, rig)
    check(moved == {"hand_ik.L"} and not is_dragging(), f"Enter keeps it ({moved})")
    yield from undo()
    check(pose_bits(bpy.data.objects["rig"]) == before, "one undo takes it back")


def arm_with_goals() -> Any:
    """Rigify's human with a chain on its left arm, with target and pole, and the arm bent a little."""
    rig = human("forearm.L")
    rig.pose.bones["forearm.L"].rotation_quaternion = (0.95, 0.3, 0.0, 0.0)
    with over():
        bpy.ops.pose.fabrik_chain_add(chain_count=2, create_target=True, create_pole=True)
        bpy.ops.ed.undo_push(message="chain")
    return rig_now()


def goals_of(rig: Any) -> list[tuple[float, ...]]:
    chain = rig.fabrik.chains[0]
    return [tuple(obj.location) for obj in (chain.target, chain.pole_target)]


def handles() -> Steps:
    """Targets and poles are dragged in Pose mode: each move solves, one undo step, Escape, click, keys."""
    rig = arm_with_goals()
    Stage.hands.move(*middle(region()))
    yield 0.8
    left, before, goals = traces(), pose_bits(rig), goals_of(rig)
    shot("handles")
    for name, way in (("target", Vector((-60, 40))), ("pole_target", Vector((30, 60)))):
        at = pixel_of(getattr(rig_now().fabrik.chains[0], name).matrix_world.translation)
        Stage.hands.move(*at)
        yield 0.4
        shot(f"handles-{name}-hover")
        yield from click(at)
        check(pose_bits(rig_now()) == before and goals_of(rig_now()) == goals, f"a click on the {name} changes nothing")
        check(not is_dragging(), f"and leaves no drag of the {name}")
        yield from hold(at, way)
        yield 0.3
        check(is_dragging(), f"pressed and moved the {name} is dragged")
        shot(f"handles-{name}")
        rig = rig_now()
        chain = rig.fabrik.chains[0]
        now = pixel_of(getattr(chain, name).matrix_world.translation)
        check((now - at - way).length < 1.5, f"the {name} is under the mouse ({now - at})")
        tip = rig.matrix_world @ rig.pose.bones["forearm.L"].tail
        off = (tip - chain.target.matrix_world.translation).length
        check(off < 1e-3 and pose_bits(rig) != before, f"and the chain is solved at each move ({off})")
        Stage.hands.key("ESC")
        yield 0.3
        check(pose_bits(rig_now()) == before and goals_of(rig_now()) == goals, "Escape restores every bit")
        yield from release()
        check(not is_dragging() and traces() == left, f"and leaves nothing ({traces()})")
        yield from hold(at, way)
        yield from release()
        check(goals_of(rig_now()) != goals and not is_dragging(), f"letting go keeps the {name}")
        yield from undo()
        check(pose_bits(rig_now()) == before and goals_of(rig_now()) == goals, "one undo takes it back")
    rig = rig_now()
    rig.fabrik.show_handles = False
    yield 0.4
    at = pixel_of(rig.fabrik.chains[0].target.matrix_world.translation)
    yield from hold(at, Vector((30, 30)))
    check(not is_dragging(), "switched off there are no handles")
    Stage.hands.key("ESC")
    yield 0.2
    yield from release()


def bone_targets() -> Steps:
    """Targets and poles as bones: made by + with the option of the panel, dragged by their handles, undone."""
    rig = human("forearm.L")
    rig.pose.bones["forearm.L"].rotation_quaternion = (0.95, 0.3, 0.0, 0.0)
    rig.fabrik.use_target_bones = True
    with over():
        bpy.ops.ed.undo_push(message="option")
    yield 0.4
    yield from press_add()
    rig = rig_now()
    (chain,) = rig.fabrik.chains
    check(chain.target == rig and chain.subtarget == "target forearm.L", f"+ makes a bone ({chain.subtarget})")
    check(rig.mode == "POSE", "and comes back to Pose mode")
    with over():
        bpy.ops.pose.fabrik_pole_add(as_bones=True)
        bpy.ops.ed.undo_push(message="pole")
    area().spaces.active.show_region_ui = False
    yield 0.5
    rig = rig_now()
    before = pose_bits(rig)
    at, way = pixel_of(rig.matrix_world @ rig.pose.bones["target forearm.L"].head), Vector((-60, 40))
    Stage.hands.move(*at)
    yield 0.4
    shot("bone-targets")
    yield from hold(at, way)
    yield 0.2
    shot("bone-targets-drag")
    yield from release()
    rig = rig_now()
    head = rig.matrix_world @ rig.pose.bones["target forearm.L"].head
    tip = rig.matrix_world @ rig.pose.bones["forearm.L"].tail
    check((pixel_of(head) - at - way).length < 1.5, f"the bone is under the mouse ({pixel_of(head) - at})")
    check((head - tip).length < 1e-3, f"and the chain reaches it ({(head - tip).length})")
    yield from undo()
    check(pose_bits(rig_now()) == before, "one undo takes it back")


def header_of_several_chains() -> Steps:
    """With five chains and the sidebar open the header isn't cut off, and the status bar says keys and wheel."""
    rig = human()
    bpy.context.scene.unit_settings.system = "METRIC"
    for bone, count in (("hand.L", 3), ("hand.R", 3), ("foot.L", 3), ("foot.R", 3), ("spine.006", 7)):
        activate(rig, bone)
        with over():
            bpy.ops.pose.fabrik_chain_add(chain_count=count, use_selected=False)
    yield from open_sidebar()
    activate(rig_now(), "hand.L")
    with over():
        bpy.ops.ed.undo_push(message="chains")
    header = region("TOOL_HEADER")
    Stage.hands.move(*middle(region()))
    yield 0.6
    clean = picture()
    yield from drag(Vector((250, 120)), grab="TARGET")
    yield 0.4
    dragged = picture()
    shot("header-of-several-chains")
    changed = (part_of(dragged, header) != part_of(clean, header)).any(axis=(0, 2))
    text = part_of(dragged, header)
    background = text[text.shape[0] // 2, -2]
    written = (abs(text.astype(int) - background.astype(int)).max(axis=2) > 60).any(axis=0)
    last = int(written.nonzero()[0].max())
    check(changed.any() and written.sum() > 100, "the header has a text")
    check(last < len(written) - 12, f"it ends before the header does, at {last} of {len(written)}")
    # The status bar is the lowest rows of the window.
    check((dragged[-STATUS_BAR:] != clean[-STATUS_BAR:]).any(), "the status bar has another text")
    check(traces()["status bar"], "the status bar says the keys")
    yield from press("ESC")
    yield 0.3


def active_target() -> Steps:
    """In Object mode, with a target active, the panel shows its armature's chains, and Solve solves them."""
    rig = arm_with_goals()
    target = rig.fabrik.chains[0].target
    with over():
        bpy.ops.object.mode_set(mode="OBJECT")
        bpy.ops.object.select_all(action="DESELECT")
        target.select_set(True)
        bpy.context.view_layer.objects.active = target
        target.location += Vector((-0.2, -0.1, 0.15))
        bpy.ops.ed.undo_push(message="target")
    yield 0.4
    yield from open_sidebar()
    shot("active-target")
    before = pose_bits(rig_now())
    if not (yield from click_button("a button to solve", "pose.fabrik_solve")):
        return
    yield 0.4
    check(rig_now().fabrik.chains[0].status == "REACHED" and pose_bits(rig_now()) != before, "it solves")
    check(bpy.context.object.type == "EMPTY" and bpy.context.mode == "OBJECT", "and the target stays active")


def key_targets_dialog() -> Steps:
    """Key Targets from Pose asks for the range first: Escape writes no key, Enter one for each frame of the range."""
    activate(human(), "hand.L")
    with over():
        bpy.ops.pose.fabrik_chain_add(chain_count=2)
        bpy.ops.ed.undo_push(message="chain")
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 3, 7
    for key, count in (("ESC", 0), ("RET", 5)):
        Stage.hands.move(*middle(region()))
        yield 0.3
        with over():
            bpy.ops.pose.fabrik_key_targets("INVOKE_DEFAULT")
        yield 0.8
        shot(f"key-targets-{key}")
        check(keyed_frames() == [], f"{key}: nothing is keyed while the dialog is open")
        yield from press(key)
        yield 0.5
        check(len(keyed_frames()) == count, f"{key}: {count} frames are keyed ({keyed_frames()})")


def keyed_frames() -> list[float]:
    """Return the frames at which the location of the first chain's target is keyed."""
    target = rig_now().fabrik.chains[0].target
    animation = target.animation_data
    if animation is None or animation.action is None:
        return []
    (curve, *_rest) = animation.action.layers[0].strips[0].channelbag(animation.action_slot).fcurves
    return [key.co.x for key in curve.keyframe_points]
