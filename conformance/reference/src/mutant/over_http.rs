//! Mutants of the reference that are wrong over HTTP only.

use super::{Mutant, Specimen, zoo::specimen};

/// The mutants whose defect exists over HTTP only.
pub const HTTP_ZOO: &[Specimen] = &[
    specimen(
        Mutant::HttpAnyOrigin,
        "http-any-origin",
        "a page from anywhere may call tools",
        "DNS rebinding protection that is off unless it is configured",
        &["http/origin"],
    ),
    specimen(
        Mutant::HttpBadBodyIsFine,
        "http-bad-body-is-fine",
        "a body that is no message is answered with success",
        "a handler that catches everything",
        &["http/bad-bodies-status"],
    ),
    specimen(
        Mutant::HttpNotificationsAreOk,
        "http-notifications-are-ok",
        "a notification is answered with 200",
        "a framework's usual status",
        &["http/notifications"],
    ),
    specimen(
        Mutant::HttpNoMediaType,
        "http-no-media-type",
        "an answer does not say that it is JSON or a stream of events",
        "a response that is written by hand",
        &["http/answers"],
    ),
    specimen(
        Mutant::HttpUnknownMethodIsFine,
        "http-unknown-method-is-fine",
        "an unknown method is answered with 200",
        "the status of the era of sessions",
        &["http/unknown-method"],
    ),
    specimen(
        Mutant::HttpAnyVersion,
        "http-any-version",
        "an unknown revision in the headers is accepted",
        "a header that is never read",
        &["http/revision-header"],
    ),
    specimen(
        Mutant::HttpIgnoresHeaders,
        "http-ignores-headers",
        "headers and body may say different things",
        "a server that reads the body alone, behind a gateway that reads the headers alone",
        &["http/headers-agree"],
    ),
    specimen(
        Mutant::HttpSessionStays,
        "http-session-stays",
        "a session that was ended goes on",
        "a DELETE that is answered by a framework",
        &["http/session-ends"],
    ),
    specimen(
        Mutant::HttpUnknownSessionIsBad,
        "http-unknown-session-is-bad",
        "a session that is not there is answered with 400",
        "an example of an official SDK",
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
        "of two clients that use the same ids one gets the other's answers",
        "one transport of an SDK for all clients",
        &["http/clients-apart"],
    ),
];

/// Other mutants that break something over HTTP as well, and the checks that detect it.
pub const ALSO_OVER_HTTP: &[(&str, &[&str])] = &[
    ("dies-on-bad-line", &["http/bad-bodies"]),
    ("loses-racing-edit", &["http/edits-at-once"]),
    ("does-nothing", &["mutation/one-commit"]),
];
