//! A client of a contract about sections: its tools by their effects, and its words for ids, headings and positions.
//!
//! A contract says where requests have them. Answers have them under the same names; the tool that lists all sections is
//! the reading one whose answer has a list of what has an id.

use serde_json::{Value, json};
use tabellion_runtime::{
    ToolSpec,
    spec::{Effect, EffectKind},
};

use crate::{
    Subject,
    client::Client,
    judgement::{Stop, fail},
    reply::Reply,
    request::put,
    scene::Scene,
};

/// A client that edits sections.
#[derive(Debug)]
pub(in crate::checks) struct Editor<'a> {
    /// The client.
    pub(in crate::checks) client: Client<'a>,
    subject: &'a Subject,
    words: Words,
}

/// Names of members.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Words {
    id: String,
    heading: String,
    position: String,
    /// The content of a section that is read.
    content: &'static str,
    /// The tool that lists all.
    list: &'static str,
    /// Its list.
    entries: String,
}

/// A section as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::checks) struct Entry {
    /// Its id.
    pub(in crate::checks) id: String,
    /// Its heading.
    pub(in crate::checks) heading: String,
}

/// A section as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::checks) struct Read {
    /// Its heading.
    pub(in crate::checks) heading: String,
    /// Its own text.
    pub(in crate::checks) content: String,
    /// Its place among all sections.
    pub(in crate::checks) position: usize,
}

impl Words {
    fn of(subject: &Subject) -> Option<Self> {
        let name = |pointer: Option<&str>| Some(pointer?.trim_start_matches('/').to_owned());
        let (_, read) = subject.tool_with(EffectKind::ReadSection)?;
        let (_, insert) = subject.tool_with(EffectKind::InsertSection)?;
        let id = name(read.section)?;
        let entries = |tool: &&ToolSpec| {
            let schema = tool.output.wire();
            let mut members = schema["properties"].as_object()?.iter();
            let found = members.find(|(_, member)| member["items"]["properties"].get(&id).is_some());
            found.map(|(entries, _)| entries.clone())
        };
        let mut tools = subject.tools().filter(|tool| !tool.mutating);
        let (list, entries) = tools.find_map(|tool| Some((tool.name, entries(&tool)?)))?;
        Some(Self {
            heading: name(insert.target)?,
            position: name(insert.position)?,
            content: read.content?,
            id,
            list,
            entries,
        })
    }
}

impl<'a> Editor<'a> {
    /// Starts a server over the library of `scene`.
    ///
    /// # Errors
    /// When it does not start, or its contract is not about sections.
    pub(in crate::checks) fn start(subject: &'a Subject, scene: &Scene<'a>) -> Result<Self, Stop> {
        let words = Words::of(subject);
        let words =
            words.ok_or_else(|| Stop::NotApplicable("the server has no tools that edit sections".into()))?;
        Ok(Self {
            client: scene.start()?,
            subject,
            words,
        })
    }

    /// All sections, in their order.
    ///
    /// # Errors
    /// When they are not told, or their positions are not their places.
    pub(in crate::checks) fn list(&mut self) -> Result<Vec<Entry>, Stop> {
        let tool = self.subject.contract.tool(self.words.list);
        let tool = tool.ok_or_else(|| Stop::Harness("the tool that lists is gone".into()))?;
        let response = match self.client.call(tool, &json!({}))? {
            Reply::Done(done) => done.response,
            Reply::Refused(refusal) => {
                return Err(fail(format!("the sections were not listed: {}", refusal.message)));
            }
        };
        let Words {
            id,
            heading,
            position,
            entries,
            ..
        } = &self.words;
        let listed = response[entries].as_array();
        let listed = listed.ok_or_else(|| fail("the answer has no list of sections"))?;
        let entry = |(place, entry): (usize, &Value)| {
            if entry[position] != place {
                return Err(fail(format!(
                    "number {place} of the list says {} of its position",
                    entry[position]
                )));
            }
            Ok(Entry {
                id: entry[id].as_str().unwrap_or_default().to_owned(),
                heading: entry[heading].as_str().unwrap_or_default().to_owned(),
            })
        };
        listed.iter().enumerate().map(entry).collect()
    }

