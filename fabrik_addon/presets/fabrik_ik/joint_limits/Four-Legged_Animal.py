# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A dog's joints by the part that a bone is; a pair is the angle of the bent and of the straight joint, in degrees.

The angles are those between the two bones, measured on Labradors: Jaegger, Marcellin-Little and Levine, Reliability of
goniometry in Labrador Retrievers, American Journal of Veterinary Research 63(7), 2002.
"""

ROLES = {
    "SPINE": "SPINE",
    "CHEST": "SPINE",
    "NECK": "NECK",
    "HEAD": "NECK",
    "UPPER_ARM": [57, 165],
    "FOREARM": [36, 165],
    "HAND": [32, 196],
    "THIGH": "HIP",
    "SHIN": [42, 162],
    "FOOT": [39, 164],
    "TAIL": "TAIL",
}
