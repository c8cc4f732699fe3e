"""Meets a server that wants tokens, with the `mcp` package from PyPI, which gets them from an authorization server.

    python authorized.py FOLDER PROGRAM NODE PACKAGE

FOLDER is the library, as `cargo lab interop` makes it; PROGRAM is the server; NODE runs `authority.mjs` with PACKAGE, which is
npm's `oidc-provider`. Clients are told the server's URL and find out the rest. Works with both major versions of `mcp`. Prints
each step, and fails where an answer or git's history is not what it should be.
"""

import asyncio
import contextlib
import json
import pathlib
import socket
import subprocess
import sys
from urllib.parse import parse_qsl, urljoin, urlsplit

from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

from meet import STATELESS, commits, of

try:
    import httpx2 as httpx
    from mcp.client.auth import AuthorizationCodeResult
except ImportError:
    import httpx

    def AuthorizationCodeResult(code, state, iss):
        return code, state


# Where a browser is sent back to; nobody listens there.
BACK = "http://127.0.0.1:1/back"
# How long all of it may take, and how often to look whether the server is ready, in seconds.
PATIENCE = 150
OFTEN = 0.1


def free_address():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return "127.0.0.1:{1}".format(*listener.getsockname())


class Authority:
    """The authorization server, which is not always there."""

    def __init__(self, node, package):
        address = free_address()
        self.issuer = f"http://{address}"
        script = pathlib.Path(__file__).with_name("authority.mjs")
        self.command = [node, script, package, address.split(":")[1]]

    @contextlib.contextmanager
    def there(self):
        """Starts it, with new keys and clients, and ends it."""
        with subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            try:
                self.secrets = json.loads(process.stdout.readline())
                yield
            finally:
                process.kill()

    async def token(self, client, resource):
        """A token for a client that needs no person, asked for by hand."""
        asked = {"grant_type": "client_credentials", "resource": resource, "scope": "read"}
        async with httpx.AsyncClient(auth=(client, self.secrets[client])) as http:
            answer = await http.post(f"{self.issuer}/token", data=asked)
        return answer.raise_for_status().json()["access_token"]


@contextlib.contextmanager
def served(program, library, issuer):
    """The server's URL, for as long as it is there."""
    address = free_address()
    command = [program, "serve", "--library", library, "--http", address, "--public-url", f"http://{address}"]
    command += ["--oauth-issuer", issuer, "--oauth-jwks", f"{issuer}/jwks"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield next(line.split("listening on ")[1].strip() for line in process.stderr if "listening on " in line)
        finally:
            process.kill()


async def answered(url, path, token=None):
    """Status and text of what somebody with this token gets."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx.AsyncClient() as http:
        answer = await http.get(urljoin(url, path), headers=headers)
    return answer.status_code, answer.text


class Memory:
    """What a client keeps: nothing beyond its life."""

    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Person:
    """Whoever sits at a browser, and consents."""

    def __init__(self):
        self.scopes = []

    async def visit(self, url):
        asked = dict(parse_qsl(urlsplit(url).query))["scope"].split()
        # To stay logged in is between the client and the authorization server.
        self.scopes.append({scope for scope in asked if scope != "offline_access"})
        async with httpx.AsyncClient() as browser:
            while not url.startswith(BACK):
                url = urljoin(url, (await browser.get(url)).headers["location"])
        self.answer = dict(parse_qsl(urlsplit(url).query))

    async def come_back(self):
        return AuthorizationCodeResult(**self.answer)


@contextlib.asynccontextmanager
async def session(url, auth):
    async with httpx.AsyncClient(auth=auth) as http:
        async with streamable_http_client(url, http_client=http) as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                await (session.discover() if STATELESS else session.initialize())
                yield session


async def read(session):
    result = await session.call_tool("read_markdown", {"path": "notes/idea.md"})
    assert not of(result, "isError", "is_error"), result


async def write(session, library, author):
    before = commits(library)
    arguments = {"path": f"notes/{before}.md", "content": f"# By {author}\n"}
    result = await session.call_tool("write_markdown", arguments)
    assert not of(result, "isError", "is_error"), result
    command = ["git", "-C", library, "log", "-1", "--format=%an"]
    answer = await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True, text=True)
    found = answer.stdout.strip()
    assert (commits(library), found) == (before + 1, author), found


async def meet(url, authority, library):
    person = Person()
    wanted = OAuthClientMetadata(client_name="authorized.py", redirect_uris=[BACK])
    auth = OAuthClientProvider(url, wanted, Memory(), person.visit, person.come_back)
    async with session(url, auth) as found:
        await read(found)
        assert person.scopes == [{"read"}], person.scopes
        await write(found, library, "Ada")
        assert len(person.scopes) == 2 and "write" in person.scopes[1], person.scopes
    print("a person consented to read, and then to write")

    robot = ("robot", authority.secrets["robot"])
    auth = ClientCredentialsOAuthProvider(url, Memory(), *robot, issuer=authority.issuer)
    async with session(url, auth) as found:
        await read(found)
        await write(found, library, "robot")
    print("a robot read and wrote")


async def main(library, program, node, package):
    authority = Authority(node, package)
    with served(program, library, authority.issuer) as url:
        assert (await answered(url, "/readyz"))[0] == 503
        with authority.there():
            while (await answered(url, "/readyz"))[0] != 200:
                await asyncio.sleep(OFTEN)
            await meet(url, authority, library)
            token = await authority.token("robot", url)
            elsewhere, late = await authority.token("robot", BACK), await authority.token("late", url)
        assert (await answered(url, "/metrics", token))[0] == 200
        print("a token is good while the authorization server is away")
        for bad, why in [(elsewhere, "not for this server"), (late, "expired")]:
            status, text = await answered(url, "/metrics", bad)
            assert status == 401 and why in text, text
        print("tokens for others, and old ones, are refused")
        with authority.there():
            await meet(url, authority, library)
        assert (await answered(url, "/metrics", token))[0] == 401
        print("new keys are known at once, and the old ones no longer")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    asyncio.run(asyncio.wait_for(main(*sys.argv[1:]), PATIENCE))
