# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar draws in every state: no chains, chains, solved or not, in and out of Pose mode, and all it names exists.

Blender makes the panels, in a window; here their functions draw on a layout that writes down and checks every call.
"""

from __future__ import annotations

from types import FunctionType, MethodType, SimpleNamespace
from typing import Any

import bpy
import pytest
from bpy.types import Panel

from fabrik_addon.blender.interface import body_panel
from fabrik_addon.blender.interface import chain_panel as panel
from fabrik_addon.blender.interface import compare_panel as compare_interface
from fabrik_addon.blender.interface.body_tool import FabrikBodyPose
from fabrik_addon.blender.rig.last_results import Result, keep_result
from fabrik_addon.blender.solving.compare_solvers import Compared, keep_comparison
from fabrik_addon.core.solvers.names import SOLVER_NAMES
from tests.blender.rigs import add_chain, make_empty, make_tail, update

LAYOUT = bpy.types.UILayout.bl_rna
PARTS = ("row", "column", "column_flow", "grid_flow", "box", "split", "menu_pie")


class Layout:
    """Takes the calls that a UILayout takes; the ones with something to see are written down."""

    def __init__(self, drawn: list[tuple[str, str]]) -> None:
        object.__setattr__(self, "drawn", drawn)

    def __setattr__(self, name: str, value: Any) -> None:
        assert name in LAYOUT.properties, name
        if name == "active" and not value:
            self.drawn.append(("grey", ""))

    def __getattr__(self, name: str) -> Any:
        check = getattr(self, f"check_{name}") if f"check_{name}" in vars(Layout) else None

        def call(*args: Any, **options: Any) -> Any:
            known = LAYOUT.functions[name].parameters
            inputs = [parameter.identifier for parameter in known if not parameter.is_output]
            given = dict(zip(inputs, args, strict=False)) | options
            assert given.keys() <= set(inputs), (name, given.keys() - set(inputs))
            if "icon" in given:
                assert given["icon"] in known["icon"].enum_items, given["icon"]
            if check is not None:
                return check(**given)
            assert name in PARTS or name.startswith("separator"), f"nothing here checks {name}"
            return Layout(self.drawn)

        return call

    def check_label(self, text: str = "", icon: str = "NONE") -> None:
        assert text or icon != "NONE"
        self.drawn.append(("label", text))

    def check_prop(self, data: Any, property: str, **_options: Any) -> None:
        assert property in data.bl_rna.properties, property
        self.drawn.append(("prop", property))

    def check_prop_search(self, data: Any, property: str, search_data: Any, search_property: str, **_: Any) -> None:
        self.check_prop(data, property)
        assert search_property in search_data.bl_rna.properties, search_property

    def check_panel(self, idname: str, default_closed: bool = False) -> tuple[Layout, Layout | None]:
        self.drawn.append(("panel", idname))
        return Layout(self.drawn), None if default_closed else Layout(self.drawn)

    def check_operator(self, operator: str, text: str = "", **_options: Any) -> Any:
        self.drawn.append(("operator", operator))
        options = OperatorOptions(operator)
        if operator == "wm.tool_set_by_id":
            object.__setattr__(options, "title", FabrikBodyPose.bl_label)
        # One name for an operator; what the button does of it may follow, "..." where it opens a dialog.
        assert text == "" or text.startswith(options.title), f"{text} is {options.title}"
        return options

    def check_menu(self, menu: str, **_options: Any) -> None:
        self.drawn.append(("menu", menu))

    def check_operator_menu_enum(self, operator: str, property: str, **_options: Any) -> Any:
        options = self.check_operator(operator, _options.get("text", ""))
        assert options.known[property].type == "ENUM"
        return options

    def check_template_list(
        self,
        listtype_name: str,
        list_id: str,
        dataptr: Any,
        propname: str,
        active_dataptr: Any,
        active_propname: str,
        **_options: Any,
    ) -> None:
        assert active_propname in active_dataptr.bl_rna.properties
        self.drawn.append(("list", propname))
        drawer = getattr(body_panel if hasattr(body_panel, listtype_name) else panel, listtype_name)
        assert drawer.is_registered
        for item in getattr(dataptr, propname):
            drawer.draw_item(None, bpy.context, self, dataptr, item, 0, active_dataptr, active_propname)


class OperatorOptions:
    """Takes the options that an operator has."""

    def __init__(self, operator: str) -> None:
        module, _, name = operator.partition(".")
        rna = getattr(getattr(bpy.ops, module), name).get_rna_type()
        object.__setattr__(self, "known", rna.properties)
        object.__setattr__(self, "title", rna.name)

    def __setattr__(self, name: str, value: Any) -> None:
        assert name in self.known, name


class Drawing:
    """Stands for a panel, which only Blender can make: its functions, and a layout."""

    def __init__(self, kind: type[Panel], drawn: list[tuple[str, str]]) -> None:
        self.kind, self.layout = kind, Layout(drawn)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.kind, name)
        return MethodType(found, self) if isinstance(found, FunctionType) else found


def registered(base: type) -> list[Any]:
    kinds = [kind for module in MODULES for kind in vars(module).values()]
    return [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, base) and kind != base]


MODULES = (panel, compare_interface)  # parents come first
PANELS = [kind for kind in registered(Panel) if kind.__name__.startswith("VIEW3D_PT_")]


def draw() -> dict[str, list[tuple[str, str]]]:
    """What every panel that is drawn shows, by the panel's label."""
    shown: dict[str, list[tuple[str, str]]] = {}
    refused: set[str] = set()
    for kind in PANELS:  # parents come first
        assert kind.is_registered
        if getattr(kind, "bl_parent_id", "") in refused or not kind.poll(bpy.context):
            refused.add(kind.__name__)
            continue
        drawn = shown[kind.bl_label] = []
        if hasattr(kind, "draw_header"):
            kind.draw_header(Drawing(kind, drawn), bpy.context)
        kind.draw(Drawing(kind, drawn), bpy.context)
    return shown


