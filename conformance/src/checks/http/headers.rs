//! `Origin`, and headers that repeat parts of the body.

use super::exchange::{Exchange, only_in};
use crate::{
    checks::prelude::*,
    era::Era,
    target::streamable::{METHOD, NAME, REVISION as REVISION_HEADER, in_base64},
};

pub(super) const ORIGIN: Check = Check {
    id: "http/origin",
    guarantees: &[],
    states: "A call that a web page of a foreign origin makes is refused with 403.",
    explains: "A page can have a browser send requests to a server on the same machine, also under a host name of \
               its own (DNS rebinding); only the `Origin` header reveals it. Calls (of a server without a tool known to \
               read or write, requests for its tools) are sent with foreign origins, with the server's own address or the page's host in `Host`. No file may change.",
    cases: |_| {
        let origins = [
            ("http://attacker.example", false),
            ("http://attacker.example", true),
            ("https://localhost.attacker.example", false),
            ("http://127.0.0.1.attacker.example:80", true),
        ];
        Ok(origins
            .into_iter()
            .map(|(origin, rebound)| {
                let host = if rebound { ", and its name in `Host`" } else { "" };
                let origin = origin.to_owned();
                Case::new(format!("{origin}{host}"), ForeignPage { origin, rebound })
            })
            .collect())
    },
    ..Check::must(origin)
};

pub(super) const REVISION: Check = Check {
    id: "http/revision-header",
    guarantees: &[],
    states: "An unsupported revision in `MCP-Protocol-Version` is refused with 400.",
    explains: "The revision determines the meaning of a message. Calls are sent with unknown revisions: in a session \
               that was opened with a different one, or (2026-07-28) in both header and body; then the error must be \
               -32022. No file may change.",
    cases: |_| {
        let revisions = ["1999-01-01", "2199-12-31", "latest"];
        Ok(revisions.map(|revision| Case::new(revision, revision)).into())
    },
    ..Check::must(revision)
};

pub(super) const CONSISTENT: Check = Check {
    id: "http/headers-agree",
    guarantees: &[],
    states: "A request whose headers contradict its body is refused with 400 and error -32020; one whose headers \
             agree is not.",
    explains: "Gateways authorize, count and route requests by `Mcp-Method` and `Mcp-Name` without reading the body. \
               A server that does not compare them lets a client bypass the gateway. Calls are sent with missing and \
               with contradictory headers. Calls with the name in base64 and with lower-case header names must \
               succeed.",
    cases: |_| Ok(HeaderChange::ALL.map(|headers| Case::new(headers.name(), headers)).into()),
    ..Check::must(consistent)
};

/// A web page that calls the server.
#[derive(Debug, Serialize, Deserialize)]
struct ForeignPage {
    origin: String,
    /// True if `Host` also names the page's host.
    rebound: bool,
}

fn origin(bench: &Bench<'_>, case: &Case) -> Judgement {
    let page: ForeignPage = case.read()?;
    let mut exchange = Exchange::open(bench)?;
    let call = exchange.call()?;
    let mut request = exchange.post(&call)?.with("Origin", &page.origin);
    if page.rebound {
        let host = page.origin.split("://").nth(1).unwrap_or_default();
        request = request.with("Host", host);
    }
    let response = exchange.send(&request)?;
    ensure(response.status == 403, || {
        format!("a call from {} was answered with {} instead of 403", page.origin, response.describe())
    })?;
    exchange.ensure_harmless()
}

fn revision(bench: &Bench<'_>, case: &Case) -> Judgement {
    let revision: String = case.read()?;
    let mut exchange = Exchange::open(bench)?;
    let mut call = exchange.call()?;
    let stateless = bench.subject.era == Era::Stateless;
    if stateless {
        call["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = revision.as_str().into();
    }
    let request = exchange.post(&call)?.with(REVISION_HEADER, &revision);
    let response = exchange.send(&request)?;
    let code = &response.answer()["error"]["code"];
    ensure(response.status == 400 && (!stateless || *code == -32022), || {
        let code = if stateless { " and error -32022" } else { "" };
        format!(
            "a call with the revision {revision} was answered with {} instead of 400{code}",
            response.describe()
        )
    })?;
    exchange.ensure_harmless()
}

named! {
    /// Changed headers: contradictory ones, and valid but unusual ones.
    enum HeaderChange {
        NoMethod = "no Mcp-Method",
        OtherMethod = "Mcp-Method of another method",
        MethodInCapitals = "Mcp-Method in capitals",
        NoName = "no Mcp-Name",
        OtherName = "Mcp-Name of another tool",
        NameInCapitals = "Mcp-Name in capitals",
        OtherNameInBase64 = "Mcp-Name of another tool, in base64",
        OtherRevision = "MCP-Protocol-Version of another revision",
        NameInBase64 = "Mcp-Name in base64",
        OtherLetters = "header names in lower case",
    }
}

impl HeaderChange {
    /// Returns true if the headers name a tool.
    fn is_of_tool(self) -> bool {
        use HeaderChange::{NameInBase64, NameInCapitals, NoName, OtherName, OtherNameInBase64};
        matches!(self, NoName | OtherName | NameInCapitals | OtherNameInBase64 | NameInBase64)
    }

    /// Returns true if the server must accept the headers.
    fn is_valid(self) -> bool {
        matches!(self, Self::NameInBase64 | Self::OtherLetters)
    }
}

fn consistent(bench: &Bench<'_>, case: &Case) -> Judgement {
    only_in(bench, Era::Stateless)?;
    let headers: HeaderChange = case.read()?;
    let mut exchange = Exchange::open(bench)?;
    let call = exchange.call()?;
    let name = call["params"]["name"].as_str().unwrap_or_default();
    if name.is_empty() && headers.is_of_tool() {
        return Err(not_applicable("the server has no tool that is known to read or write"));
    }
    let request = exchange.post(&call)?;
    let request = match headers {
        HeaderChange::NoMethod => request.without(METHOD),
        HeaderChange::OtherMethod => request.with(METHOD, "prompts/list"),
        HeaderChange::MethodInCapitals => {
            request.with(METHOD, &call["method"].as_str().unwrap_or_default().to_uppercase())
        }
        HeaderChange::NoName => request.without(NAME),
        HeaderChange::OtherName => request.with(NAME, "conformance-unknown"),
        HeaderChange::NameInCapitals => request.with(NAME, &name.to_uppercase()),
        HeaderChange::OtherNameInBase64 => request.with(NAME, &in_base64("conformance-unknown")),
        HeaderChange::OtherRevision => request.with(REVISION_HEADER, Era::Session.revision()),
        HeaderChange::NameInBase64 => request.with(NAME, &in_base64(name)),
        HeaderChange::OtherLetters => {
            let mut request = request;
            for (name, _) in &mut request.headers {
                name.make_ascii_lowercase();
            }
            request
        }
    };
    let response = exchange.send(&request)?;
    if headers.is_valid() {
        return ensure(response.is_success(), || {
            format!("the call was answered with {}", response.describe())
        });
    }
    let code = &response.answer()["error"]["code"];
    // A request of an older revision can also be refused for violating that revision's requirements.
    let is_refused = response.status == 400 && (*code == -32020 || headers == HeaderChange::OtherRevision);
    ensure(is_refused, || {
        format!("the call was answered with {} instead of 400 and error -32020", response.describe())
    })?;
    exchange.ensure_harmless()?;
    // Shows that the headers were the reason: the server accepts a valid request.
    let list = exchange.message("tools/list", json!({}))?;
    let response = exchange.say(&list)?;
    ensure(response.is_success(), || format!("a valid request was answered with {}", response.describe()))
}