    /// A section; `None` where the server refuses to read it.
    ///
    /// # Errors
    /// When there is no answer.
    pub(in crate::checks) fn read(&mut self, id: &str) -> Result<Option<Read>, Stop> {
        let content = self.words.content;
        let reply = self.make(EffectKind::ReadSection, |effect, arguments| {
            put(arguments, effect.section.unwrap_or_default(), id.into());
        })?;
        let Reply::Done(done) = reply else {
            return Ok(None);
        };
        let response = done.response;
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(String::from);
        let position = response[&self.words.position].as_u64();
        Ok(Some(Read {
            heading: text(response.get(&self.words.heading)).unwrap_or_default(),
            content: text(response.pointer(content))
                .ok_or_else(|| fail("the answer has no section's text"))?,
            position: position
                .and_then(|it| usize::try_from(it).ok())
                .unwrap_or(usize::MAX),
        }))
    }

    /// Puts a section at a position.
    ///
    /// # Errors
    /// As all calls: when there is no answer.
    pub(in crate::checks) fn insert(
        &mut self,
        heading: &str,
        content: &str,
        position: usize,
    ) -> Result<Reply, Stop> {
        self.make(EffectKind::InsertSection, |effect, arguments| {
            put(arguments, effect.target.unwrap_or_default(), heading.into());
            put(arguments, effect.content.unwrap_or_default(), content.into());
            put(arguments, effect.position.unwrap_or_default(), position.into());
        })
    }

    /// The id of a section that was inserted.
    pub(in crate::checks) fn id_of(&self, inserted: &Reply) -> Option<String> {
        let response = &inserted.done()?.response;
        Some(response[&self.words.id].as_str()?.to_owned())
    }

    /// Gives a section another text.
    ///
    /// # Errors
    /// When there is no answer.
    pub(in crate::checks) fn update(&mut self, id: &str, content: &str) -> Result<Reply, Stop> {
        self.make(EffectKind::UpdateSection, |effect, arguments| {
            put(arguments, effect.section.unwrap_or_default(), id.into());
            put(arguments, effect.content.unwrap_or_default(), content.into());
        })
    }

    /// Deletes a section.
    ///
    /// # Errors
    /// When there is no answer.
    pub(in crate::checks) fn delete(&mut self, id: &str) -> Result<Reply, Stop> {
        self.make(EffectKind::DeleteSection, |effect, arguments| {
            put(arguments, effect.section.unwrap_or_default(), id.into());
        })
    }

    /// Moves a section to where it then has this position.
    ///
    /// # Errors
    /// When there is no answer.
    pub(in crate::checks) fn relocate(&mut self, id: &str, position: usize) -> Result<Reply, Stop> {
        self.make(EffectKind::MoveSection, |effect, arguments| {
            put(arguments, effect.section.unwrap_or_default(), id.into());
            put(arguments, effect.position.unwrap_or_default(), position.into());
        })
    }

    /// Undoes the last change.
    ///
    /// # Errors
    /// When there is no answer.
    pub(in crate::checks) fn undo(&mut self) -> Result<Reply, Stop> {
        self.make(EffectKind::Undo, |_, _| ())
    }

    /// Makes the last change that was undone again.
    ///
    /// # Errors
    /// When there is no answer.
    pub(in crate::checks) fn redo(&mut self) -> Result<Reply, Stop> {
        self.make(EffectKind::Redo, |_, _| ())
    }

    fn make(&mut self, kind: EffectKind, fill: impl FnOnce(&Effect, &mut Value)) -> Result<Reply, Stop> {
        let (tool, effect) = self
            .subject
            .tool_with(kind)
            .ok_or_else(|| Stop::NotApplicable("the server has no such tool".into()))?;
        let mut arguments = json!({});
        fill(effect, &mut arguments);
        self.client.call(tool, &arguments)
    }
}

/// Fails if a call that must be accepted was not.
pub(in crate::checks) fn accepted(reply: &Reply, what: &str) -> Result<(), Stop> {
    match reply {
        Reply::Done(_) => Ok(()),
        Reply::Refused(refusal) => Err(fail(format!("{what} was refused: {}", refusal.message))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tabellion_contracts::safe_markdown_editor::CONTRACT;

    #[test]
    fn a_contracts_own_words_are_found() {
        let subject = Subject::new(&CONTRACT, vec!["false".into()]);
        let words = Words::of(&subject).unwrap();
        let found = [
            &*words.id,
            &words.heading,
            &words.position,
            words.content,
            words.list,
            &words.entries,
        ];
        assert_eq!(
            found,
            [
                "section_id",
                "heading",
                "position",
                "/content",
                "list_sections",
                "sections"
            ]
        );
    }
}
