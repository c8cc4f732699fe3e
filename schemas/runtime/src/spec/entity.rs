//! Entities: the tables of a contract whose store keeps rows.
//!
//! Constants like the rest of a contract's declaration; the [table engine](crate::rows::table) runs the operations that expand from
//! them, and a store makes its tables from them.

use serde::Deserialize;

use super::read::{json_texts, list};

/// The rows of a contract: its entities and their division into orgs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowsSpec {
    /// Name of the contract.
    pub contract: &'static str,
    /// Semantic version of the contract.
    pub version: &'static str,
    /// Division of the rows into orgs; `None` if they are not divided.
    pub org: Option<OrgSpec>,
    /// Selection of the caller's row; `None` if fields don't ask for it.
    pub caller: Option<CallerSpec>,
    /// The entities, in the order in which they are documented.
    pub entities: &'static [EntitySpec],
    /// The initial rows of a new store.
    pub seeds: &'static [Seed],
}

/// Division of rows into orgs. Rows of other orgs are reported as not found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct OrgSpec {
    /// Name of the entity whose rows are the orgs.
    pub entity: &'static str,
    /// Member of a request that names the org, if there is one.
    pub argument: Option<&'static str>,
    /// Key of the org of calls that do not name an org.
    pub default: &'static str,
}

/// Selection of the caller's row, the default of fields that refer to it: the row of the call's key, else the row that the call names, else
/// a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct CallerSpec {
    /// Name of the entity, which has a key of one field.
    pub entity: &'static str,
    /// Names of the fields by which calls name the row; the first match counts.
    #[serde(deserialize_with = "list")]
    pub by: &'static [&'static str],
    /// Name of the provenance field with such a value, if calls name the row at all.
    pub provenance: Option<&'static str>,
    /// Key of the row of calls that do not name a row.
    pub default: &'static str,
}

/// An initial row of a new store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed {
    /// Name of its entity.
    pub entity: &'static str,
    /// Key of its org, if the entity is divided into orgs.
    pub org: Option<&'static str>,
    /// The given fields, as the JSON text of an object.
    pub row: &'static str,
}

/// One entity: a table and its rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntitySpec {
    /// Name in the contract: `issue`.
    pub name: &'static str,
    /// Name of the table: `issues`.
    pub table: &'static str,
    /// The rows that a caller of an org can access.
    pub scope: Scope,
    /// Names of the fields that identify a row within its org.
    pub key: &'static [&'static str],
    /// The fields, in the order of answers.
    pub fields: &'static [FieldSpec],
    /// Uniqueness constraints.
    pub uniques: &'static [Unique],
    /// Names of the fields by which lists are ordered, before the key.
    pub order: &'static [&'static str],
    /// Names of fields by whose combined values rows are looked up often, in addition to references and `order`.
    pub indexes: &'static [&'static [&'static str]],
    /// Assignments that follow from a field's value.
    pub on: &'static [Hook],
    /// Changes of other rows that are part of a change of this one.
    pub also: &'static [Also],
    /// The graphs without circles that the rows are edges of.
    pub acyclic: &'static [Edges],
    /// Conditions on several fields of a row together.
    pub rules: &'static [RowRule],
    /// Members that answers add to a row from rows that it refers to.
    pub adds: &'static [Added],
    /// Fields with the values, as JSON texts, of a row that is out of use: what callers can set in a row that they can't delete.
    pub retired: &'static [(&'static str, &'static str)],
}

/// The rows of an entity that a caller of an org can access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All of them.
    Global,
    /// Those whose field of this name is the org's key. The engine sets it.
    Org(&'static str),
    /// The rows are the orgs: a caller that is bound to one can access that one alone.
    Root,
}

/// One field of an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldSpec {
    /// Name, in requests, answers and the table.
    pub name: &'static str,
    /// Type of its values.
    pub kind: FieldType,
    /// True if it may be `null`, the value of an absent field.
    pub optional: bool,
    /// True if it keeps its initial value.
    pub fixed: bool,
    /// True if requests can't set it: hooks and other rows' changes do.
    pub of_store: bool,
    /// True if answers leave it out and requests can't set it.
    pub hidden: bool,
    /// The default, as a JSON text.
    pub default: Option<&'static str>,
    /// Name of the fact of the call that is the default: [`CALLER`].
    pub from: Option<&'static str>,
    /// Fields within whose equal values at most one row has `true`: setting it clears it in the other row.
    pub one_true_in: &'static [&'static str],
    /// Constraints on a text, in addition to its length.
    pub text: &'static [TextRule],
    /// True if requests can also spell the words of an enumeration in PascalCase.
    pub pascal_case: bool,
    /// Name of the field whose slug is the default.
    pub slug_of: Option<&'static str>,
    /// Permitted range of a given time.
    pub range: Option<Range>,
    /// Source of a copied value: the store sets it.
    pub copy: Option<Copied>,
    /// Alternative name in requests.
    pub alias: Option<&'static str>,
    /// True if a reference can name a row that does not exist.
    pub loose: bool,
}

