//! Entities: the tables of a contract whose store keeps rows.
//!
//! Constants like the rest of a contract's declaration; the [table engine](crate::rows::table) runs the operations that expand from
//! them, and a store makes its tables from them.

/// The rows of a contract: its entities, and how it is divided into orgs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowsSpec {
    /// Name of the contract.
    pub contract: &'static str,
    /// Semantic version of the contract.
    pub version: &'static str,
    /// How the rows are divided into orgs; `None` if they are not.
    pub org: Option<OrgSpec>,
    /// Which row is the caller's; `None` if fields don't ask for it.
    pub caller: Option<CallerSpec>,
    /// The entities, in the order in which they are documented.
    pub entities: &'static [EntitySpec],
    /// The rows that a new store begins with.
    pub seeds: &'static [Seed],
}

/// How rows are divided into orgs: what is in another org is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrgSpec {
    /// Name of the entity whose rows are the orgs.
    pub entity: &'static str,
    /// Member of a request that names the org, if there is one.
    pub argument: Option<&'static str>,
    /// Key of the org of calls that name none.
    pub default: &'static str,
}

/// Which row is the caller's, for fields that have it if a request gives no other: the one of the key that the call was made with, else
/// the one that the call names, else a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallerSpec {
    /// Name of the entity, which has a key of one field.
    pub entity: &'static str,
    /// Names of the fields by which calls name the row, the first that fits.
    pub by: &'static [&'static str],
    /// Name of the field of the provenance that has such a value, if calls name the row at all.
    pub provenance: Option<&'static str>,
    /// Key of the row of calls that name none.
    pub default: &'static str,
}

/// A row that a new store begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed {
    /// Name of its entity.
    pub entity: &'static str,
    /// Key of its org, if the entity is divided into orgs.
    pub org: Option<&'static str>,
    /// The fields that are given, as the JSON text of an object.
    pub row: &'static str,
}

/// One entity: a table and its rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntitySpec {
    /// Name in the contract: `issue`.
    pub name: &'static str,
    /// Name of the table: `issues`.
    pub table: &'static str,
    /// Which rows a caller of an org has.
    pub scope: Scope,
    /// Names of the fields that identify a row within its org.
    pub key: &'static [&'static str],
    /// The fields, in the order in which answers have them.
    pub fields: &'static [FieldSpec],
    /// What only one row can have.
    pub uniques: &'static [Unique],
    /// Names of the fields by which lists are ordered, before the key.
    pub order: &'static [&'static str],
    /// Names of fields by whose values together rows are looked up often, beside references and `order`.
    pub indexes: &'static [&'static [&'static str]],
    /// What follows from a field's value.
    pub on: &'static [Hook],
    /// Changes of other rows that are part of a change of this one.
    pub also: &'static [Also],
    /// The graphs without circles that the rows are edges of.
    pub acyclic: &'static [Edges],
    /// What must hold of several fields of a row together.
    pub rules: &'static [RowRule],
    /// What answers add to a row from rows that it refers to.
    pub adds: &'static [Added],
}

/// Which rows of an entity a caller of an org has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All of them.
    Global,
    /// Those whose field of this name is the org's key. The engine sets it.
    Org(&'static str),
    /// The rows are the orgs: a caller that is bound to one has that alone.
    Root,
}

/// One field of an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldSpec {
    /// Name, in requests, answers and the table.
    pub name: &'static str,
    /// Type of its values.
    pub kind: FieldType,
    /// Whether it may be `null`, which it is if it is not given.
    pub optional: bool,
    /// Whether it keeps the value that it was created with.
    pub fixed: bool,
    /// Whether requests can't give it: hooks and other rows' changes set it.
    pub of_store: bool,
    /// Whether answers leave it out and requests can't give it.
    pub hidden: bool,
    /// The value if none is given, as a JSON text.
    pub default: Option<&'static str>,
    /// Name of the fact of the call that is the value if none is given: [`CALLER`].
    pub from: Option<&'static str>,
    /// The fields within whose equal values only one row can have `true`: setting it takes it from the other.
    pub one_true_in: &'static [&'static str],
    /// What must hold of a text besides its length.
    pub text: &'static [TextRule],
    /// Whether requests can spell the words of an enumeration in PascalCase, too.
    pub pascal_case: bool,
    /// Name of the field whose slug is the value if none is given.
    pub slug_of: Option<&'static str>,
    /// Where a given time must lie.
    pub range: Option<Range>,
    /// Where the value is copied from: the store sets it.
    pub copy: Option<Copied>,
    /// Another name that requests can give it under.
    pub alias: Option<&'static str>,
    /// Whether a reference can name a row that is not there.
    pub loose: bool,
}

