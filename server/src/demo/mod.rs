//! `tabellion demo`: a guided tour on a temporary library, by a client of a server of its own.
//!
//! The documents are Tabellion's own.

use std::{
    env,
    error::Error,
    fs, io,
    path::PathBuf,
    process::{self, Command},
};

use anstream::println;
use anstyle::{AnsiColor, Style};
use serde_json::{Map, Value, json};
use tabellion_contracts::braindrive_markdown::tool;
use tabellion_platform as platform;
use tabellion_runtime::context;

use tabellion_markdown::diff;
use tabellion_serve as serve;
use tabellion_upkeep::{client::Client, console::counted};

/// Path in the library, and text, of each document.
const DOCUMENTS: [(&str, &str); 3] = [
    (CALLS, include_str!("../../docs/calls.md")),
    (STATES, include_str!("../../docs/states.md")),
    ("docs/transactions.md", include_str!("../../docs/transactions.md")),
];
const CALLS: &str = "docs/calls.md";
const STATES: &str = "docs/states.md";
const SECTION: &str = "## Conditions";

const HEADING: Style = AnsiColor::Cyan.on_default().bold();
const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const DIM: Style = Style::new().dimmed();

/// Runs the tour and leaves its library for the user to inspect.
pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let library = new_folder()?;
    let mut server = Command::new(env::current_exe()?);
    let client = Client::start(server.arg("serve").arg("--library").arg(&library), "tabellion-demo")?;
    let mut demo = Demo { client };

    demo.step("The tools that the contract gives an agent");
    demo.tools()?;
    demo.step("Write three documents: one call, one commit, one log entry each");
    demo.write_documents()?;
    demo.step("Read one");
    let before = demo.read(CALLS)?;
    demo.step("Search all");
    demo.search("preview")?;
    demo.step("A misspelt heading is refused, with a suggestion");
    demo.refused(tool::EDIT_MARKDOWN, edit("replace_section", "## Condtions", ""))?;
    demo.step("Preview a change: nothing is written");
    let request = edit(
        "insert_after",
        SECTION,
        "## How it is checked\n\nBy the bytes on the disk and by git's objects, never by the server's own answers.\n",
    );
    let (shown, base) = demo.preview(request.clone())?;
    demo.step("Apply it, on condition that the file has not changed since the preview");
    demo.edit(request.clone(), &base)?;
    let after = demo.read_text(CALLS)?;
    if diff::unified(CALLS, &before, &after) != shown {
        return Err("the file differs from the preview".into());
    }
    println!("   the file equals the preview, byte for byte");
    demo.step("The same call again is refused: the file has changed");
    demo.stale(request, &base)?;
    demo.step("Delete a document, with confirmation");
    demo.delete(STATES)?;
    demo.step("The activity log, which is the git history");
    demo.log()?;
    demo.client.close()?;

    println!("\n{HEADING}Inspect the library at{HEADING:#}: {}", library.display());
    println!("   {DIM}git -C {} log --stat{DIM:#}", library.display());
    println!("\n{HEADING}To connect a client{HEADING:#}, put this into its configuration:\n");
    println!("{}", serve::client_configuration(&library)?);
    Ok(())
}

/// The client, and a printer of its results.
struct Demo {
    client: Client,
}

impl Demo {
    fn step(&self, title: &str) {
        println!("\n{HEADING}▸ {title}{HEADING:#}");
    }

    fn tools(&mut self) -> Result<(), Box<dyn Error>> {
        let listed = self.client.request("tools/list", json!({}))?;
        for tool in listed["tools"].as_array().into_iter().flatten() {
            println!("   {:<26}{DIM}{}{DIM:#}", text(&tool["name"]), text(&tool["description"]));
        }
        Ok(())
    }

    fn write_documents(&mut self) -> Result<(), Box<dyn Error>> {
        for (path, content) in DOCUMENTS {
            let (answer, _) =
                self.call(tool::WRITE_MARKDOWN, json!({ "path": path, "content": content }), json!({}))?;
            println!("   {path:<34}{DIM}commit {}{DIM:#}", short(&answer["git_commit_sha"]));
        }
        Ok(())
    }

    fn read(&mut self, path: &str) -> Result<String, Box<dyn Error>> {
        let (answer, _) = self.call(tool::READ_MARKDOWN, json!({ "path": path }), json!({}))?;
        let (content, metadata) = (text(&answer["content"]), &answer["metadata"]);
        println!(
            "   {path}: {} bytes, modified {}, commit {}",
            metadata["size"],
            text(&metadata["last_modified"]),
            short(&metadata["git_commit"])
        );
        for line in content.lines().take(3) {
            println!("   {DIM}│ {line}{DIM:#}");
        }
        Ok(content.to_string())
    }

