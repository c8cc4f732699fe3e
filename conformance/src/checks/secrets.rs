//! Secrets: answered once, and nowhere else.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tabellion_runtime::{
    context::IDEMPOTENCY_KEY,
    spec::{Action, EntitySpec, FieldType},
};

use super::rows::basics::{entity, has, spec};
use crate::{
    bytes,
    checks::prelude::*,
    ledger::rows::Row,
    rows::{
        RowsClient,
        requests::{self, RequestContent},
    },
    watcher,
};

pub(super) const CHECKS: &[Check] = &[Check {
    id: "secrets/once",
    guarantees: &["secrets-once"],
    states: "A secret is in the answer that creates it and nowhere else: in no file, no other answer, no error and no output.",
    explains: "Creates a row with a secret, which must have its prefix and 256 random bits. Then gets and lists it, repeats the call \
               with its idempotency key, provokes errors, and restarts the server. The secret is searched for in all of these \
               answers, in standard error, and as bytes in every file of the data folder, also without its prefix and while the \
               server runs.",
    cases,
    ..Check::must(judge)
}];

/// Number of hexadecimal digits of a secret.
const DIGITS: usize = 64;

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let entities = spec(bench)?.entities.iter();
    let with =
        entities.filter(|entity| !secrets(entity).is_empty() && has(bench, entity.name, &[Action::Create]));
    let cases = with.map(|entity| Case::new(entity.name, entity.name)).collect();
    nonempty(cases, "no operation creates a row with a secret")
}

/// Returns the names and the prefixes of the secrets of an entity.
fn secrets(entity: &'static EntitySpec) -> Vec<(&'static str, &'static str)> {
    let secret = |field: &'static tabellion_runtime::spec::FieldSpec| match field.kind {
        FieldType::Secret { prefix } => Some((field.name, prefix)),
        _ => None,
    };
    entity.fields.iter().filter_map(secret).collect()
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let entity = entity(bench, &case.read::<String>()?)?;
    let scene = Scene::of_rows(bench.subject, &bench.trace)?;
    let log = watcher::file()?;
    let mut rows = open(bench, &scene, log.path())?;
    let key = [(IDEMPOTENCY_KEY, json!("the-first"))];
    let data = rows.complete(entity, Row::new())?;
    let request = rows.request(entity, Action::Create, Row::new(), data)?;
    let done = rows.send_with(&request, &key)?.must("a valid call")?;
    let row = request.row(&done.response).cloned().unwrap_or_default();
    let mut kept = Kept { words: Vec::new(), data: scene.data(), log: log.path().to_owned() };
    for (name, prefix) in secrets(entity) {
        kept.learn(name, prefix, &row)?;
    }
    let other = rows.complete(entity, Row::new())?;
    let other = rows.request(entity, Action::Create, Row::new(), other)?;
    let second = rows.must(&other)?;
    for (name, _) in secrets(entity) {
        let same = other.row(&second.response).and_then(|row| row.get(name)) == row.get(name);
        ensure(!same, || format!("two rows have the same `{name}`"))?;
    }
    kept.nowhere("while the server runs")?;
    for restarted in [false, true] {
        if restarted {
            rows.close()?;
            kept.nowhere("after the server's end")?;
            rows = open(bench, &scene, log.path())?;
        }
        // The same call again, with its key, without it, and with another's.
        for meta in [&key[..], &[]] {
            let message = rows.send_with(&request, meta)?;
            kept.not_in(&message, "the answer to the same call")?;
        }
        kept.not_in(&rows.send_with(&other, &key)?, "the answer to another call with its key")?;
        let by_key = requests::key_of(entity, &row);
        for (action, by) in
            [(Action::Get, by_key.clone()), (Action::List, Row::new()), (Action::Update, by_key)]
        {
            if let Ok(request) = rows.request(entity, action, by, Row::new()) {
                kept.not_in(&rows.send(&request)?, request.tool.label())?;
            }
        }
    }
    for tool in requests::own(bench.subject.contract, entity.name) {
        let content = RequestContent {
            org: rows.org.clone(),
            key: requests::key_of(entity, &row),
            ..RequestContent::default()
        };
        if let Some(request) = rows.request_by(tool, content)? {
            kept.not_in(&rows.send(&request)?, request.tool.label())?;
        }
    }
    if rows.has(entity, Action::Delete) {
        let request = rows.request(entity, Action::Delete, requests::key_of(entity, &row), Row::new())?;
        kept.not_in(&rows.send(&request)?, request.tool.label())?;
    }
    rows.close()?;
    kept.nowhere("in the end")
}

/// Starts a server with its standard error in a file.
fn open<'a>(bench: &Bench<'a>, scene: &Scene<'a>, log: &Path) -> Result<RowsClient<'a>, Stop> {
    let file = fs::File::options().append(true).open(log)?;
    let client = scene.start_by(|command| {
        command.stderr(file);
    })?;
    RowsClient::over(bench.subject, client)
}

/// Secrets, and where they must not be kept.
struct Kept {
    words: Vec<String>,
    data: PathBuf,
    log: PathBuf,
}

impl Kept {
    /// Takes the secret of a new row.
    fn learn(&mut self, name: &str, prefix: &str, row: &Row) -> Judgement {
        let secret = row.get(name).and_then(Value::as_str).unwrap_or_default();
        let digits = secret.strip_prefix(prefix).unwrap_or_default();
        let is_right = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        ensure(is_right, || {
            format!(
                "the answer that creates a row has no `{name}` of `{prefix}` and {DIGITS} hexadecimal digits"
            )
        })?;
        self.words.push(digits.to_owned());
        Ok(())
    }

    /// Fails if a text has a secret.
    fn not_in(&self, reply: &Reply, what: &str) -> Judgement {
        let text = match reply {
            Reply::Done(done) => format!("{} {}", done.response, Value::Object(done.meta.clone())),
            Reply::Refused(refusal) => refusal.message.clone(),
        };
        ensure(!self.words.iter().any(|word| text.contains(word)), || format!("{what} has the secret"))
    }

    /// Fails if a file has a secret.
    fn nowhere(&self, when: &str) -> Judgement {
        let mut waiting = vec![self.data.clone(), self.log.clone()];
        while let Some(path) = waiting.pop() {
            if path.is_dir() {
                for entry in fs::read_dir(&path)? {
                    waiting.push(entry?.path());
                }
                continue;
            }
            // A file may be gone by now.
            let bytes = fs::read(&path).unwrap_or_default();
            if self.words.iter().any(|word| bytes::contain(&bytes, word)) {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let name = if path == self.log { "standard error".into() } else { format!("`{name}`") };
                return Err(fail(format!("{when}, {name} has the secret")));
            }
        }
        Ok(())
    }
}
