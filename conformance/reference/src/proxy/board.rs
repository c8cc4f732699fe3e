//! Defects of notices, whose callers have roles and whose calls pass gates.

use std::{fs, io};

use serde_json::{Value, json};
use tabellion_runtime::ContractSpec;

use super::{
    disk::git,
    message::{Call, Reply},
    server::Proxy,
};
use crate::mutant::{self, Mutant};

/// The example of `tabellion-codegen`.
#[path = "../../../../codegen/examples/bulletin/generated/bulletin.rs"]
#[rustfmt::skip]
#[allow(dead_code, unreachable_pub, reason = "its service is that of the product's server")]
mod generated;

pub(crate) static CONTRACT: &ContractSpec = &generated::CONTRACT;

/// Start of the argument that names the client's role.
const ROLE: &str = "--as=";
/// The role that may do everything.
pub(super) const OWNER: &str = "owner";
/// Clauses that are judged with the answer.
const LATE: [&str; 2] = ["others_keep_their_words", "confidential_notices_stay"];
/// Fact of this process: the last call that was refused.
const REFUSED: &str = "refused";

/// Returns the server's arguments, with another role.
pub(super) fn with_role(arguments: &[String]) -> Vec<String> {
    let is_known = |role: &str| CONTRACT.auth.is_some_and(|auth| auth.roles.iter().any(|it| it.name == role));
    let changed = |word: &String| {
        let role = word.strip_prefix(ROLE)?;
        let is_changed = match mutant::current()? {
            Mutant::UnknownIsOwner => !is_known(role),
            Mutant::IgnoresRoles => is_known(role),
            _ => false,
        };
        is_changed.then(|| format!("{ROLE}{OWNER}"))
    };
    arguments.iter().map(|word| changed(word).unwrap_or_else(|| word.clone())).collect()
}

/// Answers a call about notices as the mutant does.
pub(super) fn answer(mutant: Mutant, mut call: Call, proxy: &mut Proxy) -> io::Result<Reply> {
    let text = call.text("text").to_owned();
    if mutant == Mutant::SkipsAClause && !text.chars().any(char::is_alphanumeric) {
        call = call.with("text", format!("x{text}"));
    }
    let mut reply = proxy.forward(&call)?;
    let result = &mut reply.0["result"];
    if mutant == Mutant::AsksForNoReview && result["isError"] != true {
        result["_meta"]["tabellion/gates"]["requires_review"] = false.into();
    }
    let Some(violations) = result["structuredContent"]["error"]["violations"].as_array_mut() else {
        return Ok(reply);
    };
    if violations.is_empty() {
        return Ok(reply);
    }
    let is_late = violations.iter().all(|it| LATE.iter().any(|clause| it["clause"] == *clause));
    let made = Value::from(call.arguments.clone());
    let is_again = proxy.record.here(REFUSED) == Some(&made);
    proxy.record.set_here(REFUSED, made);
    match mutant {
        Mutant::SaysTheFirst => violations.truncate(1),
        Mutant::WritesAllTheSame => {
            fs::write(proxy.folder.join("draft.md"), text)?;
            git(&proxy.folder, &["add", "draft.md"])?;
            git(&proxy.folder, &["commit", "--quiet", "--allow-empty", "-m", "draft"])?;
        }
        Mutant::LooksOnlyBefore if !is_late => {}
        Mutant::ForgivesTheSecond if !is_again => {}
        Mutant::LooksOnlyBefore | Mutant::ForgivesTheSecond => {
            let path = call.text("path");
            let text = fs::read_to_string(proxy.folder.join(path)).unwrap_or_default();
            return Ok(proxy.respond(match &*call.tool {
                "read_notice" => json!({ "path": path, "text": text }),
                "post_notice" => json!({ "path": path, "status": "posted" }),
                _ => json!({ "path": path }),
            }));
        }
        _ => {}
    }
    Ok(reply)
}
