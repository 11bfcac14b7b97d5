# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface in other languages: registers the texts, and translates messages that were put together."""
