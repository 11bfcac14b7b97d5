# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The evidence of names and that of the shape, combined into a role and a confidence for each bone."""

from dataclasses import dataclass, replace

from .anatomy import Guess, ShapeReading
from .bone_names import TRUNK, NameReading
from .creature import ARM, LEG, QUADRUPED, WITH_LIMBS
from .part import Role, Side
from .rest_skeleton import RestSkeleton

RICH = 6
"""Different roles, or bones, whose names have to be read so that a name which tells nothing counts as well."""

UNKNOWN = 0.5
"""Sureness of forward below which nothing tells which limb of a spider is on its left."""

DIGIT_ROLES = (Role.FINGER, Role.TOE)
"""Parts in whose place other bones often hang: weapons, soles."""

ONE_OF_A_LIMB = (Role.FOREARM, Role.HAND, Role.SHIN, Role.FOOT)
"""Parts of which a limb has one after another one, never two beside each other."""

ORDERS = (TRUNK, ARM, LEG)
"""Roles that follow each other along the bones."""


@dataclass(frozen=True)
class Estimate:
    """The role of one bone, with its confidence."""

    role: Role
    side: Side
    limb: int
    confidence: float
    reason: str
    """Why it is not surer, in words."""


def combine_evidence(skeleton: RestSkeleton, readings: list[NameReading], shape: ShapeReading) -> dict[int, Estimate]:
    """Return the role of each bone by its name and by the shape, parents first.

    Where name and shape agree the confidence is ``1 - (1 - w) (1 - c)``, with ``w`` the weight of the name and ``c``
    the confidence of the shape: the chance that not both are wrong. Where they name neighbouring roles of one limb the
    role of the name is taken, since the shape doesn't tell to a bone where a part ends, and the confidence falls; where
    they name others, it falls below one half.
    """
    rich = tells_much(readings)
    readings = _with_forelegs(_without_girdles(skeleton, readings), shape)
    named = name_roles(skeleton, readings)
    if rich and shape.creature == WITH_LIMBS and Role.LIMB not in named.values():
        shape = replace(shape, guesses={})  # hair and cloth are chains too: the names tell which are limbs
    doubtful = _shifted(named, shape)
    mirrored = _mirrored(readings, shape)
    _move_head(skeleton, named, shape)
    starts = _starts_of_limbs(skeleton, readings, named)
    estimates: dict[int, Estimate] = {}
    for place, reading in enumerate(readings):
        guess = shape.guesses.get(place)
        if place in doubtful:
            reading = replace(reading, weight=0.4 * reading.weight)
        if guess is None or (guess.role is Role.LIMB and rich and place in named):
            role = named.get(place) or _elsewhere(skeleton, place, reading)
            if role in ONE_OF_A_LIMB and _is_beside(skeleton, place, role, named, shape):
                continue
            if role is Role.HIPS and reading.roles == {role} and Role.THIGH not in named.values() and not rich:
                role = None  # of an animal without legs its root may have the name of hips
            beside = sum(named.get(other) is role for other in skeleton.children[skeleton.parents[place]])
            is_digit = role in DIGIT_ROLES and skeleton.parents[place] >= 0 and beside > 2  # one of several
            needs_place = (bool(shape.guesses) or not rich) and not is_digit
            estimate = _by_name(skeleton, place, role, reading, estimates, needs_place, place in starts)
            if estimate is not None and _ends_digit(skeleton, place, estimate.role, shape):
                estimate = replace(estimate, confidence=0.55 * estimate.confidence)
        else:
            estimate = _by_both(reading, guess, shape, rich, mirrored)
        if estimate is not None:
            estimates[place] = estimate
    return estimates


def takes_arms_for_legs(readings: list[NameReading], shape: ShapeReading) -> bool:
    """Return whether most bones in a shape's arms have names of a leg, and those in its legs names of an arm."""
    score = 0
    for place, guess in shape.guesses.items():
        for ours, others in ((ARM, LEG), (LEG, ARM)):
            if guess.role in ours and readings[place].roles and not readings[place].skipped:
                score += (readings[place].roles <= set(ours)) - (readings[place].roles <= set(others))
    return score < 0


