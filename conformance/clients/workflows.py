"""Walks through the workflows of a server with SpiffWorkflow, a workflow engine from PyPI.

    python workflows.py FOLDER PROGRAM [SEED]

FOLDER is the library, as `cargo lab interop` makes it; PROGRAM is the server. The engine knows of a workflow what its BPMN says, which is
fetched from the server. Both are given the same random decisions, also impossible ones, and are in the same state after each. Prints the seed
and what was walked, and fails where the states differ.
"""

import copy
import itertools
import json
import random
import sys
import tempfile
import urllib.error
import urllib.request

from SpiffWorkflow import TaskState
from SpiffWorkflow.bpmn import BpmnWorkflow
from SpiffWorkflow.bpmn.parser import BpmnParser
from SpiffWorkflow.exceptions import WorkflowException

from rest import key, served

WALKS = 16
# After so many decisions, a walk takes those alone that lead to its end.
LONG = 5
# A decision that no workflow has.
UNKNOWN = "sleep_on_it"


def note(number):
    """Returns a note that differs from every other in two places, so that a change of it always has parts."""
    return f"# Locks\n\nBegun {number} times.\n\nLocks are short.\n\n## Afterwards\n\nEnded {number} times.\n"


class Caller:
    """A client with one key."""

    def __init__(self, url, token):
        self.url = url
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(self, method, path, body=None, tag=None):
        """The status and the JSON of the answer. With a tag, what is asked for is done to what was shown with it."""
        data = None if body is None else json.dumps(body).encode()
        headers = self.headers | ({"If-Match": tag} if tag else {})
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request) as answer:
                self.tag = answer.headers["ETag"]
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def get(self, path):
        status, answer = self.ask("GET", path)
        assert status == 200, answer
        return answer

    def post(self, path, body):
        status, answer = self.ask("POST", path, body)
        assert status in (200, 201), answer
        return answer


class Engine:
    """An instance in the engine, from its BPMN alone."""

    def __init__(self, workflow):
        parser = BpmnParser()
        parser.add_bpmn_str(workflow["bpmn"].encode())
        self.workflow = BpmnWorkflow(parser.get_spec(workflow["workflow_id"]))
        self.go_on()

    def go_on(self):
        """Does all that needs no decision. A service is done as soon as it is asked for."""
        self.workflow.do_engine_steps()
        for task in self.workflow.get_tasks(state=TaskState.STARTED):
            task.complete()
        self.workflow.do_engine_steps()

    def decide(self, decision):
        """Decides on the task that waits; returns whether that is possible. Nothing has happened if it is not."""
        before = copy.deepcopy(self.workflow)
        try:
            (task,) = self.ready()
            task.data["decision"] = decision
            task.run()
            self.go_on()
            return True
        except WorkflowException:
            self.workflow = before
            return False

    def ready(self):
        return self.workflow.get_tasks(state=TaskState.READY, manual=True)

    def state(self):
        """The task that waits, or the event with which it ended."""
        if self.workflow.completed:
            done = self.workflow.get_tasks(state=TaskState.COMPLETED)
            (end,) = [task for task in done if type(task.task_spec).__name__ == "EndEvent"]
            return end.task_spec.bpmn_id
        (task,) = self.ready()
        return task.task_spec.bpmn_id


class Research:
    """Instances of a workflow that a request starts."""

    def __init__(self, callers):
        self.owner = callers["owner"]

    def start(self, workflow):
        started = self.owner.post(f"/workflows/{workflow['workflow_id']}/start", {"parameters": {"topic": "locks"}})
        return started["instance_id"]

    def decide(self, instance, decision):
        body = {"decision": decision, "notes": "decided at random"}
        return self.owner.ask("POST", f"/workflows/instances/{instance['instance_id']}/tasks/{instance['state']}/complete", body)[0]


