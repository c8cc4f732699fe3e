//! Drafts an adapter: matches a server's tools to the contract's by their names and arguments.
//!
//! Calls only the tool that is guessed to read documents, on a temporary library, to find the form of paths and the
//! location of the text.

mod listing;
mod reading;
mod role;

use std::{collections::BTreeSet, fmt::Write, path::Path};

use serde_json::{Value, json};
use tabellion_runtime::{ToolSpec, spec::EffectKind};

use self::{
    listing::{key, toml},
    reading::ReadProbe,
    role::{NOUNS, WantedEffect, words},
};
use super::{
    mapping::doing,
    offer::{self, Offer},
    smoke::DOCUMENT,
};
use crate::{
    Subject,
    client::Client,
    judgement::Stop,
    launch::Reach,
    official,
    probe::Identity,
    promises::PROMISES,
    report::visible,
    scene::{Scene, View},
    trace::Trace,
};

/// Returns the TOML of an adapter for the subject's server.
///
/// # Errors
/// If the server does not start or list its tools, or the disk or git fails.
pub fn draft(subject: &Subject, identity: Option<&Identity>) -> Result<String, Stop> {
    let trace = Trace::default();
    let scene = Scene::new(subject, &trace, &[("notes/plan.md", DOCUMENT)])?;
    let before = scene.view()?;
    let mut client = scene.start()?;
    let offer = offer::ask(&mut client).map_err(crate::judgement::fail)?;
    let complaint = complaint(subject, &mut client)?;
    // Compared before the first read: files that reading creates are a finding, not the server's own state.
    let own = own(&before, &scene.view()?);
    let reading = reading::reading(subject, &offer, &scene, &mut client)?;
    let path = reading.as_ref().map_or("{path}", |reading| reading.path);
    let promises = promised(&offer);
    let mut toml = complaint + &head(subject, identity, &promises, &own);
    for tool in subject.contract.operations() {
        let section = section(subject, tool, &offer, path, reading.as_ref());
        toml.push_str(&section);
    }
    Ok(toml + &listing::tools(&offer))
}

/// Returns a comment if the list of tools violates MCP's schema.
fn complaint(subject: &Subject, client: &mut Client<'_>) -> Result<String, Stop> {
    let list = client.request("tools/list", json!({}))?;
    let revision = subject.era.revision();
    Ok(match official::check(revision, Some("tools/list"), &list) {
        Ok(()) => String::new(),
        Err(violation) => format!(
            "# Warning: `tools/list` does not satisfy MCP's schema of {revision}, so that some clients reject the server:\n# {}\n\n",
            visible::cut(&violation.to_string(), 300)
        ),
    })
}

/// Returns globs of the files and folders that the server made in the library although no call changed it.
fn own(before: &View, after: &View) -> Vec<String> {
    let (before, after) = (&before.library, &after.library);
    let first = |path: &Path| path.iter().next().map(|name| name.to_string_lossy().into_owned());
    let folders: BTreeSet<_> = after.folders_since(before).iter().filter_map(|path| first(path)).collect();
    let files = after.changed_since(before);
    let files = files.iter().filter(|path| path.extension().is_none_or(|it| it != "md"));
    let names: BTreeSet<_> = files.filter_map(|path| first(path)).chain(folders.iter().cloned()).collect();
    let is_folder = |name: &String| after.folders.contains(Path::new(name));
    names.into_iter().map(|name| if is_folder(&name) { format!("{name}/**") } else { name }).collect()
}

/// Returns the promises that the descriptions of tools seem to make, each with the words that make it.
fn promised(offer: &Offer) -> Vec<(&'static str, &'static str)> {
    let says: String = offer.values().map(|tool| tool.to_string().to_lowercase()).collect();
    let made = PROMISES.iter().filter_map(|promise| {
        let words = promise.said.iter().find(|words| says.contains(**words))?;
        Some((promise.guarantee.id, *words))
    });
    made.collect()
}

/// Returns the comment on drafted promises: the words that make them, and the other promises there are.
fn promises_note(made: &[(&str, &str)]) -> String {
    let said: Vec<_> = made.iter().map(|(id, words)| format!("{id} (\"{words}\")")).collect();
    let ids = PROMISES.iter().skip(1).map(|promise| promise.guarantee.id);
    let others: Vec<_> = ids.filter(|id| made.iter().all(|(made, _)| made != id)).collect();
    format!(
        "# `promises`: drafted from what the tools say, {}. Keep those that the server's documents make, too.\n# Others are {}.\n",
        if said.is_empty() { "which is nothing".to_owned() } else { said.join(", ") },
        others.join(", ")
    )
}

fn head(
    subject: &Subject,
    identity: Option<&Identity>,
    promises: &[(&str, &str)],
    made: &[String],
) -> String {
    let launch = &subject.launch;
    let name = identity.map_or(&subject.name, |identity| &identity.name);
    let mut head = "# A draft: look at each entry, then try it with `tabellion-conformance smoke --adapter FILE`.\n\
        # Values: {/a/b} from the request, {library}, {absolute} path, {old} text and {new} text of an edit, {content}: the\n\
        # whole document after it.\n\n[server]\n"
        .to_owned();
    let mut say = |key: &str, value: Value| {
        let _ = writeln!(head, "{key} = {}", toml(&value));
    };
    say("name", name.as_str().into());
    if let Some(version) = identity.map(|identity| &identity.version).filter(|version| !version.is_empty()) {
        say("version", version.as_str().into());
    }
    say("contract", subject.contract.id.into());
    say("promises", promises.iter().map(|(id, _)| *id).collect());
    say("command", launch.command.clone().into());
    for (name, value) in &launch.environment {
        say(&format!("environment.{}", key(name)), value.as_str().into());
    }
    if let Some(directory) = &launch.directory {
        say("directory", directory.to_string_lossy().into());
    }
    if !subject.setup.command.is_empty() {
        say("prepare", subject.setup.command.clone().into());
    }
    let own: Vec<_> = subject.own.globs().iter().chain(made).cloned().collect();
    if !own.is_empty() {
        say("own", own.into());
    }
    if !made.is_empty() {
        head.push_str("# `own`: the server made this when it started; is it its own state?\n");
    }
    head.push_str(&promises_note(promises));
    if let Reach::Http(url) = &launch.reach {
        let _ = writeln!(head, "# Give `--url {url}` on the command line, too.");
    }
    head
}