def lacks_legs(readings: list[NameReading], shape: ShapeReading) -> bool:
    """Return whether names tell arms and no legs, and the shape takes these arms for legs: those of a bust hang low."""
    names = [(each.roles, place) for place, each in enumerate(readings) if each.roles and not each.skipped]
    arms = [place for roles, place in names if roles <= {*ARM}]
    has_legs = any(roles <= {*LEG} for roles, _ in names)
    return not has_legs and any(place in shape.guesses and shape.guesses[place].role in LEG for place in arms)


def tells_much(readings: list[NameReading]) -> bool:
    """Return whether names tell so many different roles that a name which tells none counts as well."""
    return len({each.role for each in readings if each.role and not each.skipped}) >= RICH


def name_roles(skeleton: RestSkeleton, readings: list[NameReading]) -> dict[int, Role]:
    """Return the role of each bone whose name tells it, that of the spine's by where the limbs start."""
    roles = {
        place: each.role for place, each in enumerate(readings) if each.role and not each.twist and not each.skipped
    }
    legs = [place for place, role in roles.items() if role is Role.THIGH]
    arms = [place for place, role in roles.items() if role in (Role.CLAVICLE, Role.UPPER_ARM)]
    hips, chest = (skeleton.common_ancestor(line) if line else -1 for line in (legs, arms))
    if hips < 0 <= chest:
        hips = _start_of_tail(skeleton, readings, chest)
    between = set(skeleton.path(hips, chest)) if hips >= 0 and chest >= 0 else set()
    for place, each in enumerate(readings):
        if each.skipped or each.twist or len(each.roles) < 2 or Role.SPINE not in each.roles or max(hips, chest) < 0:
            continue
        role = Role.SPINE
        if place == chest:
            role = Role.CHEST
        elif place == hips:
            role = Role.HIPS
        elif place not in between and chest >= 0 and chest in skeleton.ancestors(place):
            last = not any(len(readings[child].roles) > 1 for child in skeleton.children[place])
            role = Role.HEAD if last else Role.NECK
        elif place not in between and min(hips, chest) >= 0 and place not in skeleton.ancestors(hips):
            role = Role.TAIL
        roles[place] = role if role in each.roles else Role.SPINE
    return roles


def _start_of_tail(skeleton: RestSkeleton, readings: list[NameReading], chest: int) -> int:
    """Return the bone from which bones of the spine lead to the chest and others to the tail; -1 if none does.

    They have the same names in Rigify's animals, and without hind legs were all a spine.
    """
    tail = [
        place
        for place, each in enumerate(readings)
        if {Role.SPINE, Role.TAIL} <= each.roles and not each.skipped
        if chest not in skeleton.ancestors(place) and place not in skeleton.ancestors(chest)
    ]
    return skeleton.common_ancestor([*tail, chest]) if tail else -1


def _without_girdles(skeleton: RestSkeleton, readings: list[NameReading]) -> list[NameReading]:
    """Return the readings, without the role of a bone before one whose name says the same more surely.

    ``Hip.L`` is a thigh in some skeletons, and the bone before ``Thigh.L`` in others. ``thigh_twist.l`` before
    ``thigh_stretch.l`` is the upper half of a divided thigh: without it the leg turned about the thigh's middle.
    """
    surer = {
        skeleton.parents[place]
        for place, each in enumerate(readings)
        if each.role in (Role.THIGH, Role.UPPER_ARM) and skeleton.parents[place] >= 0
        if readings[skeleton.parents[place]].roles == each.roles and not readings[skeleton.parents[place]].twist
        if readings[skeleton.parents[place]].weight < each.weight
    }
    return [
        replace(each, roles=frozenset(), skipped=True) if place in surer else each
        for place, each in enumerate(readings)
    ]


