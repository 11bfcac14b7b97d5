// SPDX-FileCopyrightText: 2026 FABRIK IK developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Bakes the FABRIK IK chains of many shots: a job type for Flamenco. How to install and start it: docs/farm.md.

const JOB_TYPE = {
    label: "FABRIK IK Bake",
    description: "Bake the FABRIK IK chains of one or many files, one task a file",
    settings: [
        { key: "blender_cmd", type: "string", default: "{blender}", visible: false,
          description: "Blender with the extension enabled" },
        { key: "shots", type: "string", required: true, subtype: "file_path",
          eval: "bpy.path.abspath(bpy.data.filepath)",
          description: "Files to bake, separated by semicolons" },
        { key: "output_folder", type: "string", subtype: "dir_path", required: true,
          description: "Folder for the baked files; each gets the name of its shot. A file that is done is left alone" },
        { key: "chains", type: "string",
          description: "Names of the chains to bake, separated by commas; empty for all that are enabled" },
        { key: "frames", type: "string",
          description: "First and last frame, as 1-250 or -10-120; empty for the scene's own range" },
        { key: "shots_per_task", type: "int32", default: 1, propargs: { min: 1 },
          description: "Files that one worker bakes one after another" },
    ],
};

function compileJob(job) {
    const settings = job.settings;
    const shots = listOf(settings.shots, ";");
    if (shots.length === 0) {
        throw new Error("Shots: name at least one .blend file");
    }
    const outputs = shots.map((shot) => outputOf(shot, settings.output_folder));
    const options = optionsOf(settings);
    const perTask = Math.max(1, settings.shots_per_task || 1);
    for (let first = 0; first < shots.length; first += perTask) {
        const last = Math.min(first + perTask, shots.length);
        const name = perTask === 1 ? `bake ${nameOf(shots[first])}` : `bake shots ${first + 1}-${last}`;
        const task = author.Task(name, "blender");
        for (let i = first; i < last; i++) {
            const twin = outputs.indexOf(outputs[i]);
            if (twin !== i) {
                throw new Error(`Shots: two files are called ${nameOf(shots[i])}, their baked files would have one name`);
            }
            task.addCommand(author.Command("exec", {
                exe: settings.blender_cmd || "{blender}",
                args: [shots[i], "--command", "fabrik", "bake", "--output", outputs[i], ...options],
            }));
        }
        job.addTask(task);
    }
}

function optionsOf(settings) {
    const options = ["--skip-done", "--warnings-ok"];
    for (const chain of listOf(settings.chains, ",")) {
        options.push("--chain", chain);
    }
    if (settings.frames && settings.frames.trim()) {
        const range = /^\s*(-?\d+)\s*(?:-\s*(-?\d+))?\s*$/.exec(settings.frames);
        if (!range) {
            throw new Error(`Frames: '${settings.frames}' is not a range such as 1-250`);
        }
        options.push("--start", range[1], "--end", range[2] === undefined ? range[1] : range[2]);
    }
    return options;
}

function listOf(text, separator) {
    return (text || "").split(separator).map((part) => part.trim()).filter((part) => part.length > 0);
}

function nameOf(shot) {
    return shot.replace(/\\/g, "/").split("/").pop();
}

function outputOf(shot, folder) {
    if (!/\.blend$/i.test(shot)) {
        throw new Error(`Shots: '${shot}' is not a .blend file`);
    }
    return path.join(folder, nameOf(shot));
}
