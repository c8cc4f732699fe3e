//! Gates: rules of conduct, as schemas of the facts of a call.

use crate::{Text, schema::Schema, vocabulary::vocabulary};

vocabulary! {
    /// When a clause is judged.
    #[serde(rename_all = "snake_case")]
    pub enum GateTime {
        /// Before the method is called, on the request and the caller.
        Before,
        /// Once the answer is known, before anything is published.
        After,
    }
}

vocabulary! {
    /// How grave a violation is, for people. Every violation refuses the call.
    #[derive(PartialOrd, Ord)]
    #[serde(rename_all = "snake_case")]
    pub enum Severity {
        /// Little harm would come of it.
        Low,
        /// It would spoil the result.
        Medium,
        /// It would harm others.
        High,
    }
}

vocabulary! {
    /// What a clause asks for instead of a refusal.
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
        /// What the call is about, as it was before.
        Target,
        /// What the change keeps and loses.
        Plan,
        /// What would leave the store.
        Export,
    }
}

/// The names under which clients find gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateMembers {
    /// Member of a listed tool or workflow: the names of its gates.
    pub gates: &'static str,
    /// Member of an execution over REST: the verdict of its tool's gates.
    pub verdict: &'static str,
}

impl GateMembers {
    /// The usual names.
    pub const USUAL: Self = Self {
        gates: "gates",
        verdict: "compliance",
    };
}

/// A gate: one principle, in clauses.
#[derive(Debug)]
pub struct GateSpec {
    /// Name of the principle.
    pub name: &'static str,
    /// The clauses, in the contract's order.
    pub clauses: &'static [ClauseSpec],
}

/// A clause: what the facts of a call must satisfy.
#[derive(Debug)]
pub struct ClauseSpec {
    /// Stable id.
    pub id: &'static str,
    /// Labels of the operations that it is for.
    pub tools: &'static [&'static str],
    /// When it is judged.
    pub at: GateTime,
    /// What it asks for where the facts do not satisfy it; `None` refuses the call.
    pub asks: Option<Asks>,
    /// How grave that is.
    pub severity: Severity,
    /// What is wrong, as a short sentence.
    pub issue: &'static str,
    /// Advice to the caller.
    pub actionable: &'static str,
    /// What the facts must satisfy.
    pub schema: &'static Schema,
    /// Facts that satisfy the clause, and facts that break it.
    pub examples: &'static [GateExample],
}

impl ClauseSpec {
    /// Returns whether it is judged at this time of calls of the operation `label`.
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
    /// Whether they break the clause, and no other.
    pub breaks: bool,
    /// Documents among which a call leads to these facts, as a JSON object from paths to texts.
    pub documents: Option<Text>,
}