/// Name of the fact that is the key of the caller's row: see [`CallerSpec`].
pub const CALLER: &str = "caller";

/// A constraint on a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextRule {
    /// It has a character other than white space.
    NotBlank,
    /// It has at most this number of bytes.
    MaxBytes(usize),
    /// It matches this regular expression, as JSON Schema's `pattern` does.
    Pattern(&'static str),
    /// It is an email address, as defined by JSON Schema's format `email`.
    Email,
    /// It is the JSON of a value.
    JsonValue,
    /// It is the JSON of an object.
    JsonObject,
    /// It is the JSON of a list of texts.
    JsonTexts,
}

/// Permitted range of a given time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Range {
    /// After the time of the change.
    #[serde(rename = "future")]
    AfterNow,
    /// Not after the time of the change.
    #[serde(rename = "past")]
    UntilNow,
}

/// Source of a copied value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Copied {
    /// Name of the field that refers to the other row.
    #[serde(rename = "ref")]
    pub reference: &'static str,
    /// Name of that row's field, which never changes.
    pub field: &'static str,
}

/// A condition on several fields of a row together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RowRule {
    /// At least one of these has a value.
    AnyOf(#[serde(borrow, deserialize_with = "list")] &'static [&'static str]),
    /// No two of these have the same value.
    Differ(#[serde(borrow, deserialize_with = "list")] &'static [&'static str]),
    /// The times of these, where there are any, are in this order.
    Ordered(#[serde(borrow, deserialize_with = "list")] &'static [&'static str]),
}

/// A member that answers add to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Added {
    /// Name of the member that is added.
    pub name: &'static str,
    /// Name of the field that refers to the other row.
    pub reference: &'static str,
    /// Name of that row's field.
    pub field: &'static str,
}

/// The type of a field's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    /// An opaque id of 1 to 128 of `A–Z a–z 0–9 . _ : -`, generated by the store if it is not given.
    Id,
    /// The key of a row of another entity.
    Ref(Reference),
    /// A text, by its number of characters.
    Text {
        /// Minimum number.
        min: usize,
        /// Maximum number.
        max: usize,
    },
    /// An integer between -(2^53 - 1) and 2^53 - 1.
    Integer {
        /// Minimum.
        min: i64,
        /// Maximum.
        max: i64,
    },
    /// A number with 64 bits.
    Number,
    /// `true` or `false`.
    Boolean,
    /// One of these words.
    Enum(&'static [&'static str]),
    /// A point in time, in whole seconds of Unix time.
    Time,
    /// The time of a change, which the store sets.
    Now(Moment),
    /// Any JSON value.
    Json,
    /// A list of texts.
    List {
        /// Maximum number of texts.
        max: usize,
        /// Maximum number of characters of each.
        max_chars: usize,
    },
    /// A secret of 256 random bits that the store generates, answered once as the prefix and 64 hexadecimal digits. The row contains the
    /// SHA-256 of that text.
    Secret {
        /// Prefix of the text.
        prefix: &'static str,
    },
    /// A number that is one more than the largest so far.
    Next(Next),
    /// A number that grows over all rows of the store, in the order in which they were created.
    Seq,
}

/// A reference to a row of another entity, or of the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    /// Name of the entity, which has a key of one field.
    pub to: &'static str,
    /// Effect of that row's deletion on this row.
    pub on_delete: OnDelete,
    /// Names of fields that both rows must have with equal values.
    pub same: &'static [&'static str],
    /// True if chains of the reference must not form a circle; only for references to the same entity.
    pub acyclic: bool,
}

/// Effect of a row's deletion on the rows that refer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDelete {
    /// The row can't be deleted while they exist.
    Restrict,
    /// They are deleted too.
    Cascade,
    /// Their reference becomes `null`.
    Clear,
}

/// When the store sets a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Moment {
    /// When the row is created.
    Create,
    /// With each change.
    Change,
}

/// Numbering of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// Names of the fields within whose equal values it is counted.
    pub within: &'static [&'static str],
    /// True if a given number must be the next one; otherwise any number is accepted.
    pub strict: bool,
}

/// Fields whose combined values are unique within an org. Rows with a `null` among them don't count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unique {
    /// Names of the fields.
    pub fields: &'static [&'static str],
    /// Names of those among them that are compared without regard to the case of ASCII letters.
    pub folded: &'static [&'static str],
    /// Name of a field: only rows in which it is `null` count.
    pub while_null: Option<&'static str>,
}