/// Returns the entry of a tool as TOML; a comment if no call is guessed.
fn section(
    subject: &Subject,
    tool: &'static ToolSpec,
    offer: &Offer,
    path: &str,
    reading: Option<&ReadProbe>,
) -> String {
    if offer.contains_key(tool.name) {
        return same(tool);
    }
    let does = doing(subject.contract, tool);
    let path = path.replace("{path}", &format!("{{{}}}", tool.path.unwrap_or_default()));
    let mut by_state = None;
    let guesses = does.effects.iter().map(|effect| {
        let wanted = WantedEffect {
            kind: effect.kind,
            content: effect.content.unwrap_or_default(),
            target: effect.target,
            path: &path,
            previews: does.label() != tool.label(),
        };
        let both = wanted.entries_by_state(offer);
        by_state = by_state.take().or(both);
        (effect.kind, wanted.entry(offer))
    });
    let guesses: Vec<_> = guesses.collect();
    if let Some([new, existing]) = by_state {
        let response = response(subject, tool, reading);
        return format!(
            "\n[tools.{0}]\n{response}\n[tools.{0}.new]\n{1}\n[tools.{0}.existing]\n{2}",
            tool.label(),
            new.lines(),
            existing.lines()
        );
    }
    let Some(first) = guesses.iter().find_map(|(_, entry)| entry.as_ref()) else {
        return nothing(tool, offer);
    };
    let key = key(tool.label());
    let mut lines = format!("\n[tools.{key}]\n");
    let response = response(subject, tool, reading);
    if guesses.iter().all(|(_, entry)| entry.as_ref() == Some(first)) {
        return lines + &first.lines() + &response;
    }
    lines.push_str(&response);
    for (name, entry) in &guesses {
        match entry {
            Some(entry) => {
                let _ = write!(lines, "\n[tools.{key}.{name}]\n{}", entry.lines());
            }
            None => {
                let _ = write!(lines, "\n# Nothing is guessed for `{name}`.\n");
            }
        }
    }
    lines
}

/// Returns the entry of a tool that the server has under the contract's name.
fn same(tool: &ToolSpec) -> String {
    let members = |schema: &Value, each: &dyn Fn(&str) -> String| {
        let names = schema["properties"].as_object().into_iter().flat_map(|all| all.keys());
        let members: Vec<_> = names.map(|name| each(name)).collect();
        members.join(", ")
    };
    let arguments = members(&tool.input.wire(), &|name| format!("{} = \"{{/{name}}}\"", key(name)));
    let response = members(&tool.output.wire(), &|name| {
        format!("\"/{name}\" = {{ at = \"/structuredContent/{name}\" }}")
    });
    format!(
        "\n[tools.{0}]\nname = \"{0}\"\narguments = {{ {arguments} }}\nresponse = {{ {response} }}\n",
        tool.label()
    )
}

/// Returns the comment for a tool for which no call is guessed.
fn nothing(tool: &ToolSpec, offer: &Offer) -> String {
    let wanted = words(tool.label());
    let wanted: Vec<_> =
        wanted.iter().filter(|word| !NOUNS.contains(&word.as_str()) && *word != "get").collect();
    let close = offer.keys().filter(|name| words(name).iter().any(|word| wanted.contains(&word)));
    let close: Vec<_> = close.map(String::as_str).collect();
    let close = if close.is_empty() { "…".to_owned() } else { close.join(" or ") };
    format!(
        "\n# Nothing is guessed for `{0}`: {1}\n# [tools.{0}]\n# name = \"{close}\"\n# arguments = {{}}\n# response = {{}}\n",
        tool.label(),
        tool.description
    )
}

/// Returns the lines that map the response.
fn response(subject: &Subject, tool: &ToolSpec, reading: Option<&ReadProbe>) -> String {
    let mut members = Vec::new();
    let schema = tool.output.wire();
    let required = schema["required"].as_array().into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        let pointer = format!("/{name}");
        let mut effects = tool.effects.iter();
        let mut previews = subject.contract.previews.iter();
        let source =
            if effects.any(|effect| effect.kind == EffectKind::Read && effect.content == Some(&pointer)) {
                reading.map_or("{ text = true }", |reading| &reading.source)
            } else if previews.any(|pair| pair.preview == tool.label() && pair.diff == pointer) {
                "{ text = true }"
            } else if schema["properties"][name]["type"] == "boolean" {
                "{ is = true }"
            } else {
                continue;
            };
        members.push(format!("{} = {source}", toml(&pointer.into())));
    }
    let mut lines = format!("response = {{ {} }}\n", members.join(", "));
    if let Some(commit) = tool.commit {
        let _ = writeln!(
            lines,
            "# If it tells the commit, add to the response: \"{commit}\" = {{ at = \"/structuredContent/…\" }}"
        );
    }
    lines
}
