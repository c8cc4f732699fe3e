//! A client for contracts with sections, which finds tools by effect and member names for ids, headings and positions.
//!
//! The contract declares the members of requests; responses use the same names. The tool that lists all sections is the
//! non-mutating tool whose response has a list of items with an id.

use tabellion_runtime::spec::Effect;

use crate::{checks::prelude::*, judgement::missing_tool, request::put};

/// A client that edits sections.
#[derive(Debug)]
pub(in crate::checks) struct Editor<'a> {
    pub(in crate::checks) client: Client<'a>,
    subject: &'a Subject,
    names: MemberNames,
}

/// Names of members in requests and responses.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MemberNames {
    id: String,
    heading: String,
    position: String,
    /// Pointer to a section's content in the response of the reading tool.
    content: &'static str,
    /// Name of the tool that lists all sections.
    list: &'static str,
    /// Member of its response with the list.
    entries: String,
}

/// A section in the list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::checks) struct Entry {
    /// Id of the section.
    pub(in crate::checks) id: String,
    /// Heading of the section.
    pub(in crate::checks) heading: String,
}

/// A section as the reading tool returns it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::checks) struct SectionContent {
    /// Heading of the section.
    pub(in crate::checks) heading: String,
    /// Text of the section, without its heading and nested sections.
    pub(in crate::checks) content: String,
    /// Position among all sections.
    pub(in crate::checks) position: usize,
}

impl MemberNames {
    fn find(subject: &Subject) -> Option<Self> {
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
        let mut tools = subject.operations().filter(|tool| !tool.mutating);
        let (list, entries) = tools.find_map(|tool| Some((tool.label(), entries(&tool)?)))?;
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
    /// The server does not start, or its contract has no sections.
    pub(in crate::checks) fn start(subject: &'a Subject, scene: &Scene<'a>) -> Result<Self, Stop> {
        let names = MemberNames::find(subject);
        let names = names.ok_or_else(|| not_applicable("the server has no tools that edit sections"))?;
        Ok(Self { client: scene.start()?, subject, names })
    }

    /// Lists all sections in order.
    ///
    /// # Errors
    /// The server lists no sections, or a section with a wrong position.
    pub(in crate::checks) fn list(&mut self) -> Result<Vec<Entry>, Stop> {
        let tool = self.subject.contract.operation(self.names.list);
        let tool = tool.ok_or_else(|| Stop::Harness("the contract has lost its listing tool".into()))?;
        let response = self.client.call(tool, &json!({}))?.must("listing the sections")?.response;
        let MemberNames { id, heading, position, entries, .. } = &self.names;
        let listed = response[entries].as_array();
        let listed = listed.ok_or_else(|| fail("the response has no list of sections"))?;
        let entry = |(index, entry): (usize, &Value)| {
            if entry[position] != index {
                return Err(fail(format!("entry {index} of the list has position {}", entry[position])));
            }
            Ok(Entry {
                id: entry[id].as_str().unwrap_or_default().to_owned(),
                heading: entry[heading].as_str().unwrap_or_default().to_owned(),
            })
        };
        listed.iter().enumerate().map(entry).collect()
    }

    /// Reads a section; `None` if the server refuses.
    pub(in crate::checks) fn read(&mut self, id: &str) -> Result<Option<SectionContent>, Stop> {
        let content = self.names.content;
        let reply = self.make(EffectKind::ReadSection, |effect, arguments| {
            put(arguments, effect.section.unwrap_or_default(), id.into());
        })?;
        let Reply::Done(done) = reply else {
            return Ok(None);
        };
        let response = done.response;
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(String::from);
        let position = response[&self.names.position].as_u64();
        Ok(Some(SectionContent {
            heading: text(response.get(&self.names.heading)).unwrap_or_default(),
            content: text(response.pointer(content))
                .ok_or_else(|| fail("the response has no section content"))?,
            position: position.and_then(|it| usize::try_from(it).ok()).unwrap_or(usize::MAX),
        }))
    }

    /// Inserts a section at a position.
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

    /// Returns the id of an inserted section.
    pub(in crate::checks) fn id_of(&self, inserted: &Reply) -> Option<String> {
        let response = &inserted.done()?.response;
        Some(response[&self.names.id].as_str()?.to_owned())
    }

    /// Replaces the text of a section.
    pub(in crate::checks) fn update(&mut self, id: &str, content: &str) -> Result<Reply, Stop> {
        self.make(EffectKind::UpdateSection, |effect, arguments| {
            put(arguments, effect.section.unwrap_or_default(), id.into());
            put(arguments, effect.content.unwrap_or_default(), content.into());
        })
    }

    /// Deletes a section.
    pub(in crate::checks) fn delete(&mut self, id: &str) -> Result<Reply, Stop> {
        self.make(EffectKind::DeleteSection, |effect, arguments| {
            put(arguments, effect.section.unwrap_or_default(), id.into());
        })
    }

    /// Moves a section so that it then has `position`.
    pub(in crate::checks) fn relocate(&mut self, id: &str, position: usize) -> Result<Reply, Stop> {
        self.make(EffectKind::MoveSection, |effect, arguments| {
            put(arguments, effect.section.unwrap_or_default(), id.into());
            put(arguments, effect.position.unwrap_or_default(), position.into());
        })
    }

    /// Undoes the last change.
    pub(in crate::checks) fn undo(&mut self) -> Result<Reply, Stop> {
        self.make(EffectKind::Undo, |_, _| ())
    }

    /// Redoes the last undone change.
    pub(in crate::checks) fn redo(&mut self) -> Result<Reply, Stop> {
        self.make(EffectKind::Redo, |_, _| ())
    }

    fn make(&mut self, kind: EffectKind, fill: impl FnOnce(&Effect, &mut Value)) -> Result<Reply, Stop> {
        let (tool, effect) = self.subject.tool_with(kind).ok_or_else(missing_tool)?;
        let mut arguments = json!({});
        fill(effect, &mut arguments);
        self.client.call(tool, &arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tabellion_contracts::safe_markdown_editor::CONTRACT;

    #[test]
    fn member_names_are_those_of_the_contract() {
        let subject = Subject::new(&CONTRACT, vec!["false".into()]);
        let names = MemberNames::find(&subject).unwrap();
        let found = [&*names.id, &names.heading, &names.position, names.content, names.list, &names.entries];
        assert_eq!(found, ["section_id", "heading", "position", "/content", "list_sections", "sections"]);
    }
}
