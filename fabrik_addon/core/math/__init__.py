# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Vectors, quaternions, and the operations on floats or arrays that all kernels are written over."""
