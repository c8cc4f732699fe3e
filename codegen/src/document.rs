//! A JSON file: its value, and the position of each part in the text.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    places,
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
