//! A JSON file: its value, and the position of each part in the text.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    places, pointer,
    problem::{Position, Problem},
};

/// A JSON file that has been read.
#[derive(Debug, Clone)]
pub struct Document {
    /// The file's path, beginning with the schemas' folder.
    pub file: PathBuf,
    /// The file's value. It is leaked: constants refer to its texts.
    pub value: &'static Value,
    places: BTreeMap<String, Position>,
}

impl Document {
    /// Reads `text`.
    ///
    /// # Errors
    /// When it is not JSON, or an object in it has a key twice (serde_json would silently keep the last).
    pub fn parse(file: &Path, text: &str) -> Result<Self, Vec<Problem>> {
        if text.starts_with('\u{feff}') {
            return Err(vec![Problem {
                file: file.into(),
                place: None,
                pointer: String::new(),
                message: "begins with a byte order mark, which JSON does not permit".into(),
                help: "save the file as UTF-8 without one".into(),
            }]);
        }
        let value: Value = serde_json::from_str(text).map_err(|error| {
            vec![Problem {
                file: file.into(),
                place: Some(Position { line: error.line(), column: error.column() }),
                pointer: String::new(),
                message: format!("is not JSON: {}", without_position(&error)),
                help: "correct the syntax here".into(),
            }]
        })?;
        let (places, duplicates) = places::scan(text);
        let document = Self { file: file.into(), value: Box::leak(Box::new(value)), places };
        let mut invisible = Vec::new();
        document.find_reordering("", document.value, &mut invisible);
        if !invisible.is_empty() {
            return Err(invisible);
        }
        if duplicates.is_empty() {
            return Ok(document);
        }
        Err(duplicates
            .into_iter()
            .map(|(pointer, place)| Problem {
                file: file.into(),
                place: Some(place),
                message: "this key occurs twice; JSON parsers keep only one of them".into(),
                help: "remove or rename one of the two".into(),
                pointer,
            })
            .collect())
    }

    /// Finds texts with characters that reorder what is shown: Rust permits none in the literals that are generated.
    fn find_reordering(&self, at: &str, value: &Value, problems: &mut Vec<Problem>) {
        let reorders = |c: &char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        match value {
            Value::String(text) => problems.extend(text.chars().find(reorders).map(|c| {
                let message = format!("the text has U+{:04X}, which reorders what readers see", u32::from(c));
                self.problem(at, message, "remove the character")
            })),
            Value::Array(values) => {
                let items = values.iter().enumerate();
                items.for_each(|(i, value)| self.find_reordering(&format!("{at}/{i}"), value, problems));
            }
            Value::Object(members) => {
                for (name, value) in members {
                    let at = pointer::push(at, name);
                    self.find_reordering(&at, value, problems);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Returns a problem at `pointer`, with the position of the longest prefix of `pointer` that exists in the text.
    pub fn problem(
        &self,
        pointer: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Problem {
        let pointer = pointer.into();
        Problem {
            file: self.file.clone(),
            place: self.place(&pointer),
            pointer,
            message: message.into(),
            help: help.into(),
        }
    }

    fn place(&self, mut pointer: &str) -> Option<Position> {
        loop {
            if let Some(place) = self.places.get(pointer) {
                return Some(*place);
            }
            pointer = pointer.rsplit_once('/')?.0;
        }
    }
}

/// Strips the position from a message of serde_json, since a problem has its own.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((message, _)) => message.into(),
        None => text,
    }
}
