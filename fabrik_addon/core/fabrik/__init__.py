# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""FABRIK (Aristidou and Lasenby 2011) on unconstrained chains and trees, and what makes it robust."""