    fn read_text(&mut self, path: &str) -> Result<String, Box<dyn Error>> {
        let (answer, _) = self.call(tool::READ_MARKDOWN, json!({ "path": path }), json!({}))?;
        Ok(text(&answer["content"]).to_string())
    }

    fn search(&mut self, query: &str) -> Result<(), Box<dyn Error>> {
        let (answer, _) = self.call(tool::SEARCH_MARKDOWN, json!({ "query": query }), json!({}))?;
        for result in answer["results"].as_array().into_iter().flatten() {
            let matches = result["matches"].as_array().map(Vec::as_slice).unwrap_or_default();
            println!("   {}: {} with \"{query}\"", text(&result["path"]), counted(matches.len(), "line"));
            for found in matches.iter().take(2) {
                println!("   {DIM}{:>4} │ {}{DIM:#}", found["line"], text(&found["snippet"]));
            }
        }
        Ok(())
    }

    fn preview(&mut self, request: Value) -> Result<(String, Value), Box<dyn Error>> {
        let (answer, mut meta) = self.call(tool::PREVIEW_MARKDOWN_CHANGE, request, json!({}))?;
        let diff = text(&answer["diff"]);
        for line in diff.lines() {
            let style = match line.as_bytes().first() {
                Some(b'+') => ADDED,
                Some(b'-') => REMOVED,
                _ => DIM,
            };
            println!("   {style}{line}{style:#}");
        }
        println!("   {}, risk {}", text(&answer["summary"]), text(&answer["risk_level"]));
        Ok((diff.to_string(), meta.remove(context::BASE).unwrap_or_default()))
    }

    fn edit(&mut self, request: Value, base: &Value) -> Result<(), Box<dyn Error>> {
        let (answer, _) = self.call(tool::EDIT_MARKDOWN, request, json!({ context::IF_BASE: base }))?;
        println!("   commit {}", text(&answer["git_commit_sha"]));
        Ok(())
    }

    fn stale(&mut self, request: Value, base: &Value) -> Result<(), Box<dyn Error>> {
        self.expect_refusal(tool::EDIT_MARKDOWN, request, json!({ context::IF_BASE: base }))
    }

    fn refused(&mut self, tool: &str, request: Value) -> Result<(), Box<dyn Error>> {
        self.expect_refusal(tool, request, json!({}))
    }

    fn delete(&mut self, path: &str) -> Result<(), Box<dyn Error>> {
        let request = json!({ "path": path, "confirm": true });
        let (answer, _) = self.call(tool::DELETE_MARKDOWN, request, json!({}))?;
        println!(
            "   {path}: gone from the folder, kept in git (commit {})",
            short(&answer["git_commit_sha"])
        );
        Ok(())
    }

    fn log(&mut self) -> Result<(), Box<dyn Error>> {
        let (answer, _) = self.call(tool::GET_MARKDOWN_ACTIVITY_LOG, json!({}), json!({}))?;
        for entry in answer["entries"].as_array().into_iter().flatten() {
            println!(
                "   {DIM}{}{DIM:#} {} {:<34}{}",
                text(&entry["timestamp"]),
                short(&entry["git_commit_sha"]),
                text(&entry["path"]),
                text(&entry["summary"])
            );
        }
        Ok(())
    }

    fn call(
        &mut self,
        tool: &str,
        arguments: Value,
        meta: Value,
    ) -> Result<(Value, Map<String, Value>), Box<dyn Error>> {
        Ok(self.client.call(tool, arguments, meta)??)
    }

    fn expect_refusal(&mut self, tool: &str, request: Value, meta: Value) -> Result<(), Box<dyn Error>> {
        match self.client.call(tool, request, meta)? {
            Err(message) => println!("   {REMOVED}refused{REMOVED:#}: {message}"),
            Ok(_) => return Err(format!("`{tool}` was expected to refuse").into()),
        }
        Ok(())
    }
}

fn edit(operation: &str, target: &str, content: &str) -> Value {
    json!({ "path": CALLS, "operation": { "type": operation, "target": target, "content": content } })
}

fn new_folder() -> Result<PathBuf, Box<dyn Error>> {
    // An earlier tour's process may have had the same number.
    for number in process::id().. {
        let folder = env::temp_dir().join(format!("tabellion-demo-{number}"));
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return Ok(created.and_then(|()| platform::canonicalize(&folder))?),
        }
    }
    Err("no name is free for the library".into())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn short(commit: &Value) -> &str {
    text(commit).get(..8).unwrap_or_default()
}
