# SPDX-FileCopyrightText: 2026 FABRIK IK developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The job type for Flamenco, run in a JavaScript engine with a stand-in that refuses what Flamenco's manager refuses.

What the stand-in accepts is from Flamenco's manual, usage/job-types, and the schema AvailableJobSetting of its API.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from py_mini_racer import JSEvalException, MiniRacer

SCRIPT = Path(__file__).resolve().parents[2] / "farm/flamenco/fabrik_bake.js"

AUTHOR = """
"use strict";
const path = { join: (...parts) => parts.join("/").replace(/\\/+/g, "/") };
class Command {
    constructor(name, parameters) {
        if (!["exec", "echo", "sleep", "blender-render", "copy-file", "move-directory"].includes(name)) {
            throw new Error(`no worker knows the command ${name}`);
        }
        if (name === "exec") {
            for (const key of Object.keys(parameters)) {
                if (key !== "exe" && key !== "args") throw new Error(`exec has no parameter ${key}`);
            }
            if (typeof parameters.exe !== "string" || !parameters.exe) throw new Error("exec needs exe");
            if (!Array.isArray(parameters.args) || parameters.args.some((word) => typeof word !== "string")) {
                throw new Error("args of exec are a list of strings");
            }
        }
        Object.assign(this, { name, parameters });
    }
}
class Task {
    constructor(name, type) {
        if (typeof name !== "string" || !name) throw new Error("a task needs a name");
        const types = ["blender", "ffmpeg", "file-management", "misc"];
        if (!types.includes(type)) throw new Error(`no worker takes tasks of type ${type}`);
        Object.assign(this, { name, type, commands: [] });
    }
    addCommand(command) {
        if (!(command instanceof Command)) throw new Error("only a command can be added to a task");
        this.commands.push(command);
    }
}
const author = {
    Task: (name, type) => new Task(name, type),
    Command: (name, parameters) => new Command(name, parameters),
};
function compiled(settings) {
    const job = { settings, tasks: [], addTask(task) {
        if (!(task instanceof Task)) throw new Error("only a task can be added to a job");
        if (task.commands.length === 0) throw new Error("a task needs a command");
        this.tasks.push(task);
    } };
    compileJob(job);
    return JSON.stringify(job.tasks);
}
"""

KEYS = {"key", "type", "subtype", "choices", "propargs", "description", "default", "eval", "evalInfo", "visible"} | {
    "required",
    "editable",
    "autoeval",
    "label",
}
TYPES = {"string", "int32", "float", "bool"}
SUBTYPES = {"file_path", "dir_path", "file_name", "hashed_file_path"}


@pytest.fixture(scope="module")
def engine() -> MiniRacer:
    made = MiniRacer()
    made.eval(AUTHOR + SCRIPT.read_text(encoding="utf-8"))
    return made


def compiled(engine: MiniRacer, **settings: Any) -> list[dict[str, Any]]:
    tasks: list[dict[str, Any]] = json.loads(engine.eval(f"compiled({json.dumps(settings)})"))
    return tasks


def test_the_settings_are_of_the_kinds_that_flamenco_has(engine: MiniRacer) -> None:
    job_type = json.loads(engine.eval("JSON.stringify(JOB_TYPE)"))
    assert job_type["label"]
    for setting in job_type["settings"]:
        assert set(setting) <= KEYS, setting
        assert setting["type"] in TYPES
        assert setting.get("subtype", "file_path") in SUBTYPES
        assert setting["key"].isidentifier() and setting["description"]
        if setting["type"] == "int32" and "default" in setting:
            assert isinstance(setting["default"], int)


def test_each_shot_is_a_task_that_bakes_into_the_output_folder(engine: MiniRacer) -> None:
    tasks = compiled(engine, shots="/in/a.blend; /in/b.blend", output_folder="/out", blender_cmd="{blender}")
    assert [task["name"] for task in tasks] == ["bake a.blend", "bake b.blend"]
    assert tasks[1]["commands"] == [
        {
            "name": "exec",
            "parameters": {
                "exe": "{blender}",
                "args": [
                    "/in/b.blend",
                    "--command",
                    "fabrik",
                    "bake",
                    "--output",
                    "/out/b.blend",
                    "--skip-done",
                    "--warnings-ok",
                ],
            },
        }
    ]


def test_shots_are_put_together_into_tasks(engine: MiniRacer) -> None:
    shots = ";".join(f"/in/{number}.blend" for number in range(5))
    tasks = compiled(engine, shots=shots, output_folder="/out", shots_per_task=2)
    assert [task["name"] for task in tasks] == ["bake shots 1-2", "bake shots 3-4", "bake shots 5-5"]
    assert [len(task["commands"]) for task in tasks] == [2, 2, 1]


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        ("1-250", ["--start", "1", "--end", "250"]),
        ("-10-120", ["--start", "-10", "--end", "120"]),
        ("-10--2", ["--start", "-10", "--end", "-2"]),
        ("7", ["--start", "7", "--end", "7"]),
        (" ", []),
    ],
)
def test_chains_and_frames_become_options(engine: MiniRacer, frames: str, words: list[str]) -> None:
    (task,) = compiled(engine, shots="a.blend", output_folder="out", chains="arm.L, arm.R", frames=frames)
    args = task["commands"][0]["parameters"]["args"]
    assert args[args.index("--warnings-ok") + 1 :] == ["--chain", "arm.L", "--chain", "arm.R", *words]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shots": " ; "}, "name at least one"),
        ({"shots": "/in/a.txt"}, "is not a .blend file"),
        ({"shots": "/x/a.blend;/y/a.blend"}, "two files are called a.blend"),
        ({"shots": "/x/a.blend;/y/a.blend", "shots_per_task": 2}, "two files are called a.blend"),
        ({"shots": "a.blend", "frames": "1..20"}, "is not a range"),
    ],
)
def test_what_cant_be_baked_is_refused_by_name(engine: MiniRacer, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(JSEvalException, match=message):
        compiled(engine, output_folder="/out", **settings)
