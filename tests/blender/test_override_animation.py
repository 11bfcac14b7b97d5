# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys and drivers of chains and handles in a file that overrides a rig, after the rig's own file has changed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bpy
import pytest

from tests.blender.rigs import add_chain, enter_pose_mode, keys_of, leave_mode, linked, make_empty, make_tail, update

NAMES = ('left "arm"', "right arm", "spine")


def make_library_rig() -> Any:
    """A rig with three chains and three handles."""
    armature: Any = make_tail(4)
    for number, name in enumerate(NAMES):
        add_chain(armature, f"bone{1 + number}", 2).name = name
        handle = armature.fabrik.body.handles.add()
        handle.name, handle.bone = name, f"bone{number}"
    leave_mode()
    return armature


def override_again(armature: Any) -> Any:
    armature = armature.override_create()
    armature.override_library.is_system_override = False
    bpy.context.scene.collection.objects.link(armature)
    return armature


def animate(armature: Any) -> Any:
    """Influence in the action, weight in NLA strips, a handle's slack, a driver, and drivers that read influences."""
    chains, handles = armature.fabrik.chains, armature.fabrik.body.handles
    for number, chain in enumerate(chains):
        chain.weight = 2.0 + number
        chain.keyframe_insert("weight", frame=1)
    animation = armature.animation_data
    track = animation.nla_tracks.new()
    for start in (1, 100):
        track.strips.new("below", start, animation.action)
    animation.action = None
    for number, (chain, handle) in enumerate(zip(chains, handles, strict=True)):
        chain.influence, handle.slack = 0.1 + 0.1 * number, 0.01 + 0.01 * number
        chain.keyframe_insert("influence", frame=1)
        handle.keyframe_insert("slack", frame=1)
        chain.driver_add("softness").driver.expression = f"0.1 + 0.1 * {number}"
        driver = make_empty(f"reads {number}").driver_add("location", 0).driver
        driver.type = "SUM"
        source = driver.variables.new().targets[0]
        source.id, source.data_path = armature, f"fabrik.chains[{number}].influence"
    return armature


def shown(armature: Any) -> dict[str, list[float]]:
    """Every animated value of a name's chain and handle at a frame, other ones from before out of the way."""
    chains, handles = armature.fabrik.chains, armature.fabrik.body.handles
    for chain, handle in zip(chains, handles, strict=True):
        chain.influence, chain.weight, chain.softness, handle.slack = 0.9, 9.0, 0.0, 0.9
    bpy.context.scene.frame_set(1)
    found = {c.name: [c.influence, c.weight, c.softness, handles[c.name].slack] for c in chains}
    return {name: [round(value, 4) for value in values] for name, values in found.items()}


def read_by_drivers() -> list[float]:
    update()
    return [round(bpy.data.objects[f"reads {number}"].matrix_world.translation.x, 4) for number in range(3)]


def paths_of(armature: Any) -> set[str]:
    return {path for path, _ in keys_of(armature.animation_data.action)}


def our_override() -> Any:
    return next(obj for obj in bpy.data.objects if obj.override_library and obj.type == "ARMATURE")


def change_library(path: Path, change: Callable[[Any], None]) -> None:
    bpy.ops.wm.open_mainfile(filepath=str(path))
    armature: Any = bpy.data.objects["Rig"]
    for items in (armature.fabrik.chains, armature.fabrik.body.handles):
        change(items)
    bpy.ops.wm.save_mainfile()


def remove(items: Any, name: str) -> None:
    items.remove(items.find(name))


def insert_first(items: Any, name: str) -> None:
    items.add().name = name
    items.move(len(items) - 1, 0)


CHANGES: dict[str, Callable[[Any], None]] = {
    "removed": lambda items: remove(items, NAMES[0]),
    "inserted": lambda items: insert_first(items, "tail"),
    "moved": lambda items: items.move(2, 0),
    "renamed": lambda items: setattr(items[0], "name", "arm"),
}


@pytest.fixture
def shot(tmp_path: Path) -> Path:
    """A file with an animated override of the rig in library.blend beside it, saved and open."""
    make_library_rig()
    animate(override_again(linked(tmp_path)))
    path = tmp_path / "shot.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path


