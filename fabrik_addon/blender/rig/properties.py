# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings on an armature object: its chains, and what they share; those of its body are in ``body_properties``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import bpy
from bpy.props import EnumProperty, FloatProperty, IntProperty
from bpy.types import Context, Object, PropertyGroup

from ...core import FabrikError, Status
from ...core.solvers.names import SOLVER_NAMES
from ..bones.bone_selection import select_and_show
from .body_properties import FabrikBody
from .bone_keys import named_by_key
from .property_updates import (
    OWN_CONTEXT,
    OverridableBoolProperty,
    OverridableCollectionProperty,
    OverridableEnumProperty,
    OverridableFloatProperty,
    OverridableFloatVectorProperty,
    OverridableIntProperty,
    OverridablePointerProperty,
    OverridableStringProperty,
    show_change,
)

if TYPE_CHECKING:
    from .last_results import Result

_STATUS_ITEMS = (
    ('NONE', "Not Solved", "The chain has not been solved yet"),
    ('REACHED', "Reached", "The tip is at the target"),
    ('OUT_OF_REACH', "Out of Reach", "The target is too far from the chain's root, or too near to it"),
    ('LIMITED', "Limited", "Joint limits or locks keep the tip away from the target"),
    ('STALLED', "Stalled", "The solver stopped before the tip was at the target; solve again to go on"),
)

STATUS_NAMES = {identifier: name for identifier, name, _ in _STATUS_ITEMS}

SOLVER_ITEMS = tuple((name, *words) for name, words in SOLVER_NAMES.items())


def _last_result(chain: FabrikChain) -> Result | None:
    from .last_results import result_of

    return result_of(chain.id_data, chain.name)


def _get_status(chain: FabrikChain) -> int:
    result = _last_result(chain)
    return 0 if result is None else 1 + Status[result.status]


def _get_error(chain: FabrikChain) -> float:
    result = _last_result(chain)
    return 0.0 if result is None else result.error


def _get_iterations_used(chain: FabrikChain) -> int:
    result = _last_result(chain)
    return 0 if result is None else result.iterations


def number_name(chain: FabrikChain, _context: Context | None = None) -> None:
    """Number the name of a chain if another one has it: results and library overrides find chains by their names."""
    taken = {other.name for other in chain.id_data.fabrik.chains if other != chain}
    name, number = chain.name, 0
    while name in taken:
        number += 1
        name = f"{chain.name}.{number:03d}"
    if name != chain.name:
        chain.name = name
    forget_places(cast(Object, chain.id_data))


def forget_places(armature: Object) -> None:
    """WRITE: no names of an override's items in their places, since these have changed; the next saving stores them."""
    if settings_of(armature).named:
        settings_of(armature).named = ""


OVERLAY_HANDLERS: list[Callable[[], None]] = []
"""Functions that are called after the overlay of an armature has been enabled or disabled."""


_get_tip, _keep_tip_key = named_by_key("id_data", "tip")
_get_subtarget, _keep_subtarget_key = named_by_key("target", "subtarget")
_get_pole_subtarget, _keep_pole_subtarget_key = named_by_key("pole_target", "pole_subtarget")


def _share_root_motion(chain: FabrikChain, _context: Context) -> None:
    """Set the root motion of all chains of a tree: they have one root."""
    from .connected_chains import chains_of_tree

    for other in chains_of_tree(chain, list(chain.id_data.fabrik.chains)):
        if other.root_motion != chain.root_motion:
            other.root_motion = chain.root_motion


def _keep_offset(chain: FabrikChain, context: Context) -> None:
    """Take the offset at which enabling the rotation changes nothing, and the pole shape of the bones that bend now."""
    from ..bones.rotation_channel import rotation_in_armature
    from .keep_bend import keep_bend_at_switch

    armature: Object = chain.id_data  # type: ignore[assignment]  # the stub has the base class of all data-blocks
    bone = armature.pose.bones.get(chain.tip)
    if chain.use_rotation and bone is not None and chain.target is not None:
        target = rotation_in_armature(armature, chain.target, chain.subtarget)
        if math.isfinite(target.w):
            chain.rotation_offset = target.conjugated() @ bone.matrix.to_quaternion()
    if bone is not None and chain.pole_target is not None and context.view_layer is not None:
        keep_bend_at_switch(context.view_layer, armature, chain)


