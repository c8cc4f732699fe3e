//! The runtime's constants for entities.

use indexmap::IndexMap;
use serde_json::Value;
use tabellion_runtime::spec::{
    Added, Also, Assigned, Assignment, EntitySpec, FieldSpec, FieldType, Hook, Moment, Next, OnDelete,
    Reference, RowsSpec, Scope, Seed, TextRule, Unique,
};

use super::read::{Entity, Field, Rows, UniqueFields, changing};
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
        contract: contract.spec.contract,
        version: contract.spec.version,
        org: rows.org,
        caller: rows.caller,
        entities: list(contract.entities.iter().map(|entity| self::entity(rows, entity))),
        seeds: list(rows.seeds.iter().map(|seed| Seed {
            entity: seed.entity,
            org: seed.org,
            row: json(&seed.row),
        })),
    })
}

fn entity(rows: &Rows, entity: &Entity) -> EntitySpec {
    let file = &entity.file;
    let is_org = rows.org.as_ref().is_some_and(|org| org.entity == file.name);
    let also = file.also.iter().flat_map(|(on, others)| others.iter().map(move |other| (on, other)));
    EntitySpec {
        name: file.name,
        table: file.table,
        scope: match &file.scope {
            Some(field) => Scope::Org(field),
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
                field,
                is: json(is),
                set: assignments(&hook.set),
                otherwise: assignments(&hook.otherwise),
            })
        })),
        also: list(also.filter_map(|(on, other)| {
            Some(Also {
                on: changing(on)?,
                when: constants(&other.when),
                unless: constants(&other.unless),
                entity: other.entity,
                key: other.key,
                set: assignments(&other.set),
            })
        })),
        acyclic: list(file.acyclic.iter().copied()),
        rules: list(file.rules.iter().copied()),
        adds: list(file.adds.iter().map(|(name, of)| Added {
            name,
            reference: of.reference,
            field: of.field,
        })),
        retired: constants(&file.retired),
    }
}

fn constants(values: &IndexMap<&'static str, Value>) -> &'static [(&'static str, &'static str)] {
    list(values.iter().map(|(field, is)| (*field, json(is))))
}

pub(super) fn field(name: &'static str, field: &Field) -> FieldSpec {
    FieldSpec {
        optional: field.optional,
        fixed: field.fixed,
        of_store: field.of_store,
        hidden: field.hidden,
        default: field.default.as_ref().map(json),
        from: field.from,
        one_true_in: texts(&field.one_true_in),
        text: text_rules(field),
        pascal_case: field.pascal_case,
        slug_of: field.slug_of,
        range: field.range,
        copy: field.copy_of,
        alias: field.alias,
        loose: field.loose,
        ..FieldSpec::new(name, kind(field))
    }
}

fn text_rules(field: &Field) -> &'static [TextRule] {
    let format = match field.format {
        Some("email") => Some(TextRule::Email),
        Some("json") => Some(TextRule::JsonValue),
        Some("json-object") => Some(TextRule::JsonObject),
        Some(_) => Some(TextRule::JsonTexts),
        None => None,
    };
    let pattern = field.pattern.map(TextRule::Pattern);
    let rules = [
        field.max_bytes.map(TextRule::MaxBytes),
        field.not_blank.then_some(TextRule::NotBlank),
        pattern,
        format,
    ];
    list(rules.into_iter().flatten())
}

fn kind(field: &Field) -> FieldType {
    match field.kind {
        "id" => FieldType::Id,
        "ref" => FieldType::Ref(Reference {
            to: field.to.unwrap_or_default(),
            on_delete: field.on_delete.unwrap_or(OnDelete::Restrict),
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
        "now" => FieldType::Now(field.on.unwrap_or(Moment::Create)),
        "list" => FieldType::List {
            max: field.max_items.unwrap_or(MAX_ITEMS),
            max_chars: field.max_length.unwrap_or(MAX_TEXT),
        },
        "secret" => FieldType::Secret { prefix: field.prefix.unwrap_or_default() },
        "next" => FieldType::Next(Next { within: texts(&field.within), strict: field.strict }),
        "seq" => FieldType::Seq,
        _ => FieldType::Json,
    }
}

fn unique(unique: &UniqueFields) -> Unique {
    let (folded, while_null): (&[&'static str], _) = match unique {
        UniqueFields::Plain(_) => (&[], None),
        UniqueFields::Conditional { folded, while_null, .. } => (folded, *while_null),
    };
    Unique { fields: texts(unique.fields()), folded: texts(folded), while_null }
}

pub(super) fn assignments(set: &IndexMap<&'static str, Value>) -> &'static [Assignment] {
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
            field,
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