@contextmanager
def handlers_off(name: str) -> Iterator[None]:
    handlers = getattr(bpy.app.handlers, name)
    before = list(handlers)
    handlers.clear()
    yield
    handlers.extend(before)


def library_of(shot: Path) -> Path:
    return shot.with_name("library.blend")


STILL = [0.9, 9.0, 0.0, 0.9]
"""What nothing animates in ``shown``."""


@pytest.mark.parametrize("how", CHANGES)
def test_chains_and_handles_keep_their_animation_when_the_library_was_changed(shot: Path, how: str) -> None:
    """Blender finds the animated settings by index: those of a removed chain were the next one's."""
    before = shown(our_override())
    assert list(before.values()) == [[0.1, 2.0, 0.1, 0.01], [0.2, 3.0, 0.2, 0.02], [0.3, 4.0, 0.3, 0.03]]
    assert read_by_drivers() == [0.1, 0.2, 0.3]
    change_library(library_of(shot), CHANGES[how])
    for _ in range(2):
        bpy.ops.wm.open_mainfile(filepath=str(shot))
        armature = our_override()
        after = shown(armature)
        assert after == {name: before.get(name, STILL) for name in after}
        assert read_by_drivers()[1:] == [0.2, 0.3]
        is_gone = NAMES[0] not in after
        assert any('"' in path for path in paths_of(armature)) == is_gone
        assert len(keys_of(armature.animation_data.action)) == 6
        bpy.ops.wm.save_mainfile()


def test_keys_of_a_chain_that_is_gone_find_it_when_it_is_back(shot: Path) -> None:
    armature = our_override()
    keys, before = keys_of(armature.animation_data.action), shown(armature)
    change_library(library_of(shot), CHANGES["removed"])
    bpy.ops.wm.open_mainfile(filepath=str(shot))
    bpy.ops.wm.save_mainfile()
    change_library(library_of(shot), lambda items: insert_first(items, NAMES[0]))
    bpy.ops.wm.open_mainfile(filepath=str(shot))
    armature = our_override()
    assert shown(armature) == before and read_by_drivers() == [0.1, 0.2, 0.3]
    assert keys_of(armature.animation_data.action) == keys
    assert paths_of(armature) == {f"fabrik.chains[{n}].influence" for n in range(3)} | {
        f"fabrik.body.handles[{n}].slack" for n in range(3)
    }


@pytest.mark.parametrize("how", CHANGES)
def test_a_library_that_is_reloaded_takes_no_animation_along(shot: Path, how: str) -> None:
    before = shown(our_override())
    kept = shutil.copy(library_of(shot), shot.with_name("kept.blend"))
    change_library(library_of(shot), CHANGES[how])
    changed = shutil.copy(library_of(shot), shot.with_name("changed.blend"))
    shutil.copy(kept, library_of(shot))
    bpy.ops.wm.open_mainfile(filepath=str(shot))
    for file in (changed, kept):
        shutil.copy(file, library_of(shot))
        bpy.data.libraries[0].reload()
        after = shown(our_override())
        assert after == {name: before.get(name, STILL) for name in after}
        assert read_by_drivers()[1:] == [0.2, 0.3]
    assert after == before and read_by_drivers()[0] == 0.1
    assert not any('"' in path for path in paths_of(our_override()))


@pytest.mark.parametrize("is_saved", [True, False])
def test_saving_leaves_what_is_open_as_it_is(shot: Path, is_saved: bool) -> None:
    """Panels show keys by index, and a pose that isn't keyed stays."""
    armature = our_override()
    enter_pose_mode(armature)
    bone = armature.pose.bones["bone1"]
    bone.rotation_mode = "XYZ"
    bone.keyframe_insert("rotation_euler", frame=1)
    bone.rotation_euler.x, armature.fabrik.chains[1].influence = 0.7, 0.55
    update()
    keys = keys_of(armature.animation_data.action)
    drivers = [curve.data_path for curve in armature.animation_data.drivers]
    if is_saved:
        bpy.ops.wm.save_mainfile()
    else:
        with pytest.raises(RuntimeError):
            bpy.ops.wm.save_as_mainfile(filepath=str(shot.with_name("missing") / "shot.blend"))
    update()
    assert keys_of(armature.animation_data.action) == keys
    assert [curve.data_path for curve in armature.animation_data.drivers] == drivers
    assert bone.rotation_euler.x == pytest.approx(0.7)
    assert armature.fabrik.chains[1].influence == pytest.approx(0.55)