/// Name of the fact that is the key of the caller's row: see [`CallerSpec`].
pub const CALLER: &str = "caller";

/// What must hold of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextRule {
    /// It has a character that is no white space.
    NotBlank,
    /// It has at most this number of bytes.
    MaxBytes(usize),
    /// It matches this regular expression, as JSON Schema's `pattern` does.
    Pattern(&'static str),
    /// It is an email address, as JSON Schema's format `email` has it.
    Email,
    /// It is the JSON of a value.
    JsonValue,
    /// It is the JSON of an object.
    JsonObject,
    /// It is the JSON of a list of texts.
    JsonTexts,
}

/// Where a given time must lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Range {
    /// After the time of the change.
    AfterNow,
    /// Not after the time of the change.
    UntilNow,
}

/// Where a field's value is copied from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// Name of the field that refers to the other row.
    pub reference: &'static str,
    /// Name of that row's field, which never changes.
    pub field: &'static str,
}

/// What must hold of several fields of a row together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowRule {
    /// One of these at least has a value.
    AnyOf(&'static [&'static str]),
    /// No two of these have the same value.
    Differ(&'static [&'static str]),
    /// The times of these, where there are any, are in this order.
    Ordered(&'static [&'static str]),
}

/// What answers add to a row.
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
    /// An opaque id of 1 to 128 of `A–Z a–z 0–9 . _ : -`. The store makes one if none is given.
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
    /// A secret of 256 random bits that the store makes, answered once as the prefix and 64 hexadecimal digits. The row has the
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
    /// What deleting that row does to this one.
    pub on_delete: OnDelete,
    /// Names of fields that both rows must have with equal values.
    pub same: &'static [&'static str],
    /// Whether following the reference from row to row must never lead back; only for references to the same entity.
    pub acyclic: bool,
}

/// What deleting a row does to those that refer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDelete {
    /// The row can't be deleted while they are there.
    Restrict,
    /// They are deleted too.
    Cascade,
    /// Their reference becomes `null`.
    Clear,
}

/// When the store sets a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// When the row is created.
    Create,
    /// With each change.
    Change,
}

/// How a number is counted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// Names of the fields within whose equal values it is counted.
    pub within: &'static [&'static str],
    /// Whether a given number must be the next one; otherwise any may be given.
    pub strict: bool,
}

/// Fields whose values together only one row of an org can have. Rows with a `null` among them don't count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unique {
    /// Names of the fields.
    pub fields: &'static [&'static str],
    /// Names of those among them that are compared without regard to the case of ASCII letters.
    pub folded: &'static [&'static str],
    /// Name of a field: only rows in which it is `null` count.
    pub while_null: Option<&'static str>,
}

/// What follows when a field becomes a value, and when it no longer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hook {
    /// Name of the field.
    pub field: &'static str,
    /// The value, as a JSON text.
    pub is: &'static str,
    /// What is set when it becomes that value.
    pub set: &'static [Assignment],
    /// What is set when it no longer is.
    pub otherwise: &'static [Assignment],
}

/// A value for a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assignment {
    /// Name of the field.
    pub field: &'static str,
    /// The value.
    pub value: Assigned,
    /// Whether it is set only where the field is `null`.
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
    /// Fields with the values, as JSON texts, that the row must have; otherwise nothing is changed.
    pub when: &'static [(&'static str, &'static str)],
    /// Name of the other row's entity.
    pub entity: &'static str,
    /// Name of the field that refers to the other row.
    pub key: &'static str,
    /// What is set in it.
    pub set: &'static [Assignment],
}

