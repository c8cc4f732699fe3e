//! A call: its org, its provenance, and plans of its changes.

use std::sync::LazyLock;

use serde_json::{Map, Value};
use tabellion_contracts::mcb::ROWS;
use tabellion_runtime::{
    Failure, FailureKind, ReadCx, Row, RowChange, RowEdit, RowView, Rows, RowsChange, Staged, WriteCx,
    context, provenance,
    rows::{Filter, Order, Plan, RowError, Select, Within, content_id, identity},
    spec::EntitySpec,
};

/// Rows here take no values from facts of the call.
static NO_FACTS: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

/// A state of the rows, for a call of one org.
pub(super) struct Call<'v> {
    view: &'v dyn RowView,
    within: Within,
    /// The call's provenance.
    pub(super) provenance: Provenance,
}

/// Provenance of a call: those of the contract's twelve fields that are known.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Provenance(Map<String, Value>);

impl Provenance {
    pub(super) fn text(&self, field: &str) -> Option<&str> {
        self.0.get(field)?.as_str()
    }

    /// Returns true if a field is neither said nor configured, but discovered.
    pub(super) fn is_discovered(&self, field: &str) -> bool {
        let discovered = self.0.get(provenance::DISCOVERED).and_then(Value::as_array);
        discovered.is_some_and(|names| names.iter().any(|name| name == field))
    }

    /// Returns all fields, as rows store them.
    pub(super) fn to_value(&self) -> Value {
        self.0.clone().into()
    }
}

impl From<Map<String, Value>> for Provenance {
    fn from(fields: Map<String, Value>) -> Self {
        Self(fields)
    }
}

/// Reads a call's provenance; no other function depends on where it is kept.
fn provenance(cx: &ReadCx<'_, Rows>) -> Provenance {
    match cx.provenance().to_value() {
        Value::Object(fields) => Provenance(fields),
        _ => Provenance::default(),
    }
}

impl<'v> Call<'v> {
    /// Returns the call of a method.
    pub(super) fn from_context(cx: &ReadCx<'v, Rows>) -> Self {
        let bound = cx.call().org.as_deref();
        Self::new(cx.view(), bound, provenance(cx))
    }

    /// Creates a call of the org that the caller is bound to, or of the default org.
    pub(super) fn new(view: &'v dyn RowView, bound: Option<&str>, provenance: Provenance) -> Self {
        let default = ROWS.org.map(|org| org.default);
        let within = Within { org: bound.or(default).map(String::from), is_bound: bound.is_some() };
        Self { view, within, provenance }
    }

    /// Returns the key of the call's org.
    pub(super) fn org(&self) -> &str {
        self.within.org.as_deref().unwrap_or_default()
    }

    /// Returns the call's time.
    pub(super) fn now(&self) -> i64 {
        self.view.fresh().now()
    }

    /// Begins a plan.
    pub(super) fn plan(&self) -> Plan<'v> {
        Plan::new(&ROWS, self.view, self.within.clone(), &NO_FACTS)
    }

    /// Returns a new id.
    pub(super) fn fresh_id(&self) -> String {
        self.view.fresh().id()
    }

    pub(super) async fn get(&self, name: &'static str, key: &str) -> Result<Option<Row>, RowError> {
        self.plan().get(entity(name)?, &[key.into()]).await
    }

    /// Returns the rows that pass the filters, in the order of these fields.
    pub(super) async fn select(
        &self,
        name: &'static str,
        filters: Vec<Filter>,
        order: Vec<(&'static str, Order)>,
        limit: u64,
    ) -> Result<Vec<Row>, RowError> {
        let mut select = Select::new(entity(name)?, filters);
        select.order = order;
        select.limit = Some(limit);
        self.read(select).await
    }

    /// Returns the selected rows.
    pub(super) async fn read(&self, select: Select) -> Result<Vec<Row>, RowError> {
        self.plan().select(select).await
    }

    /// Returns the number of selected rows.
    pub(super) async fn count(&self, select: Select) -> Result<u64, RowError> {
        self.plan().count(select).await
    }
}

/// Checks that the org exists that a caller is bound to: a misspelt one has no rows, which is no answer to any call.
///
/// # Errors
/// If it does not exist.
pub(super) async fn check_org(cx: &ReadCx<'_, Rows>) -> Result<(), RowError> {
    let call = Call::from_context(cx);
    let Some(orgs) = ROWS.org.filter(|_| call.within.is_bound) else { return Ok(()) };
    if call.get(orgs.entity, call.org()).await?.is_some() {
        return Ok(());
    }
    let key = format!("`{}`", call.org().escape_debug());
    Err(RowError::NoSuch { field: "org_id", entity: orgs.entity, key })
}

/// Returns the entity of that name.
///
/// # Errors
/// If the contract has none.
pub(super) fn entity(name: &'static str) -> Result<&'static EntitySpec, RowError> {
    let missing = || Failure::internal(format!("the contract has no entity `{name}`"));
    Ok(ROWS.entity(name).ok_or_else(missing)?)
}

/// Notes the content id of an answered row, which `tabellion/ifBase` can name.
pub(super) fn note_base(cx: &ReadCx<'_, Rows>, name: &'static str, row: &Row) -> Result<(), RowError> {
    cx.note(context::BASE, content_id(entity(name)?, row));
    Ok(())
}

/// Stages a plan. `tabellion/ifBase` is compared with the row `subject`; its id, if the method made it, does not count as a difference
/// between two plans of the same call.
///
/// # Errors
/// If the plan is empty.
pub(super) fn stage<T: Send + 'static>(
    cx: &WriteCx<'_, Rows>,
    plan: Plan<'_>,
    operation: &'static str,
    subject: (&'static str, &Row),
    answer: T,
) -> Result<Staged<T, Rows>, RowError> {
    let entity = entity(subject.0)?;
    let key = identity(entity, subject.1);
    let mut rows = plan.finish(operation)?.into_rows();
    let is_subject = |change: &RowChange| change.entity.name == entity.name && change.key == key;
    if let Some(at) = rows.iter().position(is_subject) {
        rows[..=at].rotate_right(1);
        if matches!(rows[0].edit, RowEdit::Insert(_)) {
            rows[0].made.extend(entity.field("id").map(|field| field.name));
        }
    }
    let change = RowsChange::new(rows, operation);
    let change = change.map_err(|error| Failure::new(FailureKind::Invalid, error.to_string()))?;
    Ok(cx.stage(change, |_| answer))
}