def read_whole_limbs(skeleton: RestSkeleton, readings: list[NameReading]) -> list[NameReading]:
    """Return the readings, with the roles that a word has where it names bones of a limb one after another.

    As many bones as the word has meanings have these in order: ``Wing1``, ``Wing2`` and ``Wing3`` are upper arm,
    forearm and hand. All roles of the limb have the bones of a word for more bones than it has meanings. Blender calls
    bones that are extruded from ``Leg.L`` ``Leg.L.001`` and ``Leg.L.002``, and the bones of a spider's leg are often
    numbered: there the word is that of the limb. A word for one long segment in several bones, as in MakeHuman's
    ``upperleg01`` and ``upperleg02``, has the word for the other long segment before or after it. Without that
    distinction a leg that was extruded was a shin in three bones, of which only the first one turned.
    """
    widened = list(readings)
    for order, long in ((ARM, {Role.UPPER_ARM, Role.FOREARM}), (LEG, {Role.THIGH, Role.SHIN})):
        for line in _lines_of_one_word(skeleton, readings, order):
            said, side = readings[line[0]].roles, readings[line[0]].side
            if len(line) == len(said) > 1:
                for place, role in zip(line, sorted(said, key=order.index), strict=True):
                    widened[place] = replace(readings[place], roles=frozenset({role}))
            if len(line) <= len(said) or said.isdisjoint(long):
                continue
            other = long - said
            others = [p for p, each in enumerate(readings) if other and each.roles == other and each.side is side]
            ancestors = skeleton.ancestors(line[0])
            if any(place in ancestors or line[-1] in skeleton.ancestors(place) for place in others):
                continue
            for place in line:
                widened[place] = replace(readings[place], roles=frozenset(order))
    return widened


def _lines_of_one_word(skeleton: RestSkeleton, readings: list[NameReading], order: tuple[Role, ...]) -> list[list[int]]:
    """Return bones, each the parent of the next one, whose words mean the same roles of an arm or a leg."""
    lines: list[list[int]] = []
    line_of: dict[int, list[int]] = {}
    for place, each in enumerate(readings):
        if not each.roles or not each.roles <= {*order} or each.twist or each.skipped:
            continue
        line = line_of.get(skeleton.parents[place], [])
        before = readings[line[-1]] if line and line[-1] == skeleton.parents[place] else None
        if before is None or (before.roles, before.side) != (each.roles, each.side):
            line = []
            lines.append(line)
        line.append(place)
        line_of[place] = line
    return lines


def _with_forelegs(readings: list[NameReading], shape: ShapeReading) -> list[NameReading]:
    """Return the readings, with words of legs in the forelegs of a quadruped as those of arms, which are homologous.

    That is where its hind legs have words of legs, too: all four are called legs.
    """
    places = [place for place, each in enumerate(readings) if each.roles and each.roles <= {*LEG}]
    guesses = {place: shape.guesses[place].role for place in places if place in shape.guesses}
    if shape.creature != QUADRUPED.name or not any(role in LEG for role in guesses.values()):
        return readings
    arms = dict(zip(LEG, ARM[1:], strict=True))
    return [
        replace(each, roles=frozenset(ARM if each.roles == {*LEG} else (arms[role] for role in each.roles)))
        if guesses.get(place) in ARM
        else each
        for place, each in enumerate(readings)
    ]


def _move_head(skeleton: RestSkeleton, named: dict[int, Role], shape: ShapeReading) -> None:
    """Move the shape's head to the bone of that name before or after it: lengths hardly tell which of two it is."""
    heads = [place for place, guess in shape.guesses.items() if guess.role is Role.HEAD]
    beyond = [place for place, guess in shape.guesses.items() if guess.role in (Role.NECK, Role.HEAD)]
    for place in beyond:
        if any(named.get(above) is Role.HEAD for above in skeleton.ancestors(place)[2:]):
            del shape.guesses[place]  # hair, or what is in a head
    for place in heads:
        if place not in shape.guesses:
            continue
        guess = shape.guesses[place]
        after = _up_to_head(skeleton, named, place)
        before = [above for above in skeleton.ancestors(place)[1:3] if named.get(above) is Role.HEAD]
        if named.get(place) is Role.HEAD or not after + before:
            continue
        if before and before[0] in shape.guesses:
            del shape.guesses[place]
            shape.guesses[before[0]] = guess
        elif after:
            for neck in (place, *after[:-1]):
                shape.guesses[neck] = replace(guess, role=Role.NECK)
            shape.guesses[after[-1]] = guess


