//! Mutants of the reference with a defect of the HTTP transport.

use super::{Mutant, Specimen, zoo::specimen};

/// Mutants whose defect exists only over HTTP.
pub const HTTP_ZOO: &[Specimen] = &[
    specimen(
        Mutant::HttpAnyOrigin,
        "http-any-origin",
        "pages of any origin may call tools",
        "DNS rebinding protection that is off by default",
        &["http/origin"],
    ),
    specimen(
        Mutant::HttpBadBodyIsFine,
        "http-bad-body-is-fine",
        "a malformed body is answered with success",
        "a handler that catches all exceptions",
        &["http/bad-bodies-status"],
    ),
    specimen(
        Mutant::HttpNotificationsAreOk,
        "http-notifications-are-ok",
        "a notification is answered with 200",
        "a framework's default status",
        &["http/notifications"],
    ),
    specimen(
        Mutant::HttpNoMediaType,
        "http-no-media-type",
        "an answer lacks its content type",
        "a handwritten response",
        &["http/answers"],
    ),
    specimen(
        Mutant::HttpUnknownMethodIsFine,
        "http-unknown-method-is-fine",
        "an unknown method is answered with 200",
        "the status of the older revision",
        &["http/unknown-method"],
    ),
    specimen(
        Mutant::HttpAnyVersion,
        "http-any-version",
        "an unknown revision in the headers is accepted",
        "an ignored header",
        &["http/revision-header"],
    ),
    specimen(
        Mutant::HttpIgnoresHeaders,
        "http-ignores-headers",
        "headers may contradict the body",
        "a server that reads only the body, behind a gateway that reads only the headers",
        &["http/headers-agree"],
    ),
    specimen(
        Mutant::HttpSessionStays,
        "http-session-stays",
        "an ended session remains usable",
        "DELETE answered by a framework",
        &["http/session-ends"],
    ),
    specimen(
        Mutant::HttpUnknownSessionIsBad,
        "http-unknown-session-is-bad",
        "an unknown session is answered with 400",
        "an official SDK's example",
        &["http/unknown-session"],
    ),
    specimen(
        Mutant::HttpGetSaysHello,
        "http-get-says-hello",
        "GET shows a page",
        "a status page at the same path",
        &["http/get"],
    ),
    specimen(
        Mutant::HttpServesPut,
        "http-serves-put",
        "PUT calls tools",
        "a route for all methods",
        &["http/other-methods"],
    ),
    specimen(
        Mutant::HttpMixesClients,
        "http-mixes-clients",
        "of two clients with equal request ids, one receives the other's answers",
        "one SDK transport shared by all clients",
        &["http/clients-apart"],
    ),
];

/// Further mutants whose defect is visible over HTTP, and the HTTP checks that detect it.
pub const ALSO_OVER_HTTP: &[(&str, &[&str])] = &[
    ("dies-on-bad-line", &["http/bad-bodies"]),
    ("loses-racing-edit", &["http/edits-at-once"]),
    ("does-nothing", &["mutation/one-commit"]),
];