class FabrikChain(PropertyGroup):
    """A chain of bones and where it should reach; names as in KinematicConstraint where the meaning is the same"""

    name: OverridableStringProperty(name="Name", description="Name of the chain", update=number_name)
    enabled: OverridableBoolProperty(
        name="Enabled",
        description="Solve this chain together with the others",
        default=True,
        update=show_change,
    )
    tip: OverridableStringProperty(
        name="Tip",
        description="Last bone of the chain",
        get_transform=_get_tip,
        update=_keep_tip_key,
    )
    tip_key: OverridableIntProperty(
        name="Tip Key",
        description="Key of the tip bone, by which it is found when it was renamed; 0 is none",
        options={'HIDDEN'},
    )
    chain_count: OverridableIntProperty(
        name="Chain Length",
        translation_context=OWN_CONTEXT,  # Blender's own translations are too long for the sidebar
        description="How many bones the chain has, counted from the tip up; 0 uses all bones up to the armature's root",
        default=2,
        min=0,
        soft_max=50,
        update=show_change,
    )
    use_tail: OverridableBoolProperty(
        name="Use Tail",
        translation_context=OWN_CONTEXT,
        description="End the chain at the tip bone's tail; otherwise at its head, and the tip bone doesn't rotate",
        default=True,
        update=show_change,
    )
    target: OverridablePointerProperty(
        type=Object,
        name="Target",
        description="Object that the end of the chain reaches for",
        update=_keep_subtarget_key,
    )
    subtarget: OverridableStringProperty(
        name="Bone",
        description="Bone of the target armature whose head is the target",
        get_transform=_get_subtarget,
        update=_keep_subtarget_key,
    )
    subtarget_key: OverridableIntProperty(
        name="Bone Key",
        description="Key of the target bone, by which it is found when it was renamed; 0 is none",
        options={'HIDDEN'},
    )
    use_pin: OverridableBoolProperty(
        name="Pin",
        description="Hold the chain's end in place while other chains are solved; no target is needed",
        default=False,
        update=show_change,
    )
    weight: OverridableFloatProperty(
        name="Weight",
        description="Weight of this chain against those it shares bones with, where not all targets can be reached",
        default=1.0,
        min=0.01,
        soft_max=1.0,
        max=100.0,
    )
    use_rotation: OverridableBoolProperty(
        name="Rotation",
        description="Rotate the tip bone with the target, with the offset that it has when this is enabled",
        default=False,
        update=_keep_offset,
    )
    rotation_offset: OverridableFloatVectorProperty(
        name="Rotation Offset",
        description="Rotation of the tip bone in the target's local space",
        size=4,
        subtype='QUATERNION',
        default=(1.0, 0.0, 0.0, 0.0),
    )
    pole_target: OverridablePointerProperty(
        type=Object,
        name="Pole",
        description="Object toward which the chain bends",
        update=_keep_pole_subtarget_key,
    )
    pole_subtarget: OverridableStringProperty(
        name="Pole Bone",
        description="Bone of the pole's armature whose head is the pole",
        get_transform=_get_pole_subtarget,
        update=_keep_pole_subtarget_key,
    )
    pole_subtarget_key: OverridableIntProperty(
        name="Pole Bone Key",
        description="Key of the pole bone, by which it is found when it was renamed; 0 is none",
        options={'HIDDEN'},
    )
    pole_angle: OverridableFloatProperty(
        name="Pole Angle",
        description="Rotation of the bend away from the pole, about the line from the chain's root to its target",
        subtype='ANGLE',
        default=0.0,
        soft_min=-math.pi,
        soft_max=math.pi,
    )
    pole_shape: OverridableStringProperty(
        name="Pole Shape",
        description="Directions of the bones in the pose through which the poses with the pole pass, of a chain that "
        "bends to both sides or in several planes; JSON",
        options={'HIDDEN'},
    )
    influence: OverridableFloatProperty(
        name="Influence",
        description="Blend of each bone's rotation between the pose before the solve (0) and the solved pose (1)",
        default=1.0,
        min=0.0,
        max=1.0,
        subtype='FACTOR',
    )
    softness: OverridableFloatProperty(
        name="Softness",
        description="Ease into full extension over this part of the reach, so that elbows and knees don't pop",
        default=0.0,
        min=0.0,
        max=0.5,
        subtype='FACTOR',
        update=show_change,
    )
    use_stretch: OverridableBoolProperty(
        name="Stretch",
        description="Scale the bones along Y, all by the same factor, where the tip can't reach its target otherwise; "
        "the chain sets the Y scale of its bones, and their children keep their size",
        default=False,
    )
    stretch_max: OverridableFloatProperty(
        name="Stretch Max",
        description="Largest length of a stretched bone, as a factor of its own length",
        default=1.5,
        min=1.0,
        soft_max=3.0,
    )
    root_motion: OverridableEnumProperty(
        name="Root",
        description="What the first bone does when the tip can't reach its target; shared by all chains of a tree",
        items=(
            ('FIXED', "Fixed", "The root stays in place"),
            ('TRANSLATE', "Follows", "The root moves by the distance that the tip would be away from its target"),
        ),
        default='FIXED',
        update=_share_root_motion,
    )
    use_limits: OverridableBoolProperty(
        name="Joint Limits",
        description="Keep to the IK limits, locks and stiffness of the bones, to rotation locks, "
        "and to Limit Rotation constraints in local space",
        default=True,
        update=show_change,
    )
    solver: OverridableEnumProperty(
        name="Solver",
        description="Method that solves the chain",
        items=SOLVER_ITEMS,
        default='FABRIK',
    )
    iterations: OverridableIntProperty(
        name="Iterations",
        description="Largest number of iterations of the solver",
        default=64,
        min=1,
        soft_max=500,
    )
    tolerance: OverridableFloatProperty(
        name="Tolerance",
        description="Distance from tip to target that counts as reached, as a share of the chain's length",
        default=1e-4,
        min=1e-6,
        max=1.0,
        precision=6,
        update=show_change,
    )

    native_rig: OverridablePointerProperty(
        type=Object,
        name="Native Rig",
        description="Object that solves the chain where it is a native rig",
        options={'HIDDEN'},
    )
    conversion: OverridableStringProperty(
        name="Conversion",
        description="What the conversion of a constraint to this chain has changed, for the way back; JSON",
        options={'HIDDEN'},
    )
    status: EnumProperty(name="Status", description="How the last solve ended", items=_STATUS_ITEMS, get=_get_status)
    error: FloatProperty(
        name="Error",
        description="Distance from tip to target after the last solve, as a share of the chain's length",
        precision=6,
        get=_get_error,
    )
    iterations_used: IntProperty(
        name="Iterations Used", description="Number of iterations of the last solve", get=_get_iterations_used
    )


