/* SPDX-FileCopyrightText: 2026 FABRIK IK developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The sweep loop of fabrik_addon/core/fabrik/sweeps.py, pose after pose: backward pass, forward pass, stop test. What the
 * batch in numpy is compared with. No mixing: a pose is swept until it is at its target or has had its sweeps.
 */

#include <math.h>

/* Sweep poses in place. joints: poses x (links + 1) x 3, roots at the origin; most: sweeps at most of each pose.
 * Writes the sweeps each pose had and returns their sum. */
long sweep(double *joints, const double *lengths, const double *targets, const int *most, double tolerance, long poses,
           int links, int *sweeps)
{
    long total = 0;
    for (long pose = 0; pose < poses; pose++) {
        double *restrict p = joints + pose * (links + 1) * 3;
        const double tx = targets[pose * 3], ty = targets[pose * 3 + 1], tz = targets[pose * 3 + 2];
        int sweep = 0;
        while (sweep < most[pose]) {
            sweep++;
            double bx = tx, by = ty, bz = tz;
            p[links * 3] = bx;
            p[links * 3 + 1] = by;
            p[links * 3 + 2] = bz;
            for (int j = links - 1; j > 0; j--) {
                const double dx = p[j * 3] - bx, dy = p[j * 3 + 1] - by, dz = p[j * 3 + 2] - bz;
                const double share = lengths[j] / sqrt(dx * dx + dy * dy + dz * dz);
                p[j * 3] = bx = bx + dx * share;
                p[j * 3 + 1] = by = by + dy * share;
                p[j * 3 + 2] = bz = bz + dz * share;
            }
            double ax = p[0], ay = p[1], az = p[2];
            for (int j = 1; j <= links; j++) {
                const double dx = p[j * 3] - ax, dy = p[j * 3 + 1] - ay, dz = p[j * 3 + 2] - az;
                const double share = lengths[j - 1] / sqrt(dx * dx + dy * dy + dz * dz);
                p[j * 3] = ax = ax + dx * share;
                p[j * 3 + 1] = ay = ay + dy * share;
                p[j * 3 + 2] = az = az + dz * share;
            }
            const double ex = ax - tx, ey = ay - ty, ez = az - tz;
            if (sqrt(ex * ex + ey * ey + ez * ez) <= tolerance)
                break;
        }
        sweeps[pose] = sweep;
        total += sweep;
    }
    return total;
}
