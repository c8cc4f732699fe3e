//! The verdict of gates on a call.

use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    failure::{Failure, FailureKind},
    spec::Severity,
};

/// Name of the violations in the data of errors.
pub const VIOLATIONS: &str = "gateViolations";
/// The verdict of all gates on a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The operation's gates, in its order.
    pub gates: Vec<GateOutcome>,
    /// All violations, in the order of the gates and their clauses.
    pub violations: Vec<GateViolation>,
}

/// The verdict of one gate on a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GateOutcome {
    /// Name of the gate.
    pub gate: &'static str,
    /// True if no clause is violated.
    pub approved: bool,
    /// True if a clause asks for a review.
    pub requires_review: bool,
}

/// A violated clause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GateViolation {
    /// Name of the gate.
    pub principle: &'static str,
    /// The fault, for people.
    pub issue: &'static str,
    /// Its severity.
    pub severity: Severity,
    /// Advice to the caller.
    pub actionable: &'static str,
    /// Id of the clause.
    pub clause: &'static str,
}

impl Report {
    /// Returns true if no clause is violated.
    pub fn is_approved(&self) -> bool {
        self.violations.is_empty()
    }

    /// Returns true if a person must review the result of the call before it counts.
    pub fn requires_review(&self) -> bool {
        self.gates.iter().any(|gate| gate.requires_review)
    }

    /// Returns the report as clients see it.
    pub fn to_value(&self) -> Value {
        json!({
            "approved": self.is_approved(),
            "requires_review": self.requires_review(),
            "gates": self.gates,
            "violations": self.violations,
        })
    }

    /// Returns the failure of a call with violations.
    pub(super) fn failure(&self) -> Option<Failure> {
        if self.is_approved() {
            return None;
        }
        let said = self.violations.iter().map(|it| format!("{}: {}", it.issue, it.actionable));
        let message = said.collect::<Vec<_>>().join("; ");
        let gates = self.gates.iter().filter(|gate| !gate.approved);
        let gates: Vec<_> = gates.map(|gate| gate.gate).collect();
        let failure = Failure::new(FailureKind::Violation, message)
            .with("gates", gates)
            .with("requires_review", self.requires_review())
            .with(VIOLATIONS, json!(self.violations));
        Some(failure)
    }

    /// Adds the later verdict of the same gates.
    pub(super) fn add(&mut self, later: Self) {
        for (gate, later) in self.gates.iter_mut().zip(later.gates) {
            gate.approved &= later.approved;
            gate.requires_review |= later.requires_review;
        }
        self.violations.extend(later.violations);
    }
}
