//! Defects of files that may be read, and of memory files to which a person lets clients append.

use std::{fs, io, path::Path, thread, time::Duration};

use serde_json::{Value, json};
use tabellion_contracts::learning_os::{CONTRACT, tool};
use tabellion_runtime::PathPolicy;

use super::{
    disk::git,
    message::{Call, Reply},
    server::Proxy,
};
use crate::mutant::Mutant;

/// Size of the largest entry, in bytes.
const MAX_ENTRY_BYTES: usize = 5 << 10;
/// Size of the largest file that can be read, in bytes.
const MAX_FILE_BYTES: usize = 100 << 10;
/// Name of a list of this process: the approvals that were used.
const USED: &str = "used";

/// Answers a call about files as the mutant does.
pub(super) fn answer(mutant: Mutant, call: Call, proxy: &mut Proxy) -> io::Result<Reply> {
    match &*call.tool {
        tool::READ_REPO_FILE => read(mutant, &call, proxy),
        tool::WRITE_MEMORY_ENTRY => append(mutant, call, proxy),
        _ => proxy.forward(&call),
    }
}

/// Reads a file even if the server refuses that.
fn read(mutant: Mutant, call: &Call, proxy: &mut Proxy) -> io::Result<Reply> {
    let reply = proxy.forward(call)?;
    if mutant == Mutant::MissingIsAnError && reply.0["result"]["structuredContent"]["exists"] == false {
        return Ok(proxy.refuse("the file does not exist"));
    }
    let (path, policy) = (call.text("path"), CONTRACT.tool(&call.tool).and_then(|tool| tool.paths));
    let (Ok(bytes), Some(policy)) = (fs::read(proxy.folder.join(path)), policy) else {
        return Ok(reply);
    };
    let permits = |allow, deny, path| PathPolicy { allow, deny }.judge(path).is_ok();
    let is_allowed = permits(policy.allow, &[], path);
    let forgives = match mutant {
        Mutant::CutsFiles => bytes.len() > MAX_FILE_BYTES,
        Mutant::ReplacesBytes => str::from_utf8(&bytes).is_err(),
        Mutant::ReadsThroughLinks => is_linked(&proxy.folder, path)?,
        Mutant::DeniesSmallLetters => is_allowed && path != path.to_lowercase(),
        Mutant::DeniesTheEnd => {
            let last = path.rsplit('/').next().unwrap_or_default();
            is_allowed && permits(&["**"], policy.deny, last)
        }
        Mutant::AllowsFirst => is_allowed,
        Mutant::AllowsBeginnings => {
            let begins = |glob: &&str| path.starts_with(glob.trim_end_matches("/**"));
            permits(&["**"], policy.deny, path) && policy.allow.iter().any(begins)
        }
        _ => false,
    };
    if !forgives || !reply.is_refused() {
        return Ok(reply);
    }
    let content = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_FILE_BYTES)]);
    Ok(proxy.respond(json!({ "exists": true, "content": content })))
}

/// Returns true if a path leads through a symbolic link.
fn is_linked(folder: &Path, path: &str) -> io::Result<bool> {
    let target = folder.join(path).canonicalize();
    Ok(target.is_ok_and(|target| folder.canonicalize().is_ok_and(|folder| folder.join(path) != target)))
}

