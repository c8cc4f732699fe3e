//! Origins, and headers that repeat the body.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{call, ensure_harmless, library, message, only_in, post, send};
use crate::{
    check::{Bench, Case, Check, Severity, as_small_as_can_be},
    era::Era,
    judgement::{Judgement, ensure},
    talk::Talk,
    target::streamable::{METHOD, NAME, REVISION as REVISION_HEADER, base64},
};

pub(super) const ORIGIN: Check = Check {
    id: "http/origin",
    severity: Severity::Must,
    guarantees: &[],
    states: "A call that a web page of a foreign origin makes is refused with 403.",
    explains: "A page can have a browser send requests to a server on the same machine, also under a name of its own (DNS \
               rebinding); only the `Origin` header tells. Calls are sent with origins that have nothing to do with the \
               server, with its own address or that of the page in `Host`. Nothing on the disk may change.",
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
                Case::new(format!("{origin}{host}"), Page { origin, rebound })
            })
            .collect())
    },
    judge: origin,
    shrink: as_small_as_can_be,
};

pub(super) const REVISION: Check = Check {
    id: "http/revision-header",
    severity: Severity::Must,
    guarantees: &[],
    states: "An unsupported revision in `MCP-Protocol-Version` is refused with 400.",
    explains: "What a message means is a matter of the revision. Calls are sent with unknown revisions, in a session \
               that was opened with a different one, or (2026-07-28) in header and body alike; then the error must be -32022. \
               Nothing on the disk may change.",
    cases: |_| {
        let revisions = ["1999-01-01", "2199-12-31", "latest"];
        Ok(revisions.map(|revision| Case::new(revision, revision)).into())
    },
    judge: revision,
    shrink: as_small_as_can_be,
};

pub(super) const AGREE: Check = Check {
    id: "http/headers-agree",
    severity: Severity::Must,
    guarantees: &[],
    states: "A request whose headers contradict its body is refused with 400 and error -32020; one \
            whose headers agree is not.",
    explains: "Gateways let through, count and route by `Mcp-Method` and `Mcp-Name`, and never look at the body: a server that \
               does not compare them lets everybody past. Calls are sent with headers that are missing or about something \
               else, and, to be served, with a name in base64 and with header names in other letters.",
    cases: |_| {
        Ok(Headers::ALL
            .map(|headers| Case::new(headers.words(), headers))
            .into())
    },
    judge: agree,
    shrink: as_small_as_can_be,
};

#[derive(Debug, Serialize, Deserialize)]
struct Page {
    origin: String,
    /// Whether `Host` names the page's host, too.
    rebound: bool,
}

fn origin(bench: &Bench<'_>, case: &Case) -> Judgement {
    let page: Page = case.read()?;
    let scene = library(bench)?;
    let mut talk = Talk::open(bench.subject, &scene)?;
    let before = scene.view()?;
    let call = call(bench, &scene, &mut talk)?;
    let mut request = post(&talk, &call)?.with("Origin", &page.origin);
    if page.rebound {
        let host = page.origin.split("://").nth(1).unwrap_or_default();
        request = request.with("Host", host);
    }
    let said = send(&talk, &request)?;
    ensure(said.status == 403, || {
        format!(
            "a call from {} was answered with {} instead of 403",
            page.origin,
            said.shown()
        )
    })?;
    ensure_harmless(&scene, &mut talk, &before)
}

fn revision(bench: &Bench<'_>, case: &Case) -> Judgement {
    let revision: String = case.read()?;
    let scene = library(bench)?;
    let mut talk = Talk::open(bench.subject, &scene)?;
    let before = scene.view()?;
    let mut call = call(bench, &scene, &mut talk)?;
    let stateless = bench.subject.era == Era::Stateless;
    if stateless {
        call["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = revision.as_str().into();
    }
    let request = post(&talk, &call)?.with(REVISION_HEADER, &revision);
    let said = send(&talk, &request)?;
    let code = &said.answer()["error"]["code"];
    ensure(said.status == 400 && (!stateless || *code == -32022), || {
        let code = if stateless { " and error -32022" } else { "" };
        format!(
            "a call of {revision} was answered with {} instead of 400{code}",
            said.shown()
        )
    })?;
    ensure_harmless(&scene, &mut talk, &before)
}

/// What is wrong with the headers, or only looks so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Headers {
    NoMethod,
    OtherMethod,
    MethodInCapitals,
    NoName,
    OtherName,
    NameInCapitals,
    OtherNameInBase64,
    OtherRevision,
    NameInBase64,
    OtherLetters,
}