def _up_to_head(skeleton: RestSkeleton, named: dict[int, Role], place: int) -> list[int]:
    """Return the bones after one up to the first with the name of a head; none where others than necks are between.

    Where an importer makes up the tail of a bone that is too short, the shape ends at this bone. Without the bones
    beyond the next one, a neck of two bones began with a head, and the head followed it.
    """
    for child in skeleton.children[place]:
        if named.get(child) is Role.HEAD:
            return [child]
    for child in skeleton.children[place]:
        if named.get(child) is Role.NECK and (beyond := _up_to_head(skeleton, named, child)):
            return [child, *beyond]
    return []


def _shifted(named: dict[int, Role], shape: ShapeReading) -> set[int]:
    """Return the bones of limbs where several names say other roles than places that are sure: names one bone off."""
    limbs: dict[tuple[int, int, int], list[int]] = {}
    for place, guess in shape.guesses.items():
        for number, order in enumerate((ARM, LEG)):
            if guess.role in order and named.get(place, guess.role) in order and named.get(place) is not guess.role:
                limbs.setdefault((number, guess.side, guess.limb), []).append(place)
    shifted = set()
    for places in limbs.values():
        if len({named[p] for p in places if p in named and shape.guesses[p].confidence >= 0.75}) > 1:
            shifted |= {place for place in places if place in named}
    return shifted


def _mirrored(readings: list[NameReading], shape: ShapeReading) -> bool:
    """Return whether the names' sides are the other ones for most bones; turn an unsure forward round instead."""
    score = 0
    for place, guess in shape.guesses.items():
        side = readings[place].side
        if guess.side and side in (Side.LEFT, Side.RIGHT):
            score += 1 if side is shape.side(guess.side) else -1
    if score < 0 and shape.sureness < 0.3:
        shape.forward = -shape.forward
        return False
    return score < 0


def _starts_of_limbs(skeleton: RestSkeleton, readings: list[NameReading], named: dict[int, Role]) -> set[int]:
    """Return the upper arms that names of a forearm and a hand follow, and the thighs that those of shin and foot do.

    Of the arms of a game's first person these names are enough: nothing before the arms tells their place.
    """
    starts = set()
    for place, role in named.items():
        for order in (ARM[1:4], LEG[:3]):
            line = [above for above in skeleton.ancestors(place) if above in named][2::-1] if role is order[2] else []
            if tuple(named[each] for each in line) == order and len({readings[each].side for each in line}) == 1:
                starts.add(line[0])
    return starts


def _is_beside(skeleton: RestSkeleton, place: int, role: Role, named: dict[int, Role], shape: ShapeReading) -> bool:
    """Return whether a bone on the same parent has a role by name and place: a helper ``Wrist`` is beside the hand."""
    parent = skeleton.parents[place]
    beside = [each for each in skeleton.children[parent] if named.get(each) is role] if parent >= 0 else []
    return any(each in shape.guesses and shape.guesses[each].role is role for each in beside)


def _ends_digit(skeleton: RestSkeleton, place: int, role: Role, shape: ShapeReading) -> bool:
    """Return whether by the shape a finger or toe ends before a bone with its name: Mixamo's fourth bones are ends."""
    before = [shape.guesses.get(above) for above in skeleton.ancestors(place)[1:4]]
    return role in (ARM[-1], LEG[-1]) and [each.role for each in before if each is not None] == [role] * 3


def _elsewhere(skeleton: RestSkeleton, place: int, reading: NameReading) -> Role | None:
    """Return the part of the trunk that a name means in other conventions, if other bones hang from the bone."""
    return reading.role if reading.role in TRUNK and not reading.control and skeleton.children[place] else None


def _by_name(
    skeleton: RestSkeleton,
    place: int,
    role: Role | None,
    reading: NameReading,
    estimates: dict[int, Estimate],
    needs_place: bool,
    starts_limb: bool,
) -> Estimate | None:
    """Return what the name alone says.

    With ``needs_place`` it is sure only after bones that are known before it, and where a whole limb starts.
    """
    if role is None:
        return None
    side = reading.side or Side.CENTER
    above = next((estimates[each] for each in skeleton.ancestors(place)[1:] if each in estimates), None)
    reason = ""
    if needs_place and above is not None and not _follows(above, role, side):
        reason = f"its name says {_word(role)}, but it hangs from a bone that is {_word(above.role)}"
    elif needs_place and role in (Role.HIPS, Role.SPINE, Role.CHEST) and not skeleton.children[place]:
        reason = f"its name says {_word(role)}, but nothing hangs from it"
    elif needs_place and above is None and not starts_limb and role not in (Role.HIPS, Role.SPINE, Role.FIN, Role.TAIL):
        reason = f"its name says {_word(role)}, but it hangs from nothing"
    elif role in (*ARM, *LEG) and side is Side.CENTER:
        reason = f"its name says {_word(role)}, but no side"
    if reason:
        return Estimate(role, side, 0, 0.44 * reading.weight, reason)
    return Estimate(role, side, 0, 0.8 * reading.weight, f"its name says {_word(role)}, and its place doesn't tell")


