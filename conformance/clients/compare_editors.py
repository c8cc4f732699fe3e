"""Times the SafeMarkdownEditor's calls beside the original's, through one and the same client.

    pip install 'mcp<2' quantalogic-markdown-mcp==0.1.1
    python conformance/clients/compare_editors.py target/release/tabellion

Ours makes each change durable, as a commit, before it answers; the original changes its memory. Prints the median of a
call in milliseconds, and how many times as long the original takes. A call that takes longer than a minute is given up.
The row `floor` is what no durable commit can go below: the document and its git object, each hashed, written, synced and
renamed once, and their folders synced.
"""

import asyncio
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

SIZES = {"10 KB": 10_000, "1 MB": 1_000_000, "10 MB": 10_000_000}
ROUNDS = 5
PATIENCE = timedelta(seconds=60)
PARAGRAPH = "The quick brown fox jumps over the lazy dog, and back. " * 8 + "\n\n"


def document(size: int) -> str:
    """Sections of about 1 KB, ten chapters of them."""
    parts, length, number = ["# Document\n\n"], 12, 0
    while length < size:
        level = "##" if number % 10 == 0 else "###"
        part = f"{level} Part {number}\n\n{PARAGRAPH * 2}"
        parts.append(part)
        length += len(part)
        number += 1
    return "".join(parts)


def durably(path: pathlib.Path, content: bytes) -> None:
    """Writes a file so that it is there after a loss of power."""
    aside = path.with_name(path.name + ".new")
    with open(aside, "wb") as file:
        file.write(content)
        os.fsync(file.fileno())
    os.rename(aside, path)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def floor(folder: pathlib.Path, size: int) -> float:
    """The milliseconds that the writes of one commit take at least: of a document and of its object, side by side."""
    (folder / "objects").mkdir()
    times = []
    for number in range(ROUNDS):
        text = f"{document(size)}{number}".encode()
        since = time.perf_counter()
        with ThreadPoolExecutor(2) as pool:
            writes = [pool.submit(durably, folder / "document", text)]
            hashlib.sha1(text).digest()
            packed = zlib.compress(text, 1)
            writes.append(pool.submit(durably, folder / "objects" / "object", packed))
            for write in writes:
                write.result()
        times.append((time.perf_counter() - since) * 1000)
    return statistics.median(times)


class Server:
    """One server in a session, on a library of one document."""

    def __init__(self, session: ClientSession):
        self.session = session

    async def call(self, name: str, **arguments):
        """The milliseconds that a call takes, and its answer."""
        since = time.perf_counter()
        result = await self.session.call_tool(name, arguments, read_timeout_seconds=PATIENCE)
        took = (time.perf_counter() - since) * 1000
        answer = result.structuredContent or json.loads(result.content[0].text)
        if result.isError or answer.get("success") is False:
            raise RuntimeError(f"{name}: {result.content[0].text[:200]}")
        return took, answer

    async def figures(self) -> dict[str, str | float]:
        """What each kind of call takes, in milliseconds, or why it can't be said."""
        figures: dict[str, list[float]] = {}
        failed: dict[str, str] = {}

        async def timed(kind: str, name: str, **arguments):
            if kind in failed:
                return None
            try:
                took, answer = await self.call(name, **arguments)
            except Exception as error:  # whatever the peer does instead of answering is its figure
                failed[kind] = str(error).splitlines()[0][:60] or type(error).__name__
                return None
            figures.setdefault(kind, []).append(took)
            return answer

        listed = await timed("list", "list_sections")
        sections = (listed or {}).get("sections", [])
        for number in range(ROUNDS):
            await timed("insert", "insert_section", heading=f"New {number}", content="Text.", position=1)
            listed = await timed("list again", "list_sections")
            sections = (listed or {}).get("sections", sections)
            if sections:
                middle = sections[len(sections) // 2]
                name = middle.get("section_id") or middle.get("id")
                await timed("update", "update_section", section_id=name, content=f"Text {number}.")
            await timed("undo", "undo")
        return {kind: statistics.median(times) for kind, times in figures.items()} | failed


async def measure(command: str, arguments: list[str], load: str | None) -> dict[str, str | float]:
    parameters = StdioServerParameters(command=command, args=arguments)
    async with stdio_client(parameters, errlog=subprocess.DEVNULL) as streams:
        async with ClientSession(*streams) as session:
            await session.initialize()
            server = Server(session)
            if load:
                await server.call("load_document", file_path=load)
            return await server.figures()


async def main(program: str) -> None:
    print("| document | call | ours | the original | ratio |\n|---|---|---|---|---|")
    for name, size in SIZES.items():
        with tempfile.TemporaryDirectory() as folder:
            print(f"| {name} | floor | {floor(pathlib.Path(folder), size):.1f} ms | | |", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            library = pathlib.Path(folder)
            (library / "plan.md").write_text(document(size))
            git = ["git", "-C", folder, "-c", "user.name=A Person", "-c", "user.email=person@localhost"]
            for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "-m", "documents"]):
                await asyncio.to_thread(subprocess.run, git + command, check=True)
            served = ["serve", "--library", folder, "--contract", "safe-markdown-editor", "--document", "plan.md"]
            ours = await measure(program, served, None)
            original = [sys.executable, "-m", "quantalogic_markdown_mcp.mcp_server"]
            try:
                theirs = await measure(original[0], original[1:], str(library / "plan.md"))
            except Exception as error:  # as above
                theirs = {"load": str(error)[:60]}
        for kind, figure in ours.items():
            their = theirs.get(kind, theirs.get("load", "-"))
            is_figure = isinstance(figure, float) and isinstance(their, float)
            ratio = f"{their / figure:.1f}" if is_figure else ""
            shown = [f"{it:.1f} ms" if isinstance(it, float) else it for it in (figure, their)]
            print(f"| {name} | {kind} | {shown[0]} | {shown[1]} | {ratio} |", flush=True)


asyncio.run(main(sys.argv[1]))
