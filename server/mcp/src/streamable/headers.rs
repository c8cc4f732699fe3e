//! Checks the headers of a request and that they agree with its message: intermediaries filter, count and route by headers,
//! without reading the body.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use hyper::{
    HeaderMap, StatusCode,
    header::{ACCEPT, CONTENT_TYPE},
};
use rmcp::{
    ErrorData,
    model::{ConstString as _, ErrorCode, InitializeResultMethod, ProtocolVersion, RequestId},
};
use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::refusal::Refusal;
use crate::shared::Era;

/// Header with the session's id, until 2025-11-25.
pub(super) const SESSION: &str = "mcp-session-id";
/// Header with the id of the event after which a stream resumes.
pub(super) const LAST_EVENT: &str = "last-event-id";
pub(super) const JSON: &str = "application/json";
pub(super) const EVENTS: &str = "text/event-stream";
const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
/// Key in `_meta` of the protocol version, since 2026-07-28.
pub(crate) const VERSION_IN_META: &str = "io.modelcontextprotocol/protocolVersion";

/// Refuses a client that accepts none of an answer's media types.
pub(super) fn accepts(headers: &HeaderMap, kinds: &[&str]) -> Result<(), Refusal> {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|it| it.to_str().ok());
    let accepted: Vec<_> = accepted.flat_map(|it| it.split(',')).filter_map(acceptable).collect();
    let wanted = |kind: &str| {
        let group = kind.split('/').next().unwrap_or_default();
        let any = format!("{group}/*");
        accepted
            .iter()
            .any(|it| it.eq_ignore_ascii_case(kind) || *it == "*/*" || it.eq_ignore_ascii_case(&any))
    };
    if kinds.iter().all(|kind| wanted(kind)) {
        return Ok(());
    }
    let why = format!("`Accept` must have {}", kinds.join(" and "));
    Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, why))
}

/// Returns the media type of an entry of `Accept`, unless its weight is zero (RFC 9110, 12.4.2).
fn acceptable(entry: &str) -> Option<&str> {
    let mut parts = entry.split(';').map(str::trim);
    let kind = parts.next()?;
    let unwanted = parts
        .filter_map(|it| it.split_once('='))
        .any(|(name, weight)| name.trim().eq_ignore_ascii_case("q") && weight.trim().parse() == Ok(0.0));
    (!unwanted).then_some(kind)
}

/// Refuses a body that is not declared as JSON. A cross-origin page can't declare it without a CORS preflight.
pub(crate) fn is_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
    if kind.is_some_and(|kind| kind.eq_ignore_ascii_case(JSON)) {
        return Ok(());
    }
    let why = format!("`Content-Type` must be {JSON}");
    Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why))
}

/// Returns the value of a header that may occur at most once.
pub(crate) fn single<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Refusal> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(mismatch(format!("`{name}` occurs more than once")));
    }
    let value = value.to_str().map(str::trim);
    value.map(Some).map_err(|_| mismatch(format!("`{name}` is not visible ASCII")))
}

/// Returns the era of a request without a message.
pub(super) fn era_of_none(headers: &HeaderMap) -> Result<Era, Refusal> {
    match single(headers, VERSION)? {
        None => Ok(Era::Session),
        Some(version) => parse_version(version).map(era),
    }
}

/// Returns true if a stream may begin with an event without a message, which clients of older revisions can't parse.
pub(super) fn permit_empty_event(headers: &HeaderMap) -> bool {
    let version = single(headers, VERSION).ok().flatten();
    version.is_some_and(|version| version >= ProtocolVersion::V_2025_11_25.as_str())
}

/// Returns the era of a message.
///
/// # Errors
/// If headers and message disagree, or name an unknown revision.
pub(super) fn era_of(headers: &HeaderMap, message: &Map<String, Value>) -> Result<Era, Refusal> {
    let id = || RequestId::deserialize(message.get("id")?).ok();
    agreed(headers, message).map_err(|refusal| refusal.with_id(id()))
}