def _show_or_hide(_settings: FabrikSettings, _context: Context) -> None:
    for handler in OVERLAY_HANDLERS:
        handler()


def _get_list_index(settings: FabrikSettings) -> int:
    return settings.active_index


def _set_list_index(settings: FabrikSettings, index: int) -> None:
    """Store the index of the active chain, and no more: Blender calls this also while it loads a library override.

    Then the object isn't whole yet. To set a property, which updates it, ended Blender where the library's armature has
    other bones than before.
    """
    settings.bl_system_properties_get(do_create=True)["active_index"] = index


def _select_tip(settings: FabrikSettings, context: Context) -> None:
    """Select the bone at which the active chain ends, in Pose mode, where a person or a script has chosen it."""
    show_change(settings, context)
    armature = cast(Object, settings.id_data)
    chain = active_chain(armature)
    bone = None if chain is None else armature.pose.bones.get(chain.tip)
    if bone is not None and armature.mode == 'POSE':
        select_and_show(armature, bone)


class FabrikSettings(PropertyGroup):
    """The chains and the body of an armature object"""

    chains: OverridableCollectionProperty(type=FabrikChain, name="Chains")
    named: OverridableStringProperty(
        name="Named",
        description="Names of a library override's chains and handles in the places that its keys mean; JSON",
        options={'HIDDEN'},
    )
    body: OverridablePointerProperty(type=FabrikBody, name="Body")
    active_index: OverridableIntProperty(name="Active Chain", default=0, min=0, update=show_change)
    list_index: OverridableIntProperty(
        name="Active Chain",
        description="The chain that is chosen in the list; choosing it selects the bone at which it ends",
        options={'SKIP_SAVE'},
        get=_get_list_index,
        set=_set_list_index,
        update=_select_tip,
    )
    use_target_bones: OverridableBoolProperty(
        name="Bone Targets",
        description="Make new targets and poles as bones of the armature, in a bone collection of their own, "
        "instead of empties",
        default=False,
    )
    show_handles: OverridableBoolProperty(
        name="Handles",
        description="Show handles of targets and poles in Pose Mode: dragged with the mouse, they pose their chains",
        default=True,
        update=show_change,
    )
    show_overlay: OverridableBoolProperty(
        name="Overlay",
        description="Show joints, reach, poles, joint limits, pins and the distance to targets in the viewport",
        default=False,
        update=_show_or_hide,
    )


