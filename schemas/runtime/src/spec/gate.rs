//! Gates: rules of conduct, as schemas of the facts of a call.

use serde::Deserialize;

use crate::{Text, schema::Schema, vocabulary::vocabulary};

vocabulary! {
    /// The time at which a clause is judged.
    #[serde(rename_all = "snake_case")]
    pub enum GateTime {
        /// Before the method is called, on the request and the caller.
        Before,
        /// Once the answer is known, before anything is published.
        After,
    }
}

vocabulary! {
    /// The gravity of a violation, for people. Every violation refuses the call.
    #[derive(PartialOrd, Ord)]
    #[serde(rename_all = "snake_case")]
    pub enum Severity {
        /// It would do little harm.
        Low,
        /// It would spoil the result.
        Medium,
        /// It would harm others.
        High,
    }
}

vocabulary! {
    /// A clause's alternative to refusal.
    #[serde(rename_all = "snake_case")]
    pub enum Asks {
        /// A person reviews the result before it counts. The call goes on.
        Review,
    }
}

vocabulary! {
    /// Facts that only a method knows, for clauses that are judged after it.
    #[serde(rename_all = "snake_case")]
    pub enum Fact {
        /// The subject of the call, before the change.
        Target,
        /// The kept and lost content of the change.
        Plan,
        /// The data that would leave the store.
        Export,
    }
}

/// The names under which clients find gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct GateMembers {
    /// Member of a listed tool or workflow: the names of its gates.
    pub gates: &'static str,
    /// Member of an execution over REST: the verdict of its tool's gates.
    pub verdict: &'static str,
}

impl GateMembers {
    /// The usual names.
    pub const USUAL: Self = Self { gates: "gates", verdict: "compliance" };
}

/// A gate: one principle, in clauses.
#[derive(Debug)]
pub struct GateSpec {
    /// Name of the principle.
    pub name: &'static str,
    /// The clauses, in the contract's order.
    pub clauses: &'static [ClauseSpec],
}

/// A clause: a condition on the facts of a call.
#[derive(Debug)]
pub struct ClauseSpec {
    /// Stable id.
    pub id: &'static str,
    /// Labels of the operations that it is for.
    pub tools: &'static [&'static str],
    /// The time at which it is judged.
    pub at: GateTime,
    /// The alternative to refusal where the facts do not satisfy it; `None` refuses the call.
    pub asks: Option<Asks>,
    /// The gravity of a violation.
    pub severity: Severity,
    /// The violation, as a short sentence.
    pub issue: &'static str,
    /// Advice to the caller.
    pub actionable: &'static str,
    /// The schema of facts that satisfy the clause.
    pub schema: &'static Schema,
    /// Facts that satisfy the clause, and facts that break it.
    pub examples: &'static [GateExample],
}

impl ClauseSpec {
    /// Returns true if it is judged at this time, for calls of the operation `label`.
    pub fn applies(&self, label: &str, at: GateTime) -> bool {
        self.at == at && self.tools.contains(&label)
    }
}

/// An example of facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateExample {
    /// Name of the case.
    pub name: &'static str,
    /// The facts, as JSON.
    pub json: Text,
    /// True if they break the clause, and no other.
    pub breaks: bool,
    /// Documents among which a call leads to these facts, as a JSON object from paths to texts.
    pub documents: Option<Text>,
}