def test_keys_of_an_overrides_own_chain_go_with_it_when_its_name_is_numbered(shot: Path) -> None:
    """The library has got a chain of its name."""
    armature = our_override()
    enter_pose_mode(armature)
    chain = add_chain(armature, "bone0", 1)
    chain.name, chain.influence = "tail", 0.45
    chain.keyframe_insert("influence", frame=1)
    leave_mode()
    bpy.ops.wm.save_mainfile()
    change_library(library_of(shot), CHANGES["inserted"])
    for _ in range(2):
        bpy.ops.wm.open_mainfile(filepath=str(shot))
        chains = our_override().fabrik.chains
        chains["tail"].influence = chains["tail.001"].influence = 0.9
        bpy.context.scene.frame_set(1)
        assert chains["tail.001"].influence == pytest.approx(0.45)
        assert chains["tail"].influence == pytest.approx(0.9)
        bpy.ops.wm.save_mainfile()


def test_curves_that_animate_another_object_too_stay(shot: Path) -> None:
    first = our_override()
    other: Any = make_tail(2, "other")
    add_chain(other, "bone1", 2)
    leave_mode()
    other.animation_data_create().action = first.animation_data.action
    other.animation_data.action_slot = first.animation_data.action_slot
    bpy.ops.wm.save_mainfile()
    change_library(library_of(shot), CHANGES["moved"])
    bpy.ops.wm.open_mainfile(filepath=str(shot))
    other = bpy.data.objects["other"]
    assert other.fabrik.chains[0].influence == pytest.approx(0.1)
    assert "fabrik.chains[0].influence" in paths_of(other)


def test_an_action_that_nothing_uses_finds_the_chains_when_it_is_used_again(shot: Path) -> None:
    armature = our_override()
    before = shown(armature)
    action = armature.animation_data.action
    action.use_fake_user, armature.animation_data.action = True, bpy.data.actions.new("other")
    name = action.name
    bpy.ops.wm.save_mainfile()
    change_library(library_of(shot), CHANGES["removed"])
    bpy.ops.wm.open_mainfile(filepath=str(shot))
    armature = our_override()
    armature.animation_data.action = bpy.data.actions[name]
    armature.animation_data.action_slot = bpy.data.actions[name].slots[0]
    assert shown(armature) == {chain: before[chain] for chain in NAMES[1:]}


def test_drivers_of_the_library_itself_stay_its_own(tmp_path: Path) -> None:
    armature = make_library_rig()
    armature.fabrik.chains[1].driver_add("softness").driver.expression = "0.25"
    override_again(linked(tmp_path))
    shot = tmp_path / "shot.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(shot))
    assert [curve.data_path for curve in our_override().animation_data.drivers] == ["fabrik.chains[1].softness"]
    bpy.ops.wm.open_mainfile(filepath=str(library_of(shot)))
    armature = bpy.data.objects["Rig"]
    enter_pose_mode(armature)
    armature.fabrik.active_index = 0
    assert bpy.ops.pose.fabrik_chain_remove() == {"FINISHED"}
    leave_mode()
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.open_mainfile(filepath=str(shot))
    update()
    armature = our_override()
    assert [curve.data_path for curve in armature.animation_data.drivers] == ["fabrik.chains[0].softness"]
    assert [round(chain.softness, 4) for chain in armature.fabrik.chains] == [0.25, 0.0]