def draw_in_both_modes() -> dict[str, list[tuple[str, str]]]:
    """Draw in Pose mode and out of it; return what is shown in Pose mode."""
    assert bpy.context.mode == "POSE"
    shown = draw()
    bpy.ops.object.mode_set(mode="OBJECT")
    outside = draw()
    assert ("label", "Switch to Pose Mode") in outside["FABRIK IK"]
    assert ("label", "Switch to Pose Mode") not in shown["FABRIK IK"]
    assert outside.keys() == shown.keys()
    bpy.ops.object.mode_set(mode="POSE")
    return shown


def labels(drawn: list[tuple[str, str]]) -> str:
    return " ".join(text for kind, text in drawn if kind == "label")


def test_nothing_is_drawn_without_an_armature() -> None:
    assert draw() == {}
    make_empty("nothing")
    bpy.context.view_layer.objects.active = bpy.data.objects["nothing"]
    assert draw() == {}


def test_without_chains_it_says_what_to_do() -> None:
    make_tail()
    shown = draw_in_both_modes()
    assert set(shown) == {"FABRIK IK"}
    assert "press +" in labels(shown["FABRIK IK"])
    assert ("operator", "pose.fabrik_chain_add") in shown["FABRIK IK"]


def test_chains_that_are_not_solved() -> None:
    armature = make_tail(4)
    add_chain(armature, "bone2", 2, create_target=False)
    armature.fabrik.chains[0].enabled = False
    add_chain(armature, "bone3", 4, create_pole=True)
    shown = draw_in_both_modes()
    assert len(shown) == len(PANELS)
    main = shown["FABRIK IK"]
    assert main.count(("prop", "enabled")) == 2
    assert {("operator", "pose.fabrik_solve"), ("operator", "pose.fabrik_snap_target")} <= set(main)
    assert labels(main).split() == ["Not", "Solved"]
    assert ("prop", "tip") in shown["Chain"]
    assert ("prop", "target") in shown["Target"]
    assert ("prop", "subtarget") not in shown["Target"]
    assert ("prop", "pole_angle") in shown["Pole"]
    armature.fabrik.active_index = 0  # without target and pole
    assert len(draw_in_both_modes()) == len(PANELS)


@pytest.mark.parametrize(
    ("target", "locked", "status"),
    [((0.4, 0.9, 1.1), False, "REACHED"), ((9.0, 0.0, 0.0), False, "OUT_OF_REACH"), ((0.4, 0.9, 1.1), True, "LIMITED")],
)
def test_a_chain_that_is_solved_says_how_it_ended(target: tuple[float, ...], locked: bool, status: str) -> None:
    armature = make_tail(3)
    chain = add_chain(armature, "bone2", 3, target)
    for bone in armature.pose.bones:
        bone.lock_ik_x = bone.lock_ik_y = locked
    update()
    bpy.ops.pose.fabrik_solve()
    assert chain.status == status
    said = labels(draw_in_both_modes()["FABRIK IK"]).lower()
    assert status.lower().replace("_", " ") in said


@pytest.mark.parametrize(("pixels", "least", "most"), [(292, 32, 38), (232, 22, 28), (174, 12, 18), (100, 12, 12)])
def test_lines_are_as_long_as_the_sidebar_is_wide(pixels: int, least: int, most: int) -> None:
    """In a narrow one lines of the default width were cut off in their middles, words of the status among them."""
    for scale in (1.0, 1.5):
        region = SimpleNamespace(type="UI", width=pixels * scale)
        preferences = SimpleNamespace(system=SimpleNamespace(ui_scale=scale))
        context: Any = SimpleNamespace(region=region, preferences=preferences)
        width = panel.characters_across(context)
        assert least <= width <= most
        assert panel.status_lines(width) * width >= panel.STATUS_LINES * panel.WRAP_WIDTH
    message = "out of reach, the tip is 55.25 cm from its target: that is 1.174 m from the root, and these bones reach"
    lines = panel.wrapped(message, width)
    assert max(map(len, lines)) <= width and len(lines) <= panel.status_lines(width)