def settings_of(armature: Object) -> FabrikSettings:
    """Return the settings of an armature object."""
    return armature.fabrik  # type: ignore[attr-defined]


def is_gone(goal: Object | None) -> bool:
    """Tell whether there is no target or pole, or one that was deleted: the chain still has it, but no scene does."""
    return goal is None or not goal.users_scene


def active_chain(armature: Object) -> FabrikChain | None:
    """Return the chain that is chosen in the list, or None."""
    settings = settings_of(armature)
    if 0 <= settings.active_index < len(settings.chains):
        return settings.chains[settings.active_index]
    return None


def shown_armature(context: Context) -> Object | None:
    """Return the active armature, or that with a chain whose target or pole the active object is; None without."""
    obj = context.object
    if obj is None or obj.type == 'ARMATURE':
        return obj
    armatures = (other for other in context.view_layer.objects if other.type == 'ARMATURE')
    return next((armature for armature in armatures if _reaches_for(armature, obj)), None)


def _reaches_for(armature: Object, obj: Object) -> bool:
    return any(obj in (chain.target, chain.pole_target) for chain in settings_of(armature).chains)


def chosen_chains(armature: Object, only_active: bool) -> list[FabrikChain]:
    """Return the chains an operator is about.

    Raises:
        FabrikError: there are none.
    """
    if only_active:
        chain = active_chain(armature)
        if chain is None:
            raise FabrikError(f"No chain of '{armature.name}' is active: choose one in the list")
        return [chain]
    chains = [chain for chain in settings_of(armature).chains if chain.enabled]
    if not chains:
        raise FabrikError(f"All chains of '{armature.name}' are disabled: enable one in the list")
    return chains


_register_classes, _unregister_classes = bpy.utils.register_classes_factory(  # type: ignore[misc]
    (FabrikChain, FabrikSettings)
)


def register() -> None:
    _register_classes()  # type: ignore[has-type]
    Object.fabrik = OverridablePointerProperty(type=FabrikSettings, name="FABRIK IK")  # type: ignore[attr-defined]


def unregister() -> None:
    del Object.fabrik  # type: ignore[attr-defined]
    _unregister_classes()  # type: ignore[has-type]