@pytest.mark.parametrize("change", ["removed", "renamed"])
def test_a_file_that_is_saved_without_handlers_has_no_places_of_before(shot: Path, change: str) -> None:
    """Autosaves call none: with the places of before a renamed chain, or one behind a removed one, lost its keys."""
    armature = our_override()
    enter_pose_mode(armature)
    for name in ("first", "second", "third"):
        chain = armature.fabrik.chains.add()
        chain.name, chain.influence = name, 0.4
        chain.keyframe_insert("influence", frame=1)
    bpy.ops.wm.save_mainfile()
    if change == "removed":
        armature.fabrik.active_index = 3
        assert bpy.ops.pose.fabrik_chain_remove() == {"FINISHED"}
    else:
        armature.fabrik.chains["third"].name = "last"
    names = ["second", "third"] if change == "removed" else ["first", "second", "last"]
    leave_mode()
    copy = shot.with_name("copy.blend")
    with handlers_off("save_pre"):
        bpy.ops.wm.save_as_mainfile(filepath=str(copy), copy=True)
    bpy.ops.wm.open_mainfile(filepath=str(copy))
    chains = our_override().fabrik.chains
    for chain in chains:
        chain.influence = 0.9
    bpy.context.scene.frame_set(1)
    assert {round(chains[name].influence, 4) for name in names} == {0.4}
    assert [round(chains[name].influence, 4) for name in NAMES] == [0.1, 0.2, 0.3]


def test_an_override_of_an_override_keeps_its_animation(tmp_path: Path) -> None:
    """Blender saves no setting that is as in the overridden object: the names were those that this one has now."""
    make_library_rig()
    override_again(linked(tmp_path)).name = "Mid"
    middle, last = tmp_path / "middle.blend", tmp_path / "last.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(middle))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    with bpy.data.libraries.load(str(middle), link=True) as (_, wanted):
        wanted.objects = ["Mid"]
    armature = override_again(bpy.data.objects["Mid"])
    armature.name = "Last"
    for number, chain in enumerate(armature.fabrik.chains):
        chain.influence = 0.1 + 0.1 * number
        chain.keyframe_insert("influence", frame=1)
    bpy.ops.wm.save_as_mainfile(filepath=str(last))
    change_library(tmp_path / "library.blend", CHANGES["removed"])
    for path in (middle, last):
        bpy.ops.wm.open_mainfile(filepath=str(path))
        bpy.ops.wm.save_mainfile()
    armature = next(obj for obj in bpy.data.objects if obj.name == "Last" and obj.library is None)
    for chain in armature.fabrik.chains:
        chain.influence = 0.9
    bpy.context.scene.frame_set(1)
    assert [round(armature.fabrik.chains[name].influence, 4) for name in NAMES[1:]] == [0.2, 0.3]


def test_a_chain_that_was_made_anew_keeps_its_own_keys(shot: Path) -> None:
    """The kept keys of the chain that was gone got the same path, and Blender evaluated only the new ones."""
    change_library(library_of(shot), CHANGES["removed"])
    bpy.ops.wm.open_mainfile(filepath=str(shot))
    armature = our_override()
    chain = armature.fabrik.chains.add()
    chain.name, chain.influence = NAMES[0], 0.77
    chain.keyframe_insert("influence", frame=1)
    bpy.ops.wm.save_mainfile()
    change_library(library_of(shot), lambda items: insert_first(items, "tail"))
    bpy.ops.wm.open_mainfile(filepath=str(shot))
    armature = our_override()
    paths = [path for path, _ in keys_of(armature.animation_data.action)]
    assert (
        len(paths) == len(set(paths)) and f"fabrik.chains[{armature.fabrik.chains.find(NAMES[0])}].influence" in paths
    )
    bpy.context.scene.frame_set(1)
    assert armature.fabrik.chains[NAMES[0]].influence == pytest.approx(0.77)


def test_keys_of_chains_without_a_name_go_along() -> None:
    armature = make_library_rig()
    for number, (chain, name) in enumerate(zip(armature.fabrik.chains, ("one", "", "three"), strict=True)):
        chain.name, chain.influence = name, 0.1 + 0.1 * number
        chain.keyframe_insert("influence", frame=1)
    enter_pose_mode(armature)
    armature.fabrik.active_index = 0
    assert bpy.ops.pose.fabrik_chain_remove() == {"FINISHED"}
    for chain in armature.fabrik.chains:
        chain.influence = 0.9
    bpy.context.scene.frame_set(1)
    assert [round(chain.influence, 4) for chain in armature.fabrik.chains] == [0.2, 0.3]
    assert paths_of(armature) == {"fabrik.chains[0].influence", "fabrik.chains[1].influence"}
