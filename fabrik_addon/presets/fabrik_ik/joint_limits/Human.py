# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A person's joints: kinds of usual joints by the part that a bone is, see setup/usual_limits.py."""

ROLES = {
    "SPINE": "SPINE",
    "CHEST": "SPINE",
    "NECK": "NECK",
    "HEAD": "NECK",
    "CLAVICLE": "CLAVICLE",
    "UPPER_ARM": "SHOULDER",
    "FOREARM": "ELBOW",
    "HAND": "WRIST",
    "FINGER": "FINGER",
    "THIGH": "HIP",
    "SHIN": "KNEE",
    "FOOT": "ANKLE",
}
