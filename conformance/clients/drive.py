"""Drives every tool of a server with the `mcp` package from PyPI, on a copy of a folder of Markdown files.

    python drive.py SERVER FOLDER

Works with both major versions of the package: 2 speaks the stateless era, 1 the older one. Prints what it saw, and fails
where an answer or git's view of the library is not what it should be.
"""

import asyncio
import collections
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


def git(library, *arguments):
    command = ["git", "-C", library, "-c", "user.name=A Person", "-c", "user.email=person@localhost", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def library_of(folder, parent):
    library = pathlib.Path(parent) / "library"
    shutil.copytree(folder, library)
    git(library, "init", "--quiet", "--initial-branch=main")
    git(library, "add", "--all")
    git(library, "commit", "--quiet", "-m", "documents")
    return library


class Client:
    def __init__(self, session):
        self.session = session
        self.calls = collections.Counter()
        self.spent = collections.Counter()

    async def raw(self, tool, meta=None, **arguments):
        since = time.perf_counter()
        result = await self.session.call_tool(tool, arguments, meta=meta)
        self.spent[tool] += time.perf_counter() - since
        self.calls[tool] += 1
        return result

    async def call(self, tool, meta=None, **arguments):
        result = await self.raw(tool, meta, **arguments)
        failed = getattr(result, "isError", None) or getattr(result, "is_error", None)
        assert not failed, f"{tool}: {result.content[0].text}"
        response = getattr(result, "structuredContent", None) or getattr(result, "structured_content", None)
        return response, result.meta or {}

    async def refused(self, tool, meta=None, **arguments):
        result = await self.raw(tool, meta, **arguments)
        assert getattr(result, "isError", None) or getattr(result, "is_error", None), f"{tool} accepted {arguments}"
        return result.content[0].text


async def drive(session, library):
    client = Client(session)
    tools = (await session.list_tools()).tools
    print("tools:", ", ".join(tool.name for tool in tools))

    listing, _ = await client.call("list_markdown_files", path="", recursive=True)
    files = listing["files"]
    print(f"listed: {len(files)} files in {len(listing['folders'])} folders")
    head = git(library, "rev-parse", "HEAD").strip()
    for file in files:
        answer, _ = await client.call("read_markdown", path=file)
        disk = (library / file).read_bytes()
        assert answer["content"].encode() == disk and answer["metadata"]["size"] == len(disk), file
        assert answer["metadata"]["git_commit"] == head, file
    print(f"read: every one of {len(files)} files, byte for byte")

    found, meta = await client.call("search_markdown", query="ownership")
    lines = sum(len(result["matches"]) for result in found["results"])
    print(f"search \"ownership\": {lines} lines in {len(found['results'])} files, total {meta.get('tabellion/total')}")

    edited = 0
    for file in files[:: max(1, len(files) // 40)]:
        before = (library / file).read_bytes()
        heading = next((line for line in before.decode().splitlines() if line.startswith("## ")), None)
        operation = {"type": "append", "content": "\n## Seen\n\nBy a client.\n"}
        if heading:
            operation = {"type": "insert_after", "target": heading, "content": "\n## Seen\n\nBy a client.\n\n"}
        shown = await client.raw("preview_markdown_change", path=file, operation=operation)
        if getattr(shown, "isError", None) or getattr(shown, "is_error", None):
            print(f"  refused {file}: {shown.content[0].text[:110]}")
            continue
        preview = getattr(shown, "structuredContent", None) or shown.structured_content
        condition = {"tabellion/ifBase": shown.meta["tabellion/base"]}
        answer, _ = await client.call("edit_markdown", condition, path=file, operation=operation)
        after = (library / file).read_bytes()
        # git's own idea of what the previewed diff does is what happened.
        git(library, "checkout", "--quiet", "HEAD~1", "--", file)
        apply = ["git", "-C", library, "apply", "--whitespace=nowarn", "-"]
        await asyncio.to_thread(subprocess.run, apply, input=preview["diff"].encode(), check=True)
        assert (library / file).read_bytes() == after, file
        git(library, "add", "--", file)
        assert git(library, "rev-parse", "HEAD").strip() == answer["git_commit_sha"]
        assert git(library, "show", "--format=", "--name-only", "HEAD", "-z").strip("\0") == file
        edited += 1
    print(f"previewed and edited: {edited} files, each what `git apply` makes of the preview, one commit each")

    await client.call("write_markdown", path="new/note.md", content="# Note\n")
    await client.call("write_markdown", path="new/note.md", content="# Note\n\nMore.\n")
    print("refused:", await client.refused("delete_markdown", path="new/note.md", confirm=False))
    await client.call("delete_markdown", path="new/note.md", confirm=True)
    for path in ("../secret.md", "/etc/passwd.md", ".git/hooks/x.md", "CON.md", "a.txt"):
        print("refused:", (await client.refused("read_markdown", path=path))[:110])
    print("refused:", (await client.refused("edit_markdown", path=files[0], operation={"type": "replace_section", "content": "x"}))[:110])

    log, _ = await client.call("get_markdown_activity_log", limit=1000)
    commits = git(library, "rev-list", "--reverse", f"{head}..HEAD").split()
    assert [entry["git_commit_sha"] for entry in log["entries"]] == commits, "log and history disagree"
    print(f"log: {len(log['entries'])} entries, the same as the {len(commits)} commits")
    assert git(library, "status", "--porcelain") == "", git(library, "status", "--porcelain")
    git(library, "fsck", "--strict", "--no-progress")
    print("git status is clean; git fsck --strict finds nothing")
    for tool, calls in client.calls.items():
        print(f"  {tool:<28}{calls:>6} calls  {1000 * client.spent[tool] / calls:8.2f} ms each")


async def main(server, folder):
    with tempfile.TemporaryDirectory() as parent:
        library = library_of(folder, parent)
        parameters = StdioServerParameters(command=server, args=["serve", "--library", str(library)])
        async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
            await (session.discover() if hasattr(session, "discover") else session.initialize())
            version = getattr(session, "protocol_version", None)
            print("session:", version or "opened by initialize")
            await drive(session, library)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    asyncio.run(main(*sys.argv[1:]))