fn agreed(headers: &HeaderMap, message: &Map<String, Value>) -> Result<Era, Refusal> {
    let method = message.get("method").and_then(Value::as_str);
    let params = message.get("params");
    let named = single(headers, VERSION)?;
    let stated = params.and_then(|params| params["_meta"][VERSION_IN_META].as_str());
    let is_stateless = |stated| parse_version(stated).is_ok_and(|version| era(version) == Era::Stateless);
    // `initialize` always opens a session, unless the headers state a revision without sessions.
    if method == Some(InitializeResultMethod::VALUE) && !stated.is_some_and(is_stateless) {
        let asked = params.and_then(|params| params["protocolVersion"].as_str());
        return match (named, asked) {
            (Some(named), Some(asked)) if named != asked => Err(differs(VERSION, named, asked)),
            _ => Ok(Era::Session),
        };
    }
    let era = match (named, stated) {
        (None, None) => return Ok(Era::Session),
        (None, Some(_)) => {
            return Err(mismatch(format!(
                "the message names its revision in `_meta`, so `{VERSION}` must name it too"
            )));
        }
        (Some(named), Some(stated)) if named != stated => return Err(differs(VERSION, named, stated)),
        // An unknown revision in the message is answered with the supported ones.
        (Some(_), Some(stated)) => parse_version(stated).map_or(Era::Stateless, era),
        (Some(named), None) => era(parse_version(named)?),
    };
    if era == Era::Stateless
        && let Some(method) = method
    {
        says(headers, METHOD, method)?;
        let name = named_in(method).and_then(|key| params?[key].as_str());
        if let Some(name) = name {
            says(headers, NAME, name)?;
        }
    }
    Ok(era)
}

fn era(version: ProtocolVersion) -> Era {
    if version.has_initialize() { Era::Session } else { Era::Stateless }
}

fn parse_version(version: &str) -> Result<ProtocolVersion, Refusal> {
    let mut all = ProtocolVersion::KNOWN_VERSIONS.iter();
    let known = all.find(|it| it.as_str() == version).cloned();
    known.ok_or_else(|| {
        let all: Vec<_> = ProtocolVersion::KNOWN_VERSIONS.iter().map(|it| it.as_str()).collect();
        let why =
            format!("`{VERSION}` {} is not served; these are: {}", version.escape_debug(), all.join(", "));
        let data = serde_json::json!({ "requested": version, "supported": all });
        let error = ErrorData::new(ErrorCode::UNSUPPORTED_PROTOCOL_VERSION, why, Some(data));
        Refusal::with(StatusCode::BAD_REQUEST, error)
    })
}

/// Returns the name of the param that `Mcp-Name` repeats.
fn named_in(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        _ => None,
    }
}

fn says(headers: &HeaderMap, header: &str, value: &str) -> Result<(), Refusal> {
    let Some(found) = single(headers, header)? else {
        return Err(mismatch(format!("`{header}` is missing; it must be {}", value.escape_debug())));
    };
    let encoded = found.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    let agrees = match encoded {
        Some(encoded) => BASE64_STANDARD.decode(encoded).is_ok_and(|decoded| decoded == value.as_bytes()),
        None => found == value,
    };
    if agrees {
        return Ok(());
    }
    Err(differs(header, found, value))
}

fn differs(header: &str, found: &str, value: &str) -> Refusal {
    let (found, value) = (found.escape_debug(), value.escape_debug());
    mismatch(format!("`{header}` says {found}, and the message {value}"))
}

