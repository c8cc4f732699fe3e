//! Gates: judge whether the facts of a call satisfy the contract's principles, and whether a person must review its result.
//!
//! The facts are one JSON object, made here: `tool`, `request` with its defaults filled in, `names` of its members, and `caller`; after the
//! method also `answer`, and the method's own facts `target`, `plan` and `export`. [`judge`] reads only these, so the same facts always have
//! the same outcome. It judges all clauses, so a refusal names all violations.

mod report;

use serde_json::{Map, Value, json};

pub use self::report::{GateOutcome, GateViolation, Report, VIOLATIONS};
use crate::{
    answer::Rejection,
    boundary::failed,
    call::Notes,
    caller::KnownCaller,
    context::{CallContext, Verdict},
    failure::ContractError,
    meta::GATES,
    spec::{GateTime, ToolSpec},
    text,
};

/// Name of the gates' verdict among the details of a log entry.
pub const DETAIL: &str = "gates";

/// Judges the facts of a call of `tool`, which is an operation, by the clauses of its gates for this time.
pub fn judge(tool: &'static ToolSpec, at: GateTime, facts: &Value) -> Report {
    let mut report = Report::default();
    for gate in tool.gates {
        let mut outcome = GateOutcome { gate: gate.name, approved: true, requires_review: false };
        let clauses = gate.clauses.iter();
        for clause in clauses.filter(|clause| clause.applies(tool.label(), at)) {
            if clause.schema.check(facts).is_ok() {
                continue;
            }
            if clause.asks.is_some() {
                outcome.requires_review = true;
                continue;
            }
            outcome.approved = false;
            report.violations.push(GateViolation {
                principle: gate.name,
                issue: clause.issue,
                severity: clause.severity,
                actionable: clause.actionable,
                clause: clause.id,
            });
        }
        report.gates.push(outcome);
    }
    report
}

/// Returns the facts that are known before the method is called.
pub fn facts(tool: &ToolSpec, caller: Option<&KnownCaller>, arguments: &Value) -> Map<String, Value> {
    let mut request = arguments.clone();
    fill_defaults(&tool.input.wire(), &mut request);
    let names = names(&request);
    let caller = caller.map_or_else(|| json!({ "roles": [] }), KnownCaller::to_facts);
    Map::from_iter([
        ("tool".to_owned(), tool.label().into()),
        ("request".to_owned(), request),
        ("names".to_owned(), names.into()),
        ("caller".to_owned(), caller),
    ])
}

/// Returns the names of a request's members at any depth, as [readings](text::reading).
pub fn names(request: &Value) -> Vec<String> {
    match request {
        Value::Object(members) => {
            let below = members.iter().flat_map(|(name, value)| [vec![text::reading(name)], names(value)]);
            below.flatten().collect()
        }
        Value::Array(items) => items.iter().flat_map(names).collect(),
        _ => vec![],
    }
}

/// Adds the defaults of absent members.
pub fn fill_defaults(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                if let Some(member) = members.get_mut(name) {
                    fill_defaults(property, member);
                } else if let Some(default) = property.get("default") {
                    members.insert(name.clone(), default.clone());
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill_defaults(&schema["items"], item)),
        _ => {}
    }
}

/// The gates of one call.
pub(crate) struct CallGates {
    tool: &'static ToolSpec,
    verdict: Verdict,
    facts: Map<String, Value>,
    before: Report,
}

impl CallGates {
    /// Judges the call before its method is called. `facts` are `None` for a tool without gates.
    pub(crate) fn open<Error: ContractError>(
        tool: &'static ToolSpec,
        call: &CallContext,
        facts: Option<Map<String, Value>>,
    ) -> Result<Self, Rejection> {
        let mut gates =
            Self { tool, verdict: call.verdict.clone(), facts: Map::new(), before: Report::default() };
        if let Some(facts) = facts {
            let facts = Value::Object(facts);
            gates.before = judge(tool, GateTime::Before, &facts);
            gates.verdict.put(gates.before.to_value());
            refuse::<Error>(tool, &gates.before)?;
            if let Value::Object(facts) = facts {
                gates.facts = facts;
            }
        }
        Ok(gates)
    }

    /// Returns the notes for one call of the method; the method can read the verdict from them.
    pub(crate) fn notes(&self) -> Notes {
        Notes::under(self.before.clone())
    }

    /// Judges the answer, and records the verdict in the notes.
    pub(crate) fn close<Error: ContractError>(&self, notes: &Notes, answer: &Value) -> Result<(), Rejection> {
        if self.tool.gates.is_empty() {
            return Ok(());
        }
        let mut facts = self.facts.clone();
        facts.extend(notes.facts());
        facts.insert("answer".into(), answer.clone());
        let mut report = self.before.clone();
        report.add(judge(self.tool, GateTime::After, &facts.into()));
        let said = report.to_value();
        self.verdict.put(said.clone());
        refuse::<Error>(self.tool, &report)?;
        notes.put(GATES, said);
        Ok(())
    }

    /// Returns the detail for the log; `None` for a tool without gates. A published change is an approved one.
    pub(crate) fn detail(&self) -> Option<Value> {
        let gates = &self.before.gates;
        let names: Vec<_> = gates.iter().map(|gate| gate.gate).collect();
        (!names.is_empty())
            .then(|| json!({ "passed": names, "requires_review": self.before.requires_review() }))
    }
}

/// Returns the facts of a call, if its operation has gates.
pub(crate) fn asked(
    tool: &'static ToolSpec,
    call: &CallContext,
    arguments: &Value,
) -> Option<Map<String, Value>> {
    (!tool.gates.is_empty()).then(|| facts(tool, call.caller.as_deref(), arguments))
}

fn refuse<Error: ContractError>(tool: &'static ToolSpec, report: &Report) -> Result<(), Rejection> {
    match report.failure() {
        Some(failure) => Err(failed::<Error>(tool, failure)),
        None => Ok(()),
    }
}