impl Headers {
    const ALL: [Self; 10] = [
        Self::NoMethod,
        Self::OtherMethod,
        Self::MethodInCapitals,
        Self::NoName,
        Self::OtherName,
        Self::NameInCapitals,
        Self::OtherNameInBase64,
        Self::OtherRevision,
        Self::NameInBase64,
        Self::OtherLetters,
    ];

    fn words(self) -> &'static str {
        match self {
            Self::NoMethod => "no Mcp-Method",
            Self::OtherMethod => "Mcp-Method of another method",
            Self::MethodInCapitals => "Mcp-Method in capitals",
            Self::NoName => "no Mcp-Name",
            Self::OtherName => "Mcp-Name of another tool",
            Self::NameInCapitals => "Mcp-Name in capitals",
            Self::OtherNameInBase64 => "Mcp-Name of another tool, in base64",
            Self::OtherRevision => "MCP-Protocol-Version of another revision",
            Self::NameInBase64 => "Mcp-Name in base64",
            Self::OtherLetters => "names of headers in small letters",
        }
    }

    fn is_fine(self) -> bool {
        matches!(self, Self::NameInBase64 | Self::OtherLetters)
    }
}

fn agree(bench: &Bench<'_>, case: &Case) -> Judgement {
    only_in(bench, Era::Stateless)?;
    let headers: Headers = case.read()?;
    let scene = library(bench)?;
    let mut talk = Talk::open(bench.subject, &scene)?;
    let before = scene.view()?;
    let call = call(bench, &scene, &mut talk)?;
    let name = call["params"]["name"].as_str().unwrap_or_default();
    let in_base64 = |text: &str| format!("=?base64?{}?=", base64(text.as_bytes()));
    let request = post(&talk, &call)?;
    let request = match headers {
        Headers::NoMethod => request.without(METHOD),
        Headers::OtherMethod => request.with(METHOD, "tools/list"),
        Headers::MethodInCapitals => request.with(METHOD, "TOOLS/CALL"),
        Headers::NoName => request.without(NAME),
        Headers::OtherName => request.with(NAME, "conformance-unknown"),
        Headers::NameInCapitals => request.with(NAME, &name.to_uppercase()),
        Headers::OtherNameInBase64 => request.with(NAME, &in_base64("conformance-unknown")),
        Headers::OtherRevision => request.with(REVISION_HEADER, Era::Session.revision()),
        Headers::NameInBase64 => request.with(NAME, &in_base64(name)),
        Headers::OtherLetters => {
            let mut request = request;
            for (name, _) in &mut request.headers {
                name.make_ascii_lowercase();
            }
            request
        }
    };
    let said = send(&talk, &request)?;
    if headers.is_fine() {
        return ensure(said.is_served(), || {
            format!("the call was answered with {}", said.shown())
        });
    }
    let code = &said.answer()["error"]["code"];
    // A request of an older revision is refused for whatever it lacks in that one.
    let is_refused = said.status == 400 && (*code == -32020 || headers == Headers::OtherRevision);
    ensure(is_refused, || {
        format!(
            "the call was answered with {} instead of 400 and error -32020",
            said.shown()
        )
    })?;
    ensure_harmless(&scene, &mut talk, &before)?;
    // Confirms that the headers are the reason: the server does not refuse everything.
    let list = message(&mut talk, "tools/list", json!({}))?;
    let said = send(&talk, &post(&talk, &list)?)?;
    ensure(said.is_served(), || {
        format!("a right request was answered with {}", said.shown())
    })
}
