"""Meets a server with the `mcp` package from PyPI: everything that it offers, once.

    python meet.py FOLDER URL
    python meet.py FOLDER PROGRAM [ARGUMENT ...]

Works with both major versions of the package: 2 speaks the stateless era, 1 the older one. FOLDER is the library, as
`cargo lab interop` makes it; a call that changes something wants a person's approval there. Prints each step, and fails
where an answer, a file or git's history is not what it should be.
"""

import asyncio
import contextlib
import pathlib
import subprocess
import sys

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

try:
    from mcp import MCPError as RpcError

    as_uri = str
except ImportError:
    from mcp import McpError as RpcError
    from pydantic import AnyUrl as as_uri

STATELESS = hasattr(ClientSession, "discover")
# How long all of it may take, in seconds.
PATIENCE = 120


def of(answer, old, new):
    """A field that the two versions of the package name differently."""
    return getattr(answer, new) if hasattr(answer, new) else getattr(answer, old)


def commits(library):
    command = ["git", "-C", library, "rev-list", "--count", "HEAD"]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


class Person:
    """Whoever sits behind the client, and is asked."""

    def __init__(self):
        self.seen = []
        self.action = "accept"

    async def decide(self, _, question):
        self.seen.append(question.message)
        return types.ElicitResult(action=self.action, content={} if self.action == "accept" else None)


async def changed(session, tool, person, arguments):
    """Calls a tool; where the answer is a question, asks the person and calls again with what they say."""
    if not STATELESS:
        return await session.call_tool(tool, arguments)
    result = await session.call_tool(tool, arguments, allow_input_required=True)
    if not isinstance(result, types.InputRequiredResult):
        return result
    answers = {key: await person.decide(None, request.params) for key, request in result.input_requests.items()}
    return await session.call_tool(tool, arguments, input_responses=answers, request_state=result.request_state)


async def tools(session, library, person):
    listed = {tool.name: tool for tool in (await session.list_tools()).tools}
    assert {"read_markdown", "write_markdown", "list_sections"} <= listed.keys(), listed.keys()
    assert all(of(tool, "inputSchema", "input_schema")["type"] == "object" for tool in listed.values())
    print("tools:", len(listed))

    note = library / "notes/idea.md"
    read = await session.call_tool("read_markdown", {"path": "notes/idea.md"})
    assert not of(read, "isError", "is_error"), read
    structured = of(read, "structuredContent", "structured_content")
    assert structured["content"].encode() == note.read_bytes(), structured
    print("a tool that reads: byte for byte")

    refused = await session.call_tool("read_markdown", {"path": "../secret.md"})
    assert of(refused, "isError", "is_error") and ".." in refused.content[0].text, refused
    print("an error as a result:", refused.content[0].text)
    try:
        await session.call_tool("get_section", {"section_id": "nowhere"})
        raise AssertionError("a section that is not there was found")
    except RpcError as error:
        print("an error of JSON-RPC:", error)

    before = commits(library)
    new, text = library / "notes/new.md", "# Another one\n"
    arguments = {"path": "notes/new.md", "content": text}
    person.action = "decline"
    declined = await changed(session, "write_markdown", person, arguments)
    assert of(declined, "isError", "is_error"), declined
    assert not new.exists() and commits(library) == before
    person.action = "accept"
    written = await changed(session, "write_markdown", person, arguments)
    assert not of(written, "isError", "is_error"), written
    assert new.read_text() == text and commits(library) == before + 1
    assert len(person.seen) == 2 and "Another one" in person.seen[1], person.seen
    print("a tool that writes: once the person had declined, once approved; one commit")


async def offers(session):
    resources = (await session.list_resources()).resources
    assert len(resources) == 3, resources
    for resource in resources:
        contents = (await session.read_resource(resource.uri)).contents
        assert str(contents[0].uri) == str(resource.uri) and contents[0].text.startswith("{"), contents
    document = (await session.read_resource(as_uri("markdown://document"))).contents[0].text
    assert "Scope" in document, document
    try:
        await session.read_resource(as_uri("markdown://nothing"))
        raise AssertionError("a resource that is not there was read")
    except RpcError:
        pass
    print("resources:", len(resources))

    prompts = {prompt.name for prompt in (await session.list_prompts()).prompts}
    assert "summarize_section" in prompts and len(prompts) == 3, prompts
    prompt = await session.get_prompt("summarize_section", {"section": "Scope"})
    assert "What belongs to it." in prompt.messages[0].content.text, prompt
    reference = types.PromptReference(type="ref/prompt", name="summarize_section")
    completed = await session.complete(reference, {"name": "section", "value": "Sc"})
    assert completed.completion.values, completed
    print("prompts:", len(prompts), "with", len(completed.completion.values), "values for one that begins with Sc")


async def meet(session, library, person):
    if STATELESS:
        await session.discover()
        assert session.protocol_version == "2026-07-28", session.protocol_version
    else:
        opened = await session.initialize()
        assert opened.protocolVersion == "2025-11-25", opened
    await tools(session, library, person)
    await offers(session)


@contextlib.asynccontextmanager
async def connected(program):
    if program[0].startswith("http://"):
        async with streamable_http_client(program[0]) as streams:
            yield streams[0], streams[1]
    else:
        async with stdio_client(StdioServerParameters(command=program[0], args=program[1:])) as streams:
            yield streams


async def main(folder, *program):
    person = Person()
    async with connected(program) as (read, write):
        async with ClientSession(read, write, elicitation_callback=person.decide) as session:
            await meet(session, pathlib.Path(folder), person)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    asyncio.run(asyncio.wait_for(main(*sys.argv[1:]), PATIENCE))