/// Assignments when a field takes a value, and when it loses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hook {
    /// Name of the field.
    pub field: &'static str,
    /// The value, as a JSON text.
    pub is: &'static str,
    /// Assignments when the field takes that value.
    pub set: &'static [Assignment],
    /// Assignments when the field loses that value.
    pub otherwise: &'static [Assignment],
}

/// A value for a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assignment {
    /// Name of the field.
    pub field: &'static str,
    /// The value.
    pub value: Assigned,
    /// True if it is set only where the field is `null`.
    pub if_null: bool,
}

/// The value of an [`Assignment`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assigned {
    /// The time of the change.
    Now,
    /// A JSON text.
    Json(&'static str),
    /// The value of a field of the row that is created, updated or deleted.
    Field(&'static str),
}

/// A change of another row that is part of a change of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Also {
    /// The operation that it is part of.
    pub on: Action,
    /// Fields with the values, as JSON texts, that the row must have; otherwise the other row is unchanged.
    pub when: &'static [(&'static str, &'static str)],
    /// Fields with the values, as JSON texts, of another row that this one can't be created for; by other operations, the other row is
    /// unchanged.
    pub unless: &'static [(&'static str, &'static str)],
    /// Name of the other row's entity.
    pub entity: &'static str,
    /// Name of the field that refers to the other row.
    pub key: &'static str,
    /// Assignments to the other row.
    pub set: &'static [Assignment],
}

/// Edges of a graph without circles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Edges {
    /// Name of the field with the beginning of the edge.
    pub from: &'static str,
    /// Name of the field with its end.
    pub to: &'static str,
    /// Name of the field whose value distinguishes the graphs, if there are several.
    pub by: Option<&'static str>,
    /// The values of that field, as JSON texts, whose graphs can't have circles; all, if empty.
    #[serde(default, deserialize_with = "json_texts")]
    pub among: &'static [&'static str],
}

/// The kind of an operation on rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Adds a row.
    Create,
    /// Reads a row.
    Get,
    /// Changes fields of a row.
    Update,
    /// Reads the rows that match.
    List,
    /// Removes a row, and the rows that refer to it where the reference cascades.
    Delete,
}

/// An operation that the table engine runs: the layout of its request and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowOperation {
    /// Name of the entity.
    pub entity: &'static str,
    /// Its kind.
    pub action: Action,
    /// Member of the request with the row's fields, for operations that create and update; without it, the request itself contains them.
    pub data: Option<&'static str>,
    /// Members of the request, with the fields that they are values of. `Create` sets these fields; the other operations use them as key
    /// and as conditions on the row.
    pub arguments: &'static [(&'static str, &'static str)],
    /// Member of the request with the maximum number of listed rows.
    pub limit: Option<&'static str>,
    /// The default and the maximum number of listed rows.
    pub limits: (u64, u64),
    /// Member of the request that continues a list: the key of the last row seen, for entities with a key of one field.
    pub after: Option<&'static str>,
    /// Member of the answer that contains the row; without it, the answer is the row.
    pub answer: Option<&'static str>,
    /// Value of the member `resource` in the answers of `List` and `Delete`, if they have one.
    pub resource: Option<&'static str>,
    /// Assignments of an `Update` where the request does not give a value.
    pub set: &'static [Assignment],
    /// Names of the only fields that the data can contain, for an `Update` that sets.
    pub fields: &'static [&'static str],
    /// True if the data contains the key of the row to get, update or delete.
    pub key_in_data: bool,
    /// Members of the request of a `List` that select rows, with their comparisons.
    pub filters: &'static [ListFilter],
    /// Member of the request that contains the filters, `limit` and `after`; without it, the request itself contains them.
    pub filters_in: Option<&'static str>,
    /// Name of the field that `after` is a value of, if not the key.
    pub after_by: Option<&'static str>,
    /// The value of an argument of a `List` that all rows match.
    pub wildcard: Option<&'static str>,
}

/// A member of a request that selects the rows of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListFilter {
    /// Name of the member.
    pub member: &'static str,
    /// Comparison of a row with its value.
    pub by: FilterBy,
}