def test_a_chain_that_stretches_says_how_far() -> None:
    armature = make_tail(3)
    chain = add_chain(armature, "bone2", 3, (0.0, 3.6, 0.0))
    chain.use_stretch = True
    update()
    bpy.ops.pose.fabrik_solve()
    shown = draw_in_both_modes()
    assert chain.status == "REACHED" and ", stretched to 11" in labels(shown["FABRIK IK"])
    assert {("prop", "use_stretch"), ("prop", "stretch_max")} <= set(shown["Solver"])
    chain.influence = 0.0
    bpy.ops.pose.fabrik_solve()
    assert "stretched" not in labels(draw_in_both_modes()["FABRIK IK"])


def test_limits_are_shown_to_be_edited_and_constraints_that_are_limits_are_named() -> None:
    armature = make_tail(3)
    add_chain(armature, "bone2", 3)
    shown = draw_in_both_modes()["Joint Limits"]
    for name in ("lock_ik_x", "use_ik_limit_y", "ik_min_z", "ik_max_x"):
        assert shown.count(("prop", name)) == 3
    constraint = armature.pose.bones["bone1"].constraints.new("LIMIT_ROTATION")
    assert "Limited by" not in labels(
        draw_in_both_modes()["Joint Limits"]
    )  # in world space it is no limit of the joint
    constraint.owner_space = "LOCAL"
    assert "Limited by 'Limit Rotation'" in labels(draw_in_both_modes()["Joint Limits"])


def test_every_bone_of_a_long_chain_says_what_it_may_do() -> None:
    """Folded, as they are many: the kind of joint can be seen anyway."""
    armature = make_tail(10)
    add_chain(armature, "bone9", 0)
    bones = armature.pose.bones
    bones["bone1"].lock_ik_x = bones["bone1"].lock_ik_y = True
    bones["bone2"].use_ik_limit_y = True
    bones["bone3"].lock_ik_x = bones["bone3"].lock_ik_y = bones["bone3"].lock_ik_z = True
    shown = draw_in_both_modes()["Joint Limits"]
    assert [name for kind, name in shown if kind == "panel"] == [f"fabrik_limits_bone{i}" for i in range(10)]
    words = [text for kind, text in shown if kind == "label"]
    assert words[:8] == ["bone0", "Free", "bone1", "Hinge Z", "bone2", "Limited Y", "bone3", "Fixed"]
    assert ("prop", "ik_min_x") not in shown


def test_every_status_has_an_icon_and_a_name() -> None:
    armature = make_tail(3)
    chain = add_chain(armature, "bone2", 3)
    for status in chain.bl_rna.properties["status"].enum_items:
        keep_result(armature, chain.name, Result(status.identifier, 0.5, 3, ""))
        assert chain.status == status.identifier
        assert labels(draw_in_both_modes()["FABRIK IK"])


def test_goals_that_are_bones_and_chains_that_are_long_or_broken() -> None:
    armature = make_tail(9)
    chain = add_chain(armature, "bone8", 0)
    chain.target, chain.pole_target = armature, armature
    shown = draw_in_both_modes()
    assert ("prop", "subtarget") in shown["Target"]
    assert ("prop", "pole_subtarget") in shown["Pole"]
    chain.tip = "elbow"
    draw_in_both_modes()
    armature.fabrik.active_index = 5  # none is active
    assert set(draw_in_both_modes()) == {"FABRIK IK"}


def test_the_solver_says_what_it_is_good_for() -> None:
    armature = make_tail(3)
    chain = add_chain(armature, "bone2", 3)
    for name, method in SOLVER_NAMES.items():
        chain.solver = name
        assert method.good_for in labels(draw_in_both_modes()["Solver"])


def test_a_comparison_is_shown_for_its_chain() -> None:
    armature = make_tail(3)
    chain = add_chain(armature, "bone2", 3, (0.4, 0.9, 1.1))
    assert labels(draw_in_both_modes()["Compare"]) == ""
    bpy.ops.pose.fabrik_compare()
    said = labels(draw_in_both_modes()["Compare"])
    assert all(method.label in said for method in SOLVER_NAMES.values())
    assert "two links" in said and "limits" not in said
    keep_comparison(armature, chain.name, [Compared("CCD", "", "LIMITED", 0.1, 3, 0.001, 1.0, violation=0.2)])
    said = labels(draw_in_both_modes()["Compare"])
    assert "Error 10 % after 3 iterations" in said and "Rotations add up to 57\N{DEGREE SIGN}" in said
    assert "1.00 ms" in said
    assert "11.5\N{DEGREE SIGN} beyond its limits" in said and "Not all within the limits" in said
    keep_comparison(armature, chain.name, [Compared("CCD", "", "REACHED", 0.0, 1, 0.001, 1.0)])
    assert "Error 0 % after 1 iteration " in labels(draw_in_both_modes()["Compare"])