class Review:
    """Instances of the workflow that an agent's note starts: who decides is a reviewer, but the author where it is theirs."""

    def __init__(self, callers):
        # Two take turns, since each may change only so many notes in a minute.
        self.agents = itertools.cycle([callers["helper"], callers["scribe"]])
        self.reviewer = callers["reviewer"]
        self.numbers = itertools.count()

    def start(self, _):
        self.agent = next(self.agents)
        created = {"content": note(next(self.numbers)), "ai_justification": "asked to"}
        return self.agent.post("/tools/create_note/execute", created)["result"]["review_workflow_id"]

    def decide(self, instance, decision):
        if decision == "revise":
            change = {
                "note_id": instance["note_id"],
                "version": instance["proposed_version"],
                "content": note(next(self.numbers)),
                "change_reason": "asked to",
            }
            return self.agent.ask("POST", "/tools/update_note/execute", change)[0]
        caller = self.agent if decision == "withdraw" else self.reviewer
        body = {"decision": decision, "notes": "decided at random"}
        shown = f"/workflows/instances/{instance['instance_id']}"
        caller.get(shown)
        if decision == "approve_part":
            body["data"] = {"revision": caller.tag.strip('"'), "parts": [1]}
        return caller.ask("POST", f"{shown}/tasks/{instance['state']}/complete", body, caller.tag)[0]


def walk(workflow, instances, owner, choose):
    """Walks from the start to an end; returns the states, and how many decisions were impossible."""
    engine = Engine(workflow)
    path = f"/workflows/instances/{instances.start(workflow)}"
    ends = {state["state"] for state in workflow["states"] if state["final"]}
    known = [decision for task in workflow["tasks"] for decision in task["decisions"]]
    to_an_end = sorted({decision["decision"] for decision in known if decision["to"] in ends})
    onwards = sorted({decision["decision"] for decision in known if decision["to"] not in ends} | set(workflow["tool_mappings"]))
    # Most walks should not end at once.
    decisions = [UNKNOWN, *to_an_end, *onwards, *onwards]
    states, impossible = [], 0
    while True:
        instance = owner.get(path)
        assert engine.state() == instance["state"], (engine.state(), instance)
        states.append(instance["state"])
        is_over = instance["state"] in ends
        assert engine.workflow.completed == is_over == (instance["status"] != "active"), instance
        if is_over:
            return states, impossible
        decision = choose.choice(decisions if len(states) < LONG else to_an_end)
        status = instances.decide(instance, decision)
        assert status == 422 if decision == UNKNOWN else status in (200, 409), (decision, status)
        assert engine.decide(decision) == (status == 200), (instance["state"], decision, status)
        impossible += status != 200


def main(library, program, seed=None):
    seed = int(seed or random.randrange(1 << 32))
    print(f"seed {seed}")
    choose = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        keys = f"{folder}/keys.json"
        options = {
            "owner": ["--name", "Ada", "--scope", "write"],
            "reviewer": ["--name", "Rita", "--scope", "review"],
            "helper": ["--name", "Ada", "--scope", "write", "--agent", "helper@1"],
            "scribe": ["--name", "Ada", "--scope", "write", "--agent", "scribe@1"],
        }
        tokens = {role: key(program, keys, *of_role) for role, of_role in options.items()}
        with served(program, library, keys) as url:
            callers = {role: Caller(url, token) for role, token in tokens.items()}
            listed = callers["owner"].get("/workflows")["workflows"]
            assert {workflow["starts"] for workflow in listed} == {"tool", "request"}, listed
            refused = 0
            for workflow in listed:
                instances = (Research if workflow["starts"] == "request" else Review)(callers)
                seen = set()
                for _ in range(WALKS):
                    states, impossible = walk(workflow, instances, callers["owner"], choose)
                    seen.update(states)
                    refused += impossible
                print(f"{workflow['workflow_id']}: {WALKS} walks, {len(seen)} of {len(workflow['states'])} states")
            assert refused, "each decision was possible"
            print(f"{refused} impossible decisions")


if __name__ == "__main__":
    main(*sys.argv[1:])
