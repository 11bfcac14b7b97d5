# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
import bpy

chain = bpy.context.object.fabrik.chains[bpy.context.object.fabrik.active_index]
chain.solver = 'CCD'
chain.influence = 1.0
chain.softness = 0.0
chain.use_stretch = False
chain.stretch_max = 1.5
chain.root_motion = 'FIXED'
chain.iterations = 200
chain.tolerance = 0.0001
