//! The SafeMarkdownEditor in the built server: its answers, and their effects on the document and on git.

mod history;
mod ids;
mod offers;
mod tools;

use serde_json::{Value, json};
use tabellion_conformance::ledger;

use crate::support::{Library, Outcome, Refusal, Server};

const PATH: &str = "notes/plan.md";
const TREE: &str = "# A\n\na\n\n## B\n\nb\n\n### C\n\nc\n\n## D\n\nd\n";

/// A library with one document, and a server that edits it.
struct EditorSession {
    library: Library,
    server: Server,
}

impl EditorSession {
    /// Creates a library with a document that a person has committed.
    fn with(document: &str) -> Self {
        Self::over(Library::with(&[(PATH, document)]))
    }

    fn over(library: Library) -> Self {
        let server = serve(&library);
        Self { library, server }
    }

    /// Restarts the server.
    fn restart(&mut self) {
        let server = std::mem::replace(&mut self.server, serve(&self.library));
        server.close();
    }

    fn text(&self) -> String {
        String::from_utf8(self.library.get(PATH)).expect("text")
    }

    /// Returns each section's id and heading.
    fn list(&mut self) -> Vec<(String, String)> {
        let answer = self.server.call("list_sections", json!({})).expect("a list");
        let sections = answer["sections"].as_array().expect("sections");
        for (position, section) in sections.iter().enumerate() {
            assert_eq!(section["position"], position);
        }
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        sections.iter().map(|section| (text(&section["section_id"]), text(&section["heading"]))).collect()
    }

    /// Returns the id of the section with this heading.
    fn id(&mut self, heading: &str) -> String {
        let list = self.list();
        let found = list.into_iter().find(|(_, other)| other == heading);
        found.unwrap_or_else(|| panic!("no section {heading}")).0
    }

    /// Replaces each `@Heading` in the arguments by that section's id.
    fn arguments(&mut self, arguments: &Value) -> Value {
        let mut arguments = arguments.clone();
        for value in arguments.as_object_mut().into_iter().flat_map(|members| members.values_mut()) {
            if let Some(heading) = value.as_str().and_then(|text| text.strip_prefix('@')) {
                *value = self.id(heading).into();
            }
        }
        arguments
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Outcome<Value> {
        let arguments = self.arguments(&arguments);
        self.server.call(tool, arguments)
    }

    /// Calls a tool that changes the document, and checks that it makes one commit of this document alone.
    #[track_caller]
    fn edit(&mut self, tool: &str, arguments: Value) -> Value {
        let arguments = self.arguments(&arguments);
        let before = self.library.ledger();
        let answer = match self.server.call(tool, arguments.clone()) {
            Ok(answer) => answer,
            Err(refusal) => panic!("{tool} {arguments}: {refusal:?}"),
        };
        let after = self.library.ledger();
        let commits = after.commits_since(&before);
        assert_eq!(commits.len(), 1, "{tool} {arguments}");
        let shown = ledger::git(self.library.root(), &["show", "--format=%B", "--name-only", &commits[0]]);
        let shown = shown.expect("git show");
        assert!(shown.contains(&format!("Tabellion-Tool: {tool}")), "{shown}");
        assert!(after.changed_since(&before).iter().all(|path| path.to_str() == Some(PATH)));
        assert_eq!(after.status, before.status, "{tool} {arguments}");
        answer
    }

    /// Calls a tool that must refuse, and checks that nothing has changed.
    #[track_caller]
    fn refuse(&mut self, tool: &str, arguments: Value) -> Box<Refusal> {
        let arguments = self.arguments(&arguments);
        let before = self.library.ledger();
        let refusal = match self.server.call(tool, arguments.clone()) {
            Err(refusal) => refusal,
            Ok(answer) => panic!("{tool} accepted {arguments}: {answer}"),
        };
        assert_eq!(self.library.ledger(), before, "{tool} refused {arguments} and changed something");
        refusal
    }

    /// Returns the answer to a request.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        let message = self.server.target.request(method, params).expect("an answer");
        assert!(message.get("error").is_none(), "{method}: {message}");
        message["result"].clone()
    }
}

fn serve(library: &Library) -> Server {
    library.serve_with(&["--contract", "safe-markdown-editor", "--document", PATH])
}

fn insert(heading: &str, content: &str, position: i32) -> Value {
    json!({ "heading": heading, "content": content, "position": position })
}