fn mismatch(why: String) -> Refusal {
    let error = ErrorData::new(ErrorCode::HEADER_MISMATCH, why, None);
    Refusal::with(StatusCode::BAD_REQUEST, error)
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};
    use serde_json::json;

    use super::*;

    fn headers(lines: &[&str]) -> HeaderMap {
        let lines = lines.iter().map(|line| line.split_once(": ").unwrap());
        let pairs = lines.map(|(name, value)| {
            (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap())
        });
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name, value);
        }
        headers
    }

    #[test]
    fn kinds_of_answers_are_accepted_by_name_and_by_group() {
        let accepted = |accept: &str| accepts(&headers(&[accept]), &[JSON, EVENTS]).is_ok();
        for accept in [
            "Accept: application/json, text/event-stream",
            "Accept: TEXT/event-stream;q=0.1 ,application/JSON; charset=utf-8",
            "Accept: */*",
            "Accept: application/*, text/*",
        ] {
            assert!(accepted(accept), "{accept}");
        }
        for accept in [
            "Accept: application/json",
            "Accept: text/event-stream",
            "Accept: application/json, text/event-stream;q=0",
            "Accept: application/jsonx, text/event-stream",
            "Other: */*",
        ] {
            assert!(!accepted(accept), "{accept}");
        }
    }

    #[test]
    fn base64_is_read_exactly() {
        for (text, value, agrees) in [
            ("", "", true),
            ("QQ==", "A", true),
            ("QUI=", "AB", true),
            ("QUJD", "ABC", true),
            ("w7zDtmE=", "üöa", true),
            ("QR==", "A", false),
            ("QQ=", "A", false),
            ("QQ", "A", false),
            ("Q", "", false),
            ("Q*==", "", false),
            ("QQ==QQ==", "AA", false),
        ] {
            let headers = headers(&[&format!("{NAME}: =?base64?{text}?=")]);
            assert_eq!(says(&headers, NAME, value).is_ok(), agrees, "{text}");
        }
    }

    #[test]
    fn headers_and_message_say_the_same() {
        let era = |lines: &[&str], method: &str, version: Option<&str>| {
            let mut message = json!({ "id": 1, "method": method, "params": { "name": "ü", "protocolVersion": "2025-11-25" } });
            if let Some(version) = version {
                message["params"]["_meta"] = json!({ VERSION_IN_META: version });
            }
            let message = message.as_object().unwrap();
            era_of(&headers(lines), message).map_err(|refusal| format!("{refusal:?}"))
        };
        let (new, old) = ("Mcp-Protocol-Version: 2026-07-28", "Mcp-Protocol-Version: 2025-11-25");
        let (list, call) = ("Mcp-Method: tools/list", "Mcp-Method: tools/call");
        let name = "Mcp-Name: =?base64?w7w=?=";
        for (lines, method, version, expected) in [
            (&[][..], "tools/list", None, Era::Session),
            (&[old], "tools/list", None, Era::Session),
            (&[old], "initialize", None, Era::Session),
            (&[], "initialize", None, Era::Session),
            (&[], "initialize", Some("2025-11-25"), Era::Session),
            (&[new, "Mcp-Method: initialize"], "initialize", Some("2026-07-28"), Era::Stateless),
            (&[new, list], "tools/list", Some("2026-07-28"), Era::Stateless),
            (&[new, call, name], "tools/call", Some("2026-07-28"), Era::Stateless),
            // The adapter reports the missing keys.
            (&[new, list], "tools/list", None, Era::Stateless),
        ] {
            assert_eq!(era(lines, method, version), Ok(expected), "{lines:?} {method}");
        }
        for (lines, method, version, code) in [
            (&["Mcp-Protocol-Version: 1999-01-01"][..], "tools/list", None, -32022),
            (&["Mcp-Protocol-Version: latest"], "tools/list", None, -32022),
            (&[new], "initialize", None, -32020),
            (&[], "initialize", Some("2026-07-28"), -32020),
            (&[old, list], "tools/list", Some("2026-07-28"), -32020),
            (&[list], "tools/list", Some("2026-07-28"), -32020),
            (&[new], "tools/list", Some("2026-07-28"), -32020),
            (&[new, call], "tools/list", Some("2026-07-28"), -32020),
            (&[new, list, list], "tools/list", Some("2026-07-28"), -32020),
            (&[new, list, new], "tools/list", Some("2026-07-28"), -32020),
            (&[new, call], "tools/call", Some("2026-07-28"), -32020),
            (&[new, call, "Mcp-Name: u"], "tools/call", Some("2026-07-28"), -32020),
            (&[new, call, "Mcp-Name: =?base64?dQ==?="], "tools/call", Some("2026-07-28"), -32020),
            (&[new, call, "Mcp-Name: =?base64??="], "tools/call", Some("2026-07-28"), -32020),
        ] {
            let found = era(lines, method, version).unwrap_err();
            assert!(found.contains(&format!("ErrorCode({code})")), "{lines:?} {method}: {found}");
        }
    }
}
