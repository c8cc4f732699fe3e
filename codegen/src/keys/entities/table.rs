//! The runtime's constants for entities.

use indexmap::IndexMap;
use serde_json::Value;
use tabellion_runtime::spec::{
    Added, Also, Assigned, Assignment, CallerSpec, Copied, Edges, EntitySpec, FieldSpec, FieldType, Hook,
    Moment, Next, OnDelete, OrgSpec, Range, Reference, RowRule, RowsSpec, Scope, Seed, TextRule, Unique,
};

use super::read::{Entity, Field, FieldOf, Rows, RuleOf, UniqueFields, changing};
use crate::{
    contract::Contract,
    leak::{leaked, list, texts},
};

/// Default maximum number of characters of a text.
pub(super) const MAX_TEXT: usize = 8 << 20;
/// Default maximum number of texts in a list.
pub(super) const MAX_ITEMS: usize = 10_000;
/// Largest integer that all JSON implementations agree on.
const MAX_INTEGER: i64 = crate::views::LARGEST_INTEGER;

/// Returns the constant of a contract with rows.
pub(crate) fn table(contract: &Contract) -> Option<RowsSpec> {
    let rows = contract.spec.rows.as_ref()?;
    Some(RowsSpec {
        contract: leaked(&contract.spec.contract),
        version: leaked(&contract.spec.version),
        org: rows.org.as_ref().map(|org| OrgSpec {
            entity: leaked(&org.entity),
            argument: org.argument.as_deref().map(leaked),
            default: leaked(&org.default),
        }),
        caller: rows.caller.as_ref().map(|caller| CallerSpec {
            entity: leaked(&caller.entity),
            by: texts(&caller.by),
            provenance: caller.provenance.as_deref().map(leaked),
            default: leaked(&caller.default),
        }),
        entities: list(contract.entities.iter().map(|entity| self::entity(rows, entity))),
        seeds: list(rows.seeds.iter().map(|seed| Seed {
            entity: leaked(&seed.entity),
            org: seed.org.as_deref().map(leaked),
            row: json(&seed.row),
        })),
    })
}

fn entity(rows: &Rows, entity: &Entity) -> EntitySpec {
    let file = &entity.file;
    let is_org = rows.org.as_ref().is_some_and(|org| org.entity == file.name);
    let also = file.also.iter().flat_map(|(on, others)| others.iter().map(move |other| (on, other)));
    EntitySpec {
        name: leaked(&file.name),
        table: leaked(&file.table),
        scope: match &file.scope {
            Some(field) => Scope::Org(leaked(field)),
            None if is_org => Scope::Root,
            None => Scope::Global,
        },
        key: texts(&file.key),
        fields: list(file.fields.iter().map(|(name, field)| self::field(name, field))),
        uniques: list(file.unique.iter().map(unique)),
        order: texts(&file.order),
        indexes: list(file.index.iter().map(|fields| texts(fields))),
        on: list(file.on.iter().filter_map(|hook| {
            let (field, is) = hook.when.first()?;
            Some(Hook {
                field: leaked(field),
                is: json(is),
                set: assignments(&hook.set),
                otherwise: assignments(&hook.otherwise),
            })
        })),
        also: list(also.filter_map(|(on, other)| {
            Some(Also {
                on: changing(on)?,
                when: list(other.when.iter().map(|(field, is)| (leaked(field), json(is)))),
                entity: leaked(&other.entity),
                key: leaked(&other.key),
                set: assignments(&other.set),
            })
        })),
        acyclic: list(file.acyclic.iter().map(|edges| Edges {
            from: leaked(&edges.from),
            to: leaked(&edges.to),
            by: edges.by.as_deref().map(leaked),
            among: list(edges.among.iter().map(json)),
        })),
        rules: list(file.rules.iter().map(|rule| match rule {
            RuleOf::AnyOf(fields) => RowRule::AnyOf(texts(fields)),
            RuleOf::Differ(fields) => RowRule::Differ(texts(fields)),
            RuleOf::Ordered(fields) => RowRule::Ordered(texts(fields)),
        })),
        adds: list(file.adds.iter().map(|(name, of)| Added {
            name: leaked(name),
            reference: leaked(&of.reference),
            field: leaked(&of.field),
        })),
    }
}

