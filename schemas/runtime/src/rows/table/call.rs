//! An operation for one call, and the facts of the call.

use serde_json::{Map, Value};

use crate::{
    context::CallContext,
    failure::Failure,
    pointer,
    provenance::Provenance,
    rows::RowError,
    spec::{Action, EntitySpec, RowOperation, RowsSpec},
};

/// Name of the fact with the key of the caller's row, as recorded with the caller's own key.
pub const USER: &str = "user";
/// Name of the fact with the call's provenance, by field.
pub const PROVENANCE: &str = "provenance";

/// Returns the facts of a call: the user of its key, and its provenance.
pub fn facts_of(call: &CallContext) -> Map<String, Value> {
    let user = call.user.as_deref().map(Value::from);
    let provenance = call.provenance.as_deref().map(Provenance::to_value);
    let facts = [(USER, user), (PROVENANCE, provenance)];
    facts.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), fact?))).collect()
}

/// An operation on the rows of a contract, for one call.
#[derive(Debug)]
pub struct Table {
    /// The contract's rows.
    pub spec: &'static RowsSpec,
    /// The operation.
    pub operation: &'static RowOperation,
    /// Facts by name, in addition to those of the call: values of fields declared with `from`.
    pub facts: Map<String, Value>,
}

impl Table {
    /// Creates the table of an operation, without facts other than the call's.
    pub fn new(spec: &'static RowsSpec, operation: &'static RowOperation) -> Self {
        Self { spec, operation, facts: Map::new() }
    }

    pub(super) fn entity(&self) -> Result<&'static EntitySpec, RowError> {
        let name = self.operation.entity;
        let entity = self.spec.entity(name);
        entity.ok_or_else(|| breach(format!("there is no entity `{name}`")))
    }

    /// Returns the arguments in the request, and the fields that they are values of, except those that its data contain, too.
    pub(super) fn arguments_in(&self, request: &Value) -> Vec<(&'static str, &'static str)> {
        let data = self.operation.data.and_then(|member| request.get(member));
        let is_given = |(member, field): &(&str, &str)| {
            request.get(member).is_some() && data.is_none_or(|data| data.get(field).is_none())
        };
        self.operation.arguments.iter().copied().filter(is_given).collect()
    }

    /// Returns the member of a request that names the org.
    pub(super) fn org_argument(&self) -> Option<&'static str> {
        self.spec.org.and_then(|org| org.argument)
    }

    /// Returns the failure, with a pointer to the member of the request that the field's value comes from.
    pub(super) fn failure(&self, arguments: &[(&'static str, &'static str)], error: RowError) -> Failure {
        let within = self.operation.data.or(self.operation.filters_in);
        let within = within.map(|member| pointer::push("", member));
        let members = arguments.iter().map(|(member, _)| *member).chain(self.org_argument());
        // The errors of a list, which has no data, name the arguments.
        let of_list =
            members.filter(|_| self.operation.action == Action::List).map(|member| (member, member));
        let mut arguments = arguments.iter().copied().chain(of_list);
        let argument = arguments.find(|(_, field)| error.field() == Some(*field));
        match argument {
            Some((member, _)) => error.into_failure_at(pointer::push("", member)),
            None => error.into_failure(&within.unwrap_or_default()),
        }
    }

    /// Returns the facts of a call, with those of the table.
    pub(super) fn facts(&self, call: &CallContext) -> Map<String, Value> {
        let mut facts = facts_of(call);
        facts.extend(self.facts.clone());
        facts
    }
}

/// Returns the error of an operation that a valid contract never causes.
pub(super) fn breach(detail: impl Into<String>) -> RowError {
    Failure::internal(detail).into()
}