/// Edges of a graph without circles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edges {
    /// Name of the field with the beginning of the edge.
    pub from: &'static str,
    /// Name of the field with its end.
    pub to: &'static str,
    /// Name of the field whose value tells the graphs apart, if there are several.
    pub by: Option<&'static str>,
    /// The values of that field, as JSON texts, whose graphs can't have circles; all, if empty.
    pub among: &'static [&'static str],
}

/// What an operation on rows does.
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
    /// Removes a row, with those that refer to it where the reference says so.
    Delete,
}

/// An operation that the table engine runs: how its request and its answer are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowOperation {
    /// Name of the entity.
    pub entity: &'static str,
    /// What it does.
    pub action: Action,
    /// Member of the request with the row's fields, for operations that create and update; without it, the request has them itself.
    pub data: Option<&'static str>,
    /// Members of the request, and the fields whose values they are. For `Create` they are values, for the others the key and
    /// what the row must have besides.
    pub arguments: &'static [(&'static str, &'static str)],
    /// Member of the request that names the maximum number of listed rows.
    pub limit: Option<&'static str>,
    /// The number of listed rows if none is named, and the maximum.
    pub limits: (u64, u64),
    /// Member of the request that continues a list: the key of the last row seen, for entities with a key of one field.
    pub after: Option<&'static str>,
    /// Member of the answer that the row stands in; without it, the answer is the row.
    pub answer: Option<&'static str>,
    /// Value of the member `resource` in the answers of `List` and `Delete`, if they have one.
    pub resource: Option<&'static str>,
    /// What an `Update` sets where the request gives no value.
    pub set: &'static [Assignment],
    /// Names of the only fields that the data can give, for an `Update` that sets; it can give none, if empty.
    pub fields: &'static [&'static str],
    /// Whether the data has the key of the row to get, update or delete.
    pub key_in_data: bool,
    /// Members of the request of a `List` that select rows, and how.
    pub filters: &'static [ListFilter],
    /// Member of the request that has the filters, `limit` and `after`; without it, the request has them itself.
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
    /// How a row is compared with its value.
    pub by: FilterBy,
}

/// How a row is compared with the value of a [`ListFilter`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterBy {
    /// One of these fields has that value.
    Value(&'static [&'static str]),
    /// This list contains that text.
    Item(&'static str),
    /// Each word of that text is in one of these texts, without regard to the case of ASCII letters.
    Words(&'static [&'static str]),
}

impl RowsSpec {
    /// No rows, for `..` in a constant.
    pub const EMPTY: Self = Self {
        contract: "",
        version: "",
        org: None,
        caller: None,
        entities: &[],
        seeds: &[],
    };

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
        let is_id = |name| {
            self.field(name)
                .is_some_and(|field| matches!(field.kind, FieldType::Id))
        };
        matches!(self.key, [name] if is_id(name))
    }

    /// Returns whether values of that field are unique without regard to the case of ASCII letters.
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
    pub const EMPTY: Self = Self {
        to: "",
        on_delete: OnDelete::Restrict,
        same: &[],
        acyclic: false,
    };
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

    /// Returns whether the store alone sets it.
    pub fn is_of_store(&self) -> bool {
        self.of_store
            || self.hidden
            || self.copy.is_some()
            || matches!(
                self.kind,
                FieldType::Now(_) | FieldType::Secret { .. } | FieldType::Seq
            )
    }

    /// Returns whether it keeps the value that it was created with.
    pub fn is_fixed(&self) -> bool {
        self.fixed || self.is_of_store() || matches!(self.kind, FieldType::Id)
    }
}

impl RowRule {
    /// Returns the names of the fields that it is about.
    pub fn fields(&self) -> &'static [&'static str] {
        match self {
            Self::AnyOf(fields) | Self::Differ(fields) | Self::Ordered(fields) => fields,
        }
    }
}

impl RowOperation {
    /// Returns the operation that does this with rows of an entity: with the usual layout and limits of operations that a contract
    /// derives, for `..` in a constant.
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