/// Comparison of a row with the value of a [`ListFilter`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FilterBy {
    /// One of these fields has that value.
    #[serde(rename = "either")]
    Value(#[serde(borrow, deserialize_with = "list")] &'static [&'static str]),
    /// This list contains that text.
    Item(&'static str),
    /// Each word of that text is in one of these texts, without regard to the case of ASCII letters.
    Words(#[serde(deserialize_with = "list")] &'static [&'static str]),
}

impl RowsSpec {
    /// No rows, for `..` in a constant.
    pub const EMPTY: Self =
        Self { contract: "", version: "", org: None, caller: None, entities: &[], seeds: &[] };

    /// Returns the entity of that name.
    pub fn entity(&self, name: &str) -> Option<&'static EntitySpec> {
        self.entities.iter().find(|entity| entity.name == name)
    }

    /// Returns each reference to rows of `entity`, with the entity and the field that refer.
    pub fn referring(
        &self,
        entity: &EntitySpec,
    ) -> impl Iterator<Item = (&'static EntitySpec, &'static FieldSpec, Reference)> {
        let name = entity.name;
        self.entities
            .iter()
            .flat_map(|entity| entity.references().map(move |(field, it)| (entity, field, it)))
            .filter(move |(_, _, reference)| reference.to == name)
    }
}

impl EntitySpec {
    /// An entity without fields, for `..` in a constant.
    pub const EMPTY: Self = Self {
        name: "",
        table: "",
        scope: Scope::Global,
        key: &["id"],
        fields: &[],
        uniques: &[],
        order: &[],
        indexes: &[],
        on: &[],
        also: &[],
        acyclic: &[],
        rules: &[],
        adds: &[],
        retired: &[],
    };

    /// Returns the field of that name.
    pub fn field(&self, name: &str) -> Option<&'static FieldSpec> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Returns the name of the field with the org, if rows are divided into orgs.
    pub fn org_field(&self) -> Option<&'static str> {
        match self.scope {
            Scope::Org(field) => Some(field),
            Scope::Global | Scope::Root => None,
        }
    }

    /// Returns the names of the fields that identify a row in the store: its org, then its key.
    pub fn identity(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        self.org_field().into_iter().chain(self.key.iter().copied())
    }

    /// Returns true if an id alone is the key. The id of a row that was removed is never given to another.
    pub fn has_id(&self) -> bool {
        let is_id = |name| self.field(name).is_some_and(|field| matches!(field.kind, FieldType::Id));
        matches!(self.key, [name] if is_id(name))
    }

    /// Returns true if values of that field are unique without regard to the case of ASCII letters.
    pub fn is_folded(&self, name: &str) -> bool {
        self.uniques.iter().any(|unique| unique.folded.contains(&name))
    }

    /// Returns the fields that refer to other rows.
    pub fn references(&self) -> impl Iterator<Item = (&'static FieldSpec, Reference)> + use<> {
        self.fields.iter().filter_map(|field| match field.kind {
            FieldType::Ref(reference) => Some((field, reference)),
            _ => None,
        })
    }
}

impl Reference {
    /// A reference whose row can't be deleted, for `..` in a constant.
    pub const EMPTY: Self = Self { to: "", on_delete: OnDelete::Restrict, same: &[], acyclic: false };
}

impl FieldSpec {
    /// Returns a required field, for `..` in a constant.
    pub const fn new(name: &'static str, kind: FieldType) -> Self {
        Self {
            name,
            kind,
            optional: false,
            fixed: false,
            of_store: false,
            hidden: false,
            default: None,
            from: None,
            one_true_in: &[],
            text: &[],
            pascal_case: false,
            slug_of: None,
            range: None,
            copy: None,
            alias: None,
            loose: false,
        }
    }

    /// Returns true if only the store sets it.
    pub fn is_of_store(&self) -> bool {
        self.of_store
            || self.hidden
            || self.copy.is_some()
            || matches!(self.kind, FieldType::Now(_) | FieldType::Secret { .. } | FieldType::Seq)
    }

    /// Returns true if it keeps its initial value.
    pub fn is_fixed(&self) -> bool {
        self.fixed || self.is_of_store() || matches!(self.kind, FieldType::Id)
    }
}

impl RowRule {
    /// Returns the names of the rule's fields.
    pub fn fields(&self) -> &'static [&'static str] {
        match self {
            Self::AnyOf(fields) | Self::Differ(fields) | Self::Ordered(fields) => fields,
        }
    }
}

impl FilterBy {
    /// Returns the names of the compared fields.
    pub fn fields(&self) -> &[&'static str] {
        match self {
            Self::Value(fields) | Self::Words(fields) => fields,
            Self::Item(field) => std::slice::from_ref(field),
        }
    }
}

impl RowOperation {
    /// Returns the operation of this kind on rows of an entity, with the usual layout and limits of operations that a contract derives, for
    /// `..` in a constant.
    pub const fn new(entity: &'static str, action: Action) -> Self {
        let is_changed = matches!(action, Action::Create | Action::Update);
        let is_named = matches!(action, Action::List | Action::Delete);
        Self {
            entity,
            action,
            data: if is_changed { Some("data") } else { None },
            arguments: &[],
            limit: None,
            limits: (100, 1_000),
            after: None,
            answer: None,
            resource: if is_named { Some(entity) } else { None },
            set: &[],
            fields: &[],
            key_in_data: false,
            filters: &[],
            filters_in: None,
            after_by: None,
            wildcard: None,
        }
    }
}