def _follows(above: Estimate, role: Role, side: Side) -> bool:
    """Return whether a role can come after another along the bones."""
    if role in (Role.FIN, Role.LIMB, Role.TAIL):
        return True
    for order in (ARM, LEG):
        if role in order and above.role in order:
            first, second = order.index(above.role), order.index(role)
            return above.side is side and (second == first + 1 or (second == first and role in (ARM[-1], LEG[-1])))
    if role in TRUNK:
        return above.role in TRUNK
    return above.role in TRUNK and role in (Role.CLAVICLE, Role.UPPER_ARM, Role.THIGH)


def _by_both(reading: NameReading, guess: Guess, shape: ShapeReading, rich: bool, mirrored: bool) -> Estimate | None:
    """Return what the name and the place of a bone say together."""
    role, confidence, reason = guess.role, guess.confidence, f"its place says {_word(guess.role)}, but not surely"
    if (guess.role is Role.LIMB and reading.skipped) or (reading.root and guess.role not in TRUNK):
        return None
    if reading.skipped and guess.role not in reading.roles:
        if rich:
            return None
        confidence *= 0.7
    elif reading.roles:
        weight = reading.weight / (1.0 + 0.15 * (len(reading.roles) - 1))
        if guess.role in reading.roles:
            confidence = 1.0 - (1.0 - weight) * (1.0 - guess.confidence)
        elif guess.role is Role.LIMB:
            if reading.role in (Role.FIN, Role.TAIL, Role.NECK, Role.HEAD):
                role, confidence = reading.role, 0.7 * weight
            elif reading.role:
                confidence *= 0.85
        else:
            role, confidence = _disagree(reading, guess, weight)
            said = " or ".join(sorted(_word(each) for each in reading.roles))
            reason = f"its name says {said}, its place {_word(guess.role)}"
    elif rich:
        confidence *= 0.55 if guess.role in DIGIT_ROLES else 0.7
        reason = f"its place says {_word(guess.role)}, its name nothing"
    side = shape.side(guess.side)
    if guess.role is Role.LIMB and (reading.side is not None or shape.sureness < UNKNOWN):
        side = reading.side or Side.CENTER  # of a limb all around only the name tells, or a head
    elif guess.side == 0:
        confidence *= 0.5 if reading.side in (Side.LEFT, Side.RIGHT) else 1.0
    elif reading.side in (Side.LEFT, Side.RIGHT):
        if (reading.side is side) == mirrored:
            confidence *= 0.4
            reason = f"its name says {reading.side.lower()}, its place {side.lower()}"
        elif mirrored:
            confidence *= 0.75
        side = reading.side
    else:
        side = shape.side(-guess.side) if mirrored else side
        confidence *= 0.5 + 0.5 * min(1.0, 1.3 * shape.sureness)
        if shape.sureness < 0.3:
            reason = "nothing tells which side is left"
    return Estimate(role, side, guess.limb, confidence, reason)


def _disagree(reading: NameReading, guess: Guess, weight: float) -> tuple[Role, float]:
    """Return the role and the confidence where name and place say different roles."""
    for order in ORDERS:
        if guess.role in order:
            meant = {Role.SPINE} if Role.SPINE in reading.roles else reading.roles
            near = [role for role in meant if role in order and abs(order.index(role) - order.index(guess.role)) == 1]
            if len(near) == 1:
                return near[0], reading.weight * (1.0 - 0.4 * guess.confidence)
    if reading.role and weight > guess.confidence:
        return reading.role, weight * (1.0 - guess.confidence)
    return guess.role, guess.confidence * (1.0 - weight)


def _word(role: Role) -> str:
    return role.lower().replace("_", " ")
