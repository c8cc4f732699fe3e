//! One append, to files of every kind.

use super::effect::{AppendEffect, judge as judge_appended};
use crate::{
    Bytes,
    check::{counted, each_alone},
    checks::prelude::*,
    judgement::ensure_accepted,
    ledger,
};

pub(super) const CHECK: Check = Check {
    id: "append/content",
    guarantees: &["append-only", "no-deletion", "one-entry-per-line", "commit-per-entry"],
    states: "After an append the file begins with all its old content, followed by the entry, once and on lines of \
             its own.",
    explains: "Entries and texts of all kinds (embedded line breaks, unusual characters, nested lists, unsorted \
               members) are appended to files that are missing, empty, large, not UTF-8, without a final newline, \
               with CRLF line endings or with a byte order mark. The file must keep every old byte. An entry must be \
               one line of JSON, equal to the argument including the order of its members, and never share its line. \
               The commit must contain the same bytes. Only a file that is not UTF-8 may be refused, and must then \
               be unchanged.",
    cases,
    shrink,
    ..Check::must(judge)
};

/// Appends to one file, in order.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Appends {
    #[serde(rename = "way")]
    effect: AppendEffect,
    /// Initial content of the file; `None` if the file does not exist.
    #[serde(rename = "held")]
    initial: Option<Bytes>,
    /// Texts or members of entries to append.
    #[serde(rename = "what")]
    contents: Vec<Value>,
}

/// Returns initial contents of files, with a name for each.
fn files() -> Vec<(&'static str, Option<Vec<u8>>)> {
    let line = b"{\"timestamp\":\"2026-01-01T00:00:00Z\",\"event\":\"began\"}";
    let lines = |ending: &[u8], last: &[u8]| [line, ending, line, last].concat();
    vec![
        ("no file", None),
        ("an empty file", Some(Vec::new())),
        ("two lines", Some(lines(b"\n", b"\n"))),
        ("no final newline", Some(lines(b"\n", b""))),
        ("crlf", Some(lines(b"\r\n", b"\r\n"))),
        ("crlf, no final newline", Some(lines(b"\r\n", b""))),
        ("a byte order mark", Some([b"\xef\xbb\xbf", &lines(b"\n", b"\n")[..]].concat())),
        ("a blank line at the end", Some(lines(b"\n", b"\n\n"))),
        ("a newline", Some(b"\n".to_vec())),
        ("a single carriage return at the end", Some(lines(b"\n", b"\r"))),
        ("lines that are not JSON", Some(b"# Not JSON\n\n- {\n".to_vec())),
        ("NUL", Some(lines(b"\n", b"\0\n"))),
        ("many lines", Some(lines(b"\n", b"\n").repeat(3_000))),
        (NOT_UTF8, Some(lines(b"\n\xff\xfe\n", b"\n"))),
    ]
}

/// Name of the content that a server may refuse.
const NOT_UTF8: &str = "bytes that are not UTF-8";

/// Returns texts, or members of entries, to append.
fn contents(appends_lines: bool) -> Vec<Value> {
    if !appends_lines {
        let texts = [
            "- plain\n",
            "- no newline",
            "- one\n- two\n\n- three\n",
            "- crlf\r\n- crlf\r\n",
            "\n\n- blank lines before",
            "# Größe \u{1f600} \u{200b} 大\n",
            "---\nfront: matter\n---\n",
            " ",
        ];
        return texts.into_iter().map(Value::from).collect();
    }
    vec![
        json!({}),
        json!({ "z": 1, "a": 2, "m": { "z": [1, { "b": null }], "a": true } }),
        json!({ "text": "one\ntwo\r\nthree\u{2028}four\u{2029}five\u{85}six\tseven" }),
        json!({ "text": "\" \\ / \u{8}\u{c}\u{0}\u{1f}\u{7f} %s ${x} `id`" }),
        json!({ "größe": "\u{1f600} e\u{301} \u{200b} 大", "": "no name", "a b": "a blank" }),
        json!({ "text": "{\"timestamp\":\"2026-01-01T00:00:00Z\"}\n{\"forged\":true}" }),
        json!({ "numbers": [0, -1, 9_007_199_254_740_991_i64, 0.5, 1e100, 1e-7] }),
        json!({ "__proto__": { "a": 1 }, "constructor": "x", "toString": null }),
    ]
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    let effects = AppendEffect::all(bench.subject)?;
    for &effect in &effects {
        let all = contents(effect.appends_lines(bench.subject)?);
        for (number, (name, initial)) in files().into_iter().enumerate() {
            if !bench.pick(number % effects.len() == effect.0 % effects.len(), true) {
                continue;
            }
            // The quick profile combines each file with one effect and three contents.
            let some = (0..3).map(|at| all[(number * 3 + at) % all.len()].clone());
            let contents = bench.pick(some.collect(), all.clone());
            let initial = initial.map(Bytes);
            let path = effect.call(bench.subject, &contents[0])?.path();
            cases.push(Case::new(format!("{path}: {name}"), Appends { effect, initial, contents }));
        }
    }
    Ok(cases)
}

/// Returns a case for each append alone.
fn shrink(case: &Case) -> Vec<Case> {
    let name = |_, content: &Value| format!("{}, only {content}", case.name);
    each_alone(case, |appends: &mut Appends| &mut appends.contents, name)
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let Appends { effect, initial, contents } = case.read()?;
    let path = effect.call(bench.subject, &contents[0])?.path();
    let scene = bench.scene(&[("README.md", "# Library\n")])?;
    if let Some(initial) = &initial {
        scene.put(&path, initial.as_ref())?;
        scene.commit_all("a file")?;
    }
    let may_refuse = initial.is_some_and(|initial| str::from_utf8(initial.as_ref()).is_err());
    let mut client = scene.start()?;
    for content in &contents {
        let call = effect.call(bench.subject, content)?;
        let (moment, before) = (Moment::capture(&scene)?, scene.read(&path));
        let reply = client.make(&call)?;
        let after = scene.read(&path);
        if may_refuse && matches!(reply, Reply::Refused(_)) {
            moment.same(&Moment::capture(&scene)?)?;
            continue;
        }
        ensure_accepted(&reply, "a valid entry")?;
        judge_appended(&call, before.as_deref(), after.as_deref())?;
        let later = Moment::capture(&scene)?;
        moment.same_documents(&later, &[&path])?;
        moment.same_around(&later)?;
        if bench.subject.should_commit() {
            ensure_one_commit(&scene, &moment, &later, &path)?;
        }
    }
    Ok(())
}

/// Fails unless one commit was made, it changes only `path`, and the working tree is clean.
pub(super) fn ensure_one_commit(scene: &Scene<'_>, before: &Moment, after: &Moment, path: &str) -> Judgement {
    let (old, new) = (&before.view.library, &after.view.library);
    let commits = new.commits_since(old);
    ensure(commits.len() == 1, || {
        format!("the call made {} instead of one", counted(commits.len(), "commit"))
    })?;
    let parent = new.commits.get(1);
    ensure(parent == old.commits.first(), || "the commit's parent is not the previous commit".into())?;
    let named = scene.own().except(&["show", "--format=", "--name-only", "-z", "HEAD"]);
    let changed = ledger::git(&scene.library(), &named)?;
    let changed: Vec<_> = changed.split_terminator('\0').map(str::trim).collect();
    ensure(changed == [path], || format!("the commit changes {changed:?} instead of `{path}`"))?;
    ensure(new.status.is_empty(), || format!("git finds changes that are not committed: {}", new.status))
}