fn append(mutant: Mutant, mut call: Call, proxy: &mut Proxy) -> io::Result<Reply> {
    let path = format!(".claude/memory/{}", call.text("file"));
    let entry = call.arguments.get("entry").cloned();
    let text = entry.as_ref().map_or_else(|| call.text("content").to_owned(), Value::to_string);
    let before = fs::read(proxy.folder.join(&path)).unwrap_or_default();
    if mutant == Mutant::AsksNoPerson {
        return write(mutant, &path, before, &text, proxy);
    }
    if let Some(Value::Object(entry)) = entry.clone().filter(|_| mutant == Mutant::SortsMembers) {
        let mut members: Vec<_> = entry.into_iter().collect();
        members.sort_by(|one, other| one.0.cmp(&other.0));
        call = call.with("entry", Value::Object(members.into_iter().collect()));
    }
    if mutant == Mutant::NoLock {
        thread::sleep(Duration::from_millis(20));
    }
    let mut reply = proxy.forward(&call)?;
    if let Some(requests) = reply.0["result"]["inputRequests"].as_object_mut() {
        for message in requests.values_mut().map(|request| &mut request["params"]["message"]) {
            let asked = message.as_str().unwrap_or_default();
            *message = match mutant {
                Mutant::ShowsTheFirstLine => asked.replace(&text, text.lines().next().unwrap_or_default()),
                Mutant::ShowsNoFile => asked.replace(&path, "the memory"),
                _ => asked.to_owned(),
            }
            .into();
        }
        let state = reply.0["result"]["requestState"].as_str().unwrap_or_default();
        proxy.record.set_here(state, json!(before));
        return Ok(reply);
    }
    let params = &proxy.request["params"];
    let state = params["requestState"].as_str().unwrap_or_default().to_owned();
    let action =
        params["inputResponses"].as_object().and_then(|answers| answers.values().next()?["action"].as_str());
    let (is_answered, declines) = (!state.is_empty(), matches!(action, Some("decline" | "cancel")));
    let accepts = action == Some("accept");
    let was_asked: Option<Vec<u8>> =
        proxy.record.here(&state).map(|held| serde_json::from_value(held.clone())).transpose()?;
    let is_used = proxy.record.list_here(USED).contains(&state.as_str().into());
    if !reply.is_refused() {
        proxy.record.list_here(USED).push(state.into());
        let held = was_asked.filter(|_| mutant == Mutant::WritesWhatWas).unwrap_or(before);
        return match mutant {
            Mutant::CommitsNothing => {
                git(&proxy.folder, &["reset", "--quiet", "--soft", "HEAD~"]).map(|_| reply)
            }
            Mutant::CommitsAgain => {
                git(&proxy.folder, &["commit", "--quiet", "--allow-empty", "-m", "again"]).map(|_| reply)
            }
            Mutant::JoinsLines
            | Mutant::Overwrites
            | Mutant::AppendsTwice
            | Mutant::UnixEndings
            | Mutant::DropsLastLine
            | Mutant::WritesWhatWas
            | Mutant::NoLock => {
                fs::write(proxy.folder.join(&path), appended(mutant, held, &text))?;
                // Without a lock, another process may be in git.
                let _ = git(&proxy.folder, &["commit", "--quiet", "--amend", "--no-edit", "--", &path]);
                Ok(reply)
            }
            _ => Ok(reply),
        };
    }
    let is_too_large = text.len() > MAX_ENTRY_BYTES;
    let forgives = match mutant {
        Mutant::CountsCharacters => is_too_large && text.chars().count() <= MAX_ENTRY_BYTES,
        Mutant::NoLimit | Mutant::CutsEntries => is_too_large,
        Mutant::AnyTime => entry.is_some(),
        Mutant::AnyFile => !text.is_empty(),
        Mutant::FollowsLinks => is_linked(&proxy.folder, &path)?,
        Mutant::AsksInVain => declines,
        Mutant::AnyAnswer => is_answered && !declines && !accepts,
        Mutant::ApprovesForEver => is_used,
        Mutant::ApprovesOfAnything => was_asked.is_some() && !is_used,
        _ => false,
    };
    if mutant == Mutant::RefusalLeavesAFile && is_answered {
        fs::write(proxy.folder.join("declined.txt"), "x")?;
    }
    if forgives { write(mutant, &path, before, &text, proxy) } else { Ok(reply) }
}

/// Appends to a file in place of the server.
fn write(mutant: Mutant, path: &str, before: Vec<u8>, text: &str, proxy: &Proxy) -> io::Result<Reply> {
    let at = proxy.folder.join(path);
    fs::create_dir_all(at.parent().unwrap_or(&proxy.folder))?;
    fs::write(at, appended(mutant, before, text))?;
    // The target of a link may be outside of the repository.
    let _ = git(&proxy.folder, &["add", "--force", "--", path]);
    let _ = git(&proxy.folder, &["commit", "--quiet", "-m", &format!("append to {path}"), "--", path]);
    Ok(proxy.respond(json!({ "success": true })))
}

/// Returns the file's bytes with the text appended on separate lines.
fn appended(mutant: Mutant, mut held: Vec<u8>, text: &str) -> Vec<u8> {
    match mutant {
        Mutant::Overwrites => held.clear(),
        Mutant::UnixEndings => held = String::from_utf8_lossy(&held).replace("\r\n", "\n").into_bytes(),
        Mutant::DropsLastLine => {
            held.truncate(held.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1))
        }
        _ => {}
    }
    if held.last().is_some_and(|last| *last != b'\n') && mutant != Mutant::JoinsLines {
        held.push(b'\n');
    }
    let most = if mutant == Mutant::CutsEntries { MAX_ENTRY_BYTES } else { usize::MAX };
    let text = &text[..text.floor_char_boundary(most)];
    for _ in 0..if mutant == Mutant::AppendsTwice { 2 } else { 1 } {
        held.extend(text.as_bytes());
        if !text.ends_with('\n') {
            held.push(b'\n');
        }
    }
    held
}
