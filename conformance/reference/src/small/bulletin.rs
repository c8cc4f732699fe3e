//! Notices, for callers of several roles. The house rules are written out here, independently of the contract's clauses.

use serde_json::{Value, json};
use tabellion_runtime::ContractSpec;

use super::{Answer, Call, ContractServer, Library, Refusal};
use crate::mutant::{Mutant, is};

/// The example of `tabellion-codegen`.
#[path = "../../../../codegen/examples/bulletin/generated/bulletin.rs"]
#[rustfmt::skip]
#[allow(dead_code, unreachable_pub, reason = "the server has rules of its own")]
mod generated;

pub(crate) static CONTRACT: &ContractSpec = &generated::CONTRACT;

/// The roles.
pub(crate) const ROLES: [&str; 4] = ["owner", "reviewer", "reader", "agent"];

/// A violated rule: gate, clause, severity, problem, and advice.
type Broken = (&'static str, &'static str, &'static str, &'static str, &'static str);

const NO_REASON: Broken = (
    "accountability",
    "agents_say_why",
    "high",
    "An agent's notice needs a reason",
    "say in `reason` who asked for it",
);
const NO_WORDS: Broken =
    ("manners", "says_something", "medium", "The notice says nothing", "write words into `text`");
const HURRIES: Broken = ("manners", "agents_are_calm", "low", "Only owners may hurry", "leave out `urgent`");
const LOSES_WORDS: Broken = (
    "manners",
    "others_keep_their_words",
    "high",
    "The notice would lose most of what it says",
    "keep at least half of its text, or remove the notice",
);
const CONFIDENTIAL: Broken = (
    "discretion",
    "confidential_notices_stay",
    "high",
    "The notice is confidential",
    "ask an owner to read it",
);

pub(super) struct Bulletin {
    library: Library,
    /// Role of the client; an agent's if the operator specifies none.
    role: String,
    /// The last request that a mutant refused.
    refused: Option<Value>,
    /// Id of the execution, which commits name.
    execution: Option<String>,
}

impl Bulletin {
    pub(super) fn new(library: Library, role: Option<&str>) -> Self {
        let role = role.unwrap_or("agent");
        let role = if is(Mutant::UnknownIsOwner) && !ROLES.contains(&role) { "owner" } else { role };
        Self { library, role: role.to_owned(), refused: None, execution: None }
    }

    /// Names an execution in the commits.
    pub(super) fn in_execution(self, id: &str) -> Self {
        Self { execution: Some(id.to_owned()), ..self }
    }

    /// Writes or removes a notice in one commit, whose message names the execution.
    fn commit(&self, path: &str, text: Option<&[u8]>, what: &str) -> Result<(), Refusal> {
        let named = self.execution.iter().filter(|_| !is(Mutant::CommitsNameNoExecution));
        let named: String = named.map(|id| format!("\n\nExecution: {id}")).collect();
        self.library.write(path, text, &format!("{what} {path}{named}"))
    }

    /// Returns the refusal of a caller who may not do this, if it is one.
    pub(super) fn unknown(&self, operation: &str) -> Option<Answer> {
        let may: &[&str] = match operation {
            "read_notice" => &ROLES,
            _ => &["owner", "agent"],
        };
        let is_known = ROLES.contains(&&*self.role);
        if may.contains(&&*self.role) || (is(Mutant::IgnoresRoles) && is_known) {
            return None;
        }
        let reason = if is_known { "role" } else { "missing" };
        let details = json!({ "reason": reason, "needs": may });
        Some(error("AUTH_REQUIRED", 401, "you may not do this", details, &[]))
    }

    /// Returns true if the caller's notices wait for review.
    fn waits(&self) -> bool {
        self.role == "agent" && !is(Mutant::AsksForNoReview)
    }

    /// Returns the path of the notice that a call reads or writes.
    pub(super) fn written(&self, operation: &str, arguments: &Value) -> String {
        let path = arguments["path"].as_str().unwrap_or_default();
        if operation == "post_notice" && self.waits() { format!("waiting/{path}") } else { path.to_owned() }
    }

    /// Returns the rules that a call violates before it is made.
    fn broken(&self, operation: &str, arguments: &Value) -> Vec<Broken> {
        let text = |name: &str| arguments[name].as_str().unwrap_or_default();
        let (is_agent, posts) = (self.role == "agent", operation == "post_notice");
        let rules = [
            (NO_REASON, posts && is_agent && text("reason").trim().is_empty()),
            (
                NO_WORDS,
                posts && !text("text").chars().any(char::is_alphanumeric) && !is(Mutant::SkipsAClause),
            ),
            (HURRIES, operation != "read_notice" && self.role != "owner" && arguments["urgent"] == true),
        ];
        let broken = rules.into_iter().filter(|(_, is_broken)| *is_broken);
        broken.map(|(rule, _)| rule).collect()
    }

    fn refuse(
        &mut self,
        operation: &str,
        arguments: &Value,
        mut broken: Vec<Broken>,
    ) -> Result<Option<Answer>, Refusal> {
        if broken.is_empty() {
            return Ok(None);
        }
        if is(Mutant::ForgivesTheSecond) && self.refused.as_ref() == Some(arguments) {
            return Ok(None);
        }
        self.refused = Some(arguments.clone());
        if is(Mutant::SaysTheFirst) {
            broken.truncate(1);
        }
        if is(Mutant::WritesAllTheSame) && operation != "read_notice" {
            let text = arguments["text"].as_str().unwrap_or_default();
            self.library.write("draft.md", Some(text.as_bytes()), "draft draft.md")?;
        }
        let mut gates: Vec<_> = broken.iter().map(|rule| rule.0).collect();
        gates.dedup();
        let asks = operation == "post_notice" && self.role == "agent";
        let details = json!({ "gates": gates, "requires_review": asks });
        let message = "the call breaks the house rules";
        Ok(Some(error("VIOLATION", 4030, message, details, &broken)))
    }

    fn make(&mut self, operation: &str, arguments: &Value) -> Result<Answer, Refusal> {
        let path = arguments["path"].as_str().unwrap_or_default();
        let old = self.library.read(path)?;
        let old_text = old.as_deref().map(String::from_utf8_lossy);
        let text = arguments["text"].as_str().unwrap_or_default();
        if operation != "post_notice" && old.is_none() {
            let details = json!({ "reason": "not_found" });
            return Ok(error("INVALID", -32602, "there is no such notice", details, &[]));
        }
        let late = match (operation, &old_text) {
            ("read_notice", Some(old))
                if self.role != "owner" && old.to_lowercase().contains("confidential") =>
            {
                vec![CONFIDENTIAL]
            }
            ("post_notice", Some(old)) if text.len() * 100 / old.len().max(1) < 50 => vec![LOSES_WORDS],
            _ => vec![],
        };
        let late = if is(Mutant::LooksOnlyBefore) { vec![] } else { late };
        if let Some(refusal) = self.refuse(operation, arguments, late)? {
            return Ok(refusal);
        }
        let waits = self.waits() && operation == "post_notice";
        let meta = json!({ "tabellion/gates": { "requires_review": waits } });
        let response = match operation {
            "read_notice" => json!({ "path": path, "text": old_text }),
            "post_notice" => {
                let path = self.written(operation, arguments);
                self.commit(&path, Some(text.as_bytes()), "post")?;
                json!({ "path": path, "status": if waits { "waiting" } else { "posted" } })
            }
            _ => {
                self.commit(path, None, "remove")?;
                json!({ "path": path })
            }
        };
        Ok(Answer::Noted { response, meta })
    }
}

impl ContractServer for Bulletin {
    fn call(&mut self, call: &Call<'_>) -> Result<Answer, Refusal> {
        let Call { operation, arguments, .. } = call;
        if let Some(refusal) = self.unknown(operation) {
            return Ok(refusal);
        }
        let broken = self.broken(operation, arguments);
        if let Some(refusal) = self.refuse(operation, arguments, broken)? {
            return Ok(refusal);
        }
        self.make(operation, arguments)
    }
}

/// Returns an error as a result.
pub(super) fn error(name: &str, code: i64, message: &str, details: Value, broken: &[Broken]) -> Answer {
    let violations = broken.iter().map(|(principle, clause, severity, issue, actionable)| {
        json!({
            "principle": principle,
            "issue": issue,
            "severity": severity,
            "actionable": actionable,
            "clause": clause,
        })
    });
    let violations: Vec<_> = violations.collect();
    Answer::Error {
        message: message.to_owned(),
        body: json!({ "error": { "code": name, "message": message, "details": details, "violations": violations } }),
        meta: json!({ "tabellion/error": { "code": code, "name": name, "data": details } }),
    }
}
