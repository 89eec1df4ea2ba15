"""The crates that are linked into what is released, as `cargo metadata` knows them."""

import json
import subprocess


def metadata():
    """What cargo knows of the workspace and its dependencies, for this machine."""
    command = "cargo metadata --format-version 1 --locked --filter-platform".split()
    host = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    host = next(line.split()[1] for line in host.splitlines() if line.startswith("host"))
    made = subprocess.run([*command, host], check=True, capture_output=True).stdout
    return json.loads(made)


def linked(metadata, names):
    """The packages that these depend on in what runs, in the order of their names."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    packages = {package["id"]: package for package in metadata["packages"]}
    # Procedural macros run while it is built.
    macros = {
        id
        for id, package in packages.items()
        if any("proc-macro" in target["kind"] for target in package["targets"])
    }
    waiting = [id for id, package in packages.items() if package["name"] in names]
    seen = set(waiting)
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            is_linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if is_linked and dependency["pkg"] not in seen | macros:
                seen.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    others = (packages[id] for id in seen if packages[id]["source"])
    return sorted(others, key=lambda package: (package["name"], package["version"]))
