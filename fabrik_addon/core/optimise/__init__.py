# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Least squares on joint coordinates within joint limits: steps and descents, for a chain and for a tree.

Letters that mean the same in these modules and in those of ``tasks``, ``trees`` and ``within_limits``:

- q, the joint coordinates of a pose; q0, those of the reference pose; dq, their change in a step. There are N: of a
  bone with limits those of swing and twist, or the Euler angles, that aren't locked, of a free bone of a tree the
  components of a rotation vector. A tree has S more, x, y and z of the shifts of its R roots; S is 0 where roots don't
  move.
- r, the residual of a task: the way from its value to where the value should be. ``J = -dr/dq``. All tasks have M rows.
- W, the diagonal matrix (N + S) of how readily coordinates change: stiff ones less. P, that of their weights in the
  posture task, which holds q near q0: W^-1 times weights of the bones, or W^-1 alone (``TreeCoordinates.metric`` where
  tasks are held).
- w, the weight of a task's squared residual; Omega, the diagonal matrix (M) of those weights, less where a force is
  bounded; ``f = Omega r``, the forces; F, the bound of a force. K, what the curvature of tasks adds to ``J^T Omega J``.

A Y is a tree of a trunk with two arms, each of three or four bones.

In shapes J is the number of joints, not the Jacobian, B of bones that can rotate, L of bones with limits; ``...`` or F
before these stands for the poses of a batch, not for the bound of a force. In ``within_limits`` the modules
``nearest_pose``, ``constrained_reach`` and ``shape_family`` have letters and shapes of their own.
"""
