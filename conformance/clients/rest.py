"""Meets a server over REST, with a client that `openapi-python-client` generates and with `schemathesis`, both from PyPI.

    python rest.py FOLDER PROGRAM

FOLDER is the library, as `cargo lab interop` makes it; PROGRAM is the server. Both tools are given the server's own description of its
endpoints and nothing else: the client calls each endpoint once, and schemathesis sends what the description permits and what it does not,
and compares each answer with it. Prints each step, and fails where an answer or git's history is not what it should be.
"""

import contextlib
import importlib
import os
import pathlib
import subprocess
import sys
import tempfile

from meet import commits

LISTENING = "listening on "
NOTE = "# Locks\n\nA lock is held for as long as a change takes.\n"
EXAMPLES = "40"


def key(program, file, *options):
    """A key of a person with all scopes, or one with these options."""
    options = options or ["--name", "Ada", "--scope", "write", "--scope", "review"]
    asked = [program, "key", "create", "--keys", file, *options]
    return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()


@contextlib.contextmanager
def served(program, library, keys):
    """The server, and its URL."""
    command = [program, "serve", "--contract", "brainforge", "--http", "127.0.0.1:0", "--keys", keys, "--library", library]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = next(line for line in process.stderr if LISTENING in line)
            yield line.split(LISTENING)[1].strip()
        finally:
            process.kill()


def generated(url, folder):
    """The client, generated from what the server says of itself."""
    tools = pathlib.Path(sys.executable).parent
    paths = os.pathsep.join([str(tools), os.environ.get("PATH", "")])
    command = [tools / "openapi-python-client", "generate", "--url", f"{url}/openapi.json", "--meta", "none"]
    made = subprocess.run(
        [*command, "--output-path", folder / "made"], env=os.environ | {"PATH": paths}, capture_output=True, text=True
    )
    said = made.stdout + made.stderr
    assert made.returncode == 0 and "arning" not in said, said
    sys.path.insert(0, str(folder))
    return importlib.import_module("made.client")


class Calls:
    """The endpoints, by the client's functions for them."""

    def __init__(self, client):
        self.client = client

    def call(self, group, name, *path, status=200, parameters_of_query=None, **fields):
        """Calls an endpoint with the variables of its path, its query, and the fields of its body."""
        endpoint = importlib.import_module(f"made.api.{group}.{name}")
        given = dict(parameters_of_query or {})
        if fields:
            request = getattr(importlib.import_module("made.models"), "".join(map(str.title, name.split("_"))) + "Request")
            given["body"] = request.from_dict(fields)
        answer = endpoint.sync_detailed(*path, client=self.client, **given)
        print(f"{name}: {answer.status_code.value}")
        assert answer.status_code == status, answer.content
        return answer.parsed.to_dict()


def each_endpoint(url, token, library):
    with tempfile.TemporaryDirectory() as folder:
        module = generated(url, pathlib.Path(folder))
        calls = Calls(module.AuthenticatedClient(base_url=url, token=token))
        assert calls.call("tools", "list_tools")["count"] == 5
        assert calls.call("description", "openapi")["openapi"] == "3.1.0"
        before = commits(library)
        notes = []
        for title in ["Locks", "Keys"]:
            made = calls.call(
                "management", "create_note", content=NOTE, note_type="permanent", metadata={"title": title}
            )
            assert made["result"]["status"] == "created" and made["commit"], made
            notes.append(made["result"])
        note = notes[0]
        changed = calls.call(
            "management", "update_note", note_id=note["note_id"], version=note["version"], content=NOTE + "\nNot longer.\n"
        )
        assert changed["result"]["new_version"] == note["version"] + 1, changed
        linked = calls.call(
            "management",
            "create_link",
            source_note_id=notes[0]["note_id"],
            target_note_id=notes[1]["note_id"],
            relation_type="related",
        )
        assert linked["result"]["link_id"], linked
        assert commits(library) == before + 4
        found = calls.call("search", "semantic_search", query="how long is a lock held")
        assert {hit["note_id"] for hit in found["result"]["results"]} >= {note["note_id"] for note in notes}, found
        ids = [note["note_id"] for note in notes]
        exported = calls.call("export", "export_library", format="json", filters={"note_ids": ids})
        assert exported["result"]["note_count"] == 2, exported
        assert commits(library) == before + 4
        workflows(calls, library)


def workflows(calls, library):
    """A workflow from its start to its end."""
    listed = calls.call("workflows", "list_workflows")
    research = next(it for it in listed["workflows"] if it["starts"] == "request")
    before = commits(library)
    started = calls.call("workflows", f"start_{research['workflow_id']}", status=201, parameters={"topic": "locks"})
    instance = started["instance_id"]
    tasks = [task["task_id"] for task in research["tasks"]]
    for number, task in enumerate(tasks):
        query = {"mine": True, "status": importlib.import_module("made.models").WorkflowInstancesStatus("active")}
        listed = calls.call("workflows", "workflow_instances", parameters_of_query=query)
        assert instance in [it["instance_id"] for it in listed["instances"]], listed
        shown = calls.call("workflows", "workflow_instance", instance)
        assert shown["state"] == task and len(shown["history"]) == number + 1, shown
        shown = calls.call("workflows", "complete_task", instance, task, decision="done", notes="It is done.", data={"step": number})
        assert shown["data"]["tasks"][task] == {"notes": "It is done.", "data": {"step": number}}, shown
    assert shown["status"] == "completed" and len({step["commit"] for step in shown["history"]}) == len(tasks) + 1, shown
    assert commits(library) == before + len(tasks) + 1


def what_is_permitted_and_what_is_not(url, token):
    config = pathlib.Path(__file__).with_name("schemathesis.toml")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "schemathesis.cli", "--config-file", config, "run", f"{url}/openapi.json"]
        options = ["--header", f"Authorization: Bearer {token}", "--checks", "all", "--max-examples", EXAMPLES]
        ran = subprocess.run(
            [*command, *options, "--phases", "examples,coverage,fuzzing"], cwd=folder, capture_output=True, text=True
        )
    print(ran.stdout[-900:])
    assert ran.returncode == 0, ran.stdout + ran.stderr


def main(library, program):
    with tempfile.TemporaryDirectory() as folder:
        keys = f"{folder}/keys.json"
        token = key(program, keys)
        with served(program, library, keys) as url:
            each_endpoint(url, token, library)
            what_is_permitted_and_what_is_not(url, token)


if __name__ == "__main__":
    main(*sys.argv[1:])
