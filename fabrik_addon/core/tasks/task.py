# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""All kinds of tasks of a tree.

A task has a residual at a pose, which has ``rows`` components, and its Jacobian, for which it needs the motions of its
``moved_joints``. Some have more: ``off``, the angle by which the task isn't met; ``partly``, the task that asks for a
share of the residual; and their part of K, by ``moments`` of their forces and by their ``own_curvature``.
"""

from typing import TypeAlias

from .balance_task import BalanceTask
from .floor_task import FloorTask
from .look_at_task import LookAtTask
from .orientation_task import OrientationTask
from .pole_task import PoleTask
from .position_task import PositionTask
from .swivel_task import SwivelTask

Task: TypeAlias = PositionTask | OrientationTask | PoleTask | BalanceTask | FloorTask | LookAtTask | SwivelTask
