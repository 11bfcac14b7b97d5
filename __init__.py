# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Extension entry point: Blender wants ``__init__.py`` beside the manifest."""


def register() -> None:
    from . import fabrik_addon

    fabrik_addon.register()


def unregister() -> None:
    from . import fabrik_addon

    fabrik_addon.unregister()
