//! The fields of a tool as options of the command line, from its schema.

use serde_json::{Map, Value};
use tabellion_gateway::json;
use tabellion_upkeep::TerminalError;

/// A field that has an option of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Position in the arguments: its name, below those of the objects that contain it.
    pub at: Vec<String>,
    /// Type of its values.
    pub kind: Kind,
    /// True if it may be repeated.
    pub is_list: bool,
    /// True if it, and the objects that contain it, are required.
    pub is_required: bool,
    /// Its description.
    pub help: String,
}

/// Type of a field's values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// One of these texts.
    Choice(Vec<String>),
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// True or false.
    Boolean,
    /// JSON: the field's members or types are not fixed.
    Json,
}

impl Field {
    /// Returns the name of the option: `operation-content`. A name in `taken` gets a prefix.
    pub fn option(&self, taken: &[&str]) -> String {
        let name = self.at.join("-").replace('_', "-");
        if taken.contains(&name.as_str()) { format!("field-{name}") } else { name }
    }

    /// Puts a value of the command line into the arguments.
    ///
    /// # Errors
    /// If the text is not a value of the field's type.
    pub fn set(&self, arguments: &mut Value, text: &str) -> Result<(), TerminalError> {
        let value = self.value(text)?;
        let mut place = arguments;
        for name in &self.at {
            if !place.is_object() {
                *place = Value::Object(Map::new());
            }
            place = &mut place[name.as_str()];
        }
        match place {
            Value::Array(items) if self.is_list => items.push(value),
            place if self.is_list => *place = Value::Array(vec![value]),
            place => *place = value,
        }
        Ok(())
    }

    fn value(&self, text: &str) -> Result<Value, TerminalError> {
        let parsed = |what: &str| {
            json::parse(text.as_bytes()).map_err(|error| {
                TerminalError::new(format_args!(
                    "the value of `{}` is not {what}: {error}",
                    self.at.join(".")
                ))
            })
        };
        match self.kind {
            Kind::Text | Kind::Choice(_) => Ok(text.into()),
            Kind::Integer | Kind::Number => parsed("a number"),
            Kind::Boolean => parsed("true or false"),
            Kind::Json => parsed("JSON"),
        }
    }
}

/// Returns the fields of an object's schema. Objects with fixed members are replaced by their members.
pub fn from_schema(schema: &Value) -> Vec<Field> {
    let mut fields = Vec::new();
    add(schema, &[], true, &mut fields);
    fields
}

fn add(schema: &Value, above: &[String], is_required: bool, fields: &mut Vec<Field>) {
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let at = [above, std::slice::from_ref(name)].concat();
        let is_required = is_required && required.iter().any(|wanted| wanted == name);
        if has_fixed_members(field) {
            add(field, &at, is_required, fields);
            continue;
        }
        let items = Some(&field["items"]).filter(|_| field["type"] == "array");
        let list = items.map(kind).filter(|kind| *kind != Kind::Json);
        fields.push(Field {
            at,
            is_list: list.is_some(),
            kind: list.unwrap_or_else(|| kind(field)),
            is_required,
            help: help(field),
        });
    }
}

fn has_fixed_members(schema: &Value) -> bool {
    schema["type"] == "object" && schema["properties"].is_object() && schema["additionalProperties"] == false
}

fn kind(schema: &Value) -> Kind {
    match schema["type"].as_str() {
        Some("string") => match schema["enum"].as_array() {
            Some(values) => Kind::Choice(values.iter().filter_map(Value::as_str).map(Into::into).collect()),
            None => Kind::Text,
        },
        Some("integer") => Kind::Integer,
        Some("number") => Kind::Number,
        Some("boolean") => Kind::Boolean,
        _ => Kind::Json,
    }
}

fn help(schema: &Value) -> String {
    let description = schema["description"].as_str().unwrap_or_default().to_owned();
    let mut limits = Vec::new();
    for (key, name) in [("minimum", "at least"), ("maximum", "at most"), ("default", "default:")] {
        if let Some(value) = schema.get(key) {
            limits.push(format!("{name} {value}"));
        }
    }
    if let Some(length) = schema.get("maxLength") {
        limits.push(format!("at most {length} characters"));
    }
    match (description.is_empty(), limits.is_empty()) {
        (_, true) => description,
        (true, false) => format!("[{}]", limits.join(", ")),
        (false, false) => format!("{description} [{}]", limits.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn field(schema: Value) -> Field {
        let object = json!({ "type": "object", "properties": { "a_b": schema }, "required": ["a_b"] });
        from_schema(&object).swap_remove(0)
    }

    #[test]
    fn a_field_takes_what_its_schema_says() {
        for (schema, texts, expected) in [
            (json!({ "type": "string" }), &["5"][..], Some(json!("5"))),
            (json!({ "type": "string", "enum": ["x"] }), &["x"], Some(json!("x"))),
            (json!({ "type": "integer" }), &["-5"], Some(json!(-5))),
            (json!({ "type": "integer" }), &["five"], None),
            (json!({ "type": "boolean" }), &["true"], Some(json!(true))),
            (json!({ "type": "object" }), &[r#"{"x":1}"#], Some(json!({ "x": 1 }))),
            (json!({ "type": "object" }), &["{"], None),
            (json!({ "type": "object" }), &[r#"{"x":1,"x":2}"#], None),
            (json!({ "type": "array", "items": { "type": "string" } }), &["x", "y"], Some(json!(["x", "y"]))),
            (json!({ "type": "array", "items": { "type": "object" } }), &["[{}]"], Some(json!([{}]))),
        ] {
            let (field, mut arguments) = (field(schema.clone()), json!({}));
            let set = texts.iter().try_for_each(|text| field.set(&mut arguments, text));
            assert_eq!(set.ok().map(|()| arguments["a_b"].clone()), expected, "{schema} {texts:?}");
        }
    }

    #[test]
    fn fixed_members_have_options_of_their_own() {
        let schema = json!({ "type": "object", "required": ["in"], "properties": {
            "in": { "type": "object", "additionalProperties": false, "required": ["type"], "properties": {
                "type": { "type": "string" }, "page_size": { "type": "integer", "maximum": 9 }
            } }
        } });
        let fields = from_schema(&schema);
        let shown: Vec<_> = fields
            .iter()
            .map(|field| (field.option(&["in-type"]), field.is_required, field.help.as_str()))
            .collect();
        assert_eq!(
            shown,
            [("field-in-type".to_owned(), true, ""), ("in-page-size".to_owned(), false, "[at most 9]")]
        );
        let mut arguments = json!({ "in": { "type": "x" } });
        fields[1].set(&mut arguments, "3").unwrap();
        assert_eq!(arguments, json!({ "in": { "type": "x", "page_size": 3 } }));
    }
}