pub(super) fn field(name: &str, field: &Field) -> FieldSpec {
    FieldSpec {
        optional: field.optional,
        fixed: field.fixed,
        of_store: field.of_store,
        hidden: field.hidden,
        default: field.default.as_ref().map(json),
        from: field.from.as_deref().map(leaked),
        one_true_in: texts(&field.one_true_in),
        text: text_rules(field),
        pascal_case: field.pascal_case,
        slug_of: field.slug_of.as_deref().map(leaked),
        range: match field.range.as_deref() {
            Some("future") => Some(Range::AfterNow),
            Some(_) => Some(Range::UntilNow),
            None => None,
        },
        copy: field.copy_of.as_ref().map(|FieldOf { reference, field }| Copied {
            reference: leaked(reference),
            field: leaked(field),
        }),
        alias: field.alias.as_deref().map(leaked),
        loose: field.loose,
        ..FieldSpec::new(leaked(name), kind(field))
    }
}

fn text_rules(field: &Field) -> &'static [TextRule] {
    let format = match field.format.as_deref() {
        Some("email") => Some(TextRule::Email),
        Some("json") => Some(TextRule::JsonValue),
        Some("json-object") => Some(TextRule::JsonObject),
        Some(_) => Some(TextRule::JsonTexts),
        None => None,
    };
    let pattern = field.pattern.as_deref().map(leaked).map(TextRule::Pattern);
    let rules = [
        field.max_bytes.map(TextRule::MaxBytes),
        field.not_blank.then_some(TextRule::NotBlank),
        pattern,
        format,
    ];
    list(rules.into_iter().flatten())
}

fn kind(field: &Field) -> FieldType {
    let text = |text: &Option<String>| leaked(text.as_deref().unwrap_or_default());
    match field.kind.as_str() {
        "id" => FieldType::Id,
        "ref" => FieldType::Ref(Reference {
            to: text(&field.to),
            on_delete: match field.on_delete.as_deref() {
                Some("cascade") => OnDelete::Cascade,
                Some("clear") => OnDelete::Clear,
                _ => OnDelete::Restrict,
            },
            same: texts(&field.same),
            acyclic: field.acyclic,
        }),
        "string" => FieldType::Text { min: field.min_length.unwrap_or(0), max: max_chars(field) },
        "integer" => FieldType::Integer {
            min: field.minimum.unwrap_or(-MAX_INTEGER),
            max: field.maximum.unwrap_or(MAX_INTEGER),
        },
        "number" => FieldType::Number,
        "boolean" => FieldType::Boolean,
        "enum" => FieldType::Enum(texts(&field.values)),
        "time" => FieldType::Time,
        "now" => FieldType::Now(match field.on.as_deref() {
            Some("change") => Moment::Change,
            _ => Moment::Create,
        }),
        "list" => FieldType::List {
            max: field.max_items.unwrap_or(MAX_ITEMS),
            max_chars: field.max_length.unwrap_or(MAX_TEXT),
        },
        "secret" => FieldType::Secret { prefix: text(&field.prefix) },
        "next" => FieldType::Next(Next { within: texts(&field.within), strict: field.strict }),
        "seq" => FieldType::Seq,
        _ => FieldType::Json,
    }
}

fn unique(unique: &UniqueFields) -> Unique {
    let (folded, while_null): (&[String], _) = match unique {
        UniqueFields::Plain(_) => (&[], None),
        UniqueFields::Conditional { folded, while_null, .. } => (folded, while_null.as_deref()),
    };
    Unique { fields: texts(unique.fields()), folded: texts(folded), while_null: while_null.map(leaked) }
}

pub(super) fn assignments(set: &IndexMap<String, Value>) -> &'static [Assignment] {
    list(set.iter().map(|(field, value)| {
        let said = value.as_object();
        let value = match said {
            Some(said) if said.get("now").is_some() => Assigned::Now,
            Some(said) => match said.get("field").and_then(Value::as_str) {
                Some(field) => Assigned::Field(leaked(field)),
                None => Assigned::Json(json(&said.get("value").cloned().unwrap_or_default())),
            },
            None => Assigned::Json(json(value)),
        };
        Assignment {
            field: leaked(field),
            value,
            if_null: said.is_some_and(|said| said.get("ifNull") == Some(&true.into())),
        }
    }))
}

/// Returns the maximum number of characters of a text, which never exceeds its number of bytes.
pub(super) fn max_chars(field: &Field) -> usize {
    field.max_length.or(field.max_bytes).unwrap_or(MAX_TEXT)
}

/// Returns the JSON text of a value, in the form of constants.
fn json(value: &Value) -> &'static str {
    leaked(&value.to_string())
}
