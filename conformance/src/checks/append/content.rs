//! One appending, to files of every kind.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Way, accepted, judge as judge_added};
use crate::{
    Bytes,
    check::{Bench, Case, Check, Severity},
    judgement::{Judgement, Stop, ensure},
    ledger,
    moment::Moment,
    reply::Reply,
};

pub(super) const CHECK: Check = Check {
    id: "append/content",
    severity: Severity::Must,
    guarantees: &[
        "append-only",
        "no-deletion",
        "one-entry-per-line",
        "commit-per-entry",
    ],
    states: "After an appending the file begins with all that it was, and then has what came, once and on lines of its own.",
    explains: "Entries and texts of all kinds (line breaks in them, odd characters, nested lists, members in no order) are \
               appended to files that are missing, empty, without a final newline, with Windows' line endings, with a byte \
               order mark, large, or no text at all. Every byte of before must be there; an entry must be one line of JSON, \
               equal to what was given down to the order of its members, and never share its line. The commit must have the \
               same bytes. Only a file that is no UTF-8 may be refused, and is then what it was.",
    cases,
    judge,
    shrink,
};

/// What is appended one after the other to a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Appended {
    way: Way,
    /// What the file holds at first; `None` where there is none.
    held: Option<Bytes>,
    /// What comes.
    what: Vec<Value>,
}

/// Files, by what is special about them.
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
        (
            "a byte order mark",
            Some([b"\xef\xbb\xbf", &lines(b"\n", b"\n")[..]].concat()),
        ),
        ("a blank line at the end", Some(lines(b"\n", b"\n\n"))),
        ("a newline", Some(b"\n".to_vec())),
        ("a lonely carriage return at the end", Some(lines(b"\n", b"\r"))),
        ("lines that are not JSON", Some(b"# Not JSON\n\n- {\n".to_vec())),
        ("NUL", Some(lines(b"\n", b"\0\n"))),
        ("many lines", Some(lines(b"\n", b"\n").repeat(3_000))),
        (NO_TEXT, Some(lines(b"\n\xff\xfe\n", b"\n"))),
    ]
}

/// The file that a server may refuse.
const NO_TEXT: &str = "bytes that are no UTF-8";

fn contents(adds_lines: bool) -> Vec<Value> {
    if !adds_lines {
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
    let ways = Way::all(bench.subject)?;
    for &way in &ways {
        let all = contents(way.adds_lines(bench.subject)?);
        for (number, (name, held)) in files().into_iter().enumerate() {
            if !bench.pick(number % ways.len() == way.0 % ways.len(), true) {
                continue;
            }
            // Each file gets others in the quick profile, and one way, so that all come to some file.
            let some = (0..3).map(|at| all[(number * 3 + at) % all.len()].clone());
            let what = bench.pick(some.collect(), all.clone());
            let held = held.map(Bytes);
            let path = way.call(bench.subject, &what[0])?.path();
            cases.push(Case::new(format!("{path}: {name}"), Appended { way, held, what }));
        }
    }
    Ok(cases)
}

/// One thing alone.
fn shrink(case: &Case) -> Vec<Case> {
    let Ok(appended) = case.read::<Appended>() else {
        return Vec::new();
    };
    if appended.what.len() < 2 {
        return Vec::new();
    }
    let one = |what: &Value| Appended {
        what: vec![what.clone()],
        ..appended.clone()
    };
    let all = appended.what.iter();
    all.map(|what| Case::new(format!("{}, only {what}", case.name), one(what)))
        .collect()
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let Appended { way, held, what } = case.read()?;
    let path = way.call(bench.subject, &what[0])?.path();
    let scene = bench.scene(&[("README.md", "# Library\n")])?;
    if let Some(held) = &held {
        scene.put(&path, held.as_ref())?;
        scene.commit_all("a file")?;
    }
    let may_refuse = held.is_some_and(|held| str::from_utf8(held.as_ref()).is_err());
    let mut client = scene.start()?;
    for what in &what {
        let call = way.call(bench.subject, what)?;
        let (moment, before) = (Moment::of(&scene)?, scene.read(&path));
        let reply = client.make(&call)?;
        let after = scene.read(&path);
        if may_refuse && matches!(reply, Reply::Refused(_)) {
            moment.same(&Moment::of(&scene)?)?;
            continue;
        }
        accepted(&reply, "a valid entry")?;
        judge_added(&call, before.as_deref(), after.as_deref())?;
        let later = Moment::of(&scene)?;
        moment.same_documents(&later, &[&path])?;
        moment.same_around(&later)?;
        if bench.subject.should_commit() {
            one_commit(&scene.library(), &moment, &later, &path)?;
        }
    }
    Ok(())
}

/// Fails unless there is one commit more, of this file, as it lies in the folder.
pub(super) fn one_commit(root: &std::path::Path, before: &Moment, after: &Moment, path: &str) -> Judgement {
    let (old, new) = (&before.view.library, &after.view.library);
    let commits = new.commits_since(old);
    ensure(commits.len() == 1, || {
        format!("the call made {} commits instead of one", commits.len())
    })?;
    let parent = new.commits.get(1);
    ensure(parent == old.commits.first(), || {
        "the commit does not stand on the last one".into()
    })?;
    let changed = ledger::git(root, &["show", "--format=", "--name-only", "-z", "HEAD"])?;
    let changed: Vec<_> = changed.split_terminator('\0').map(str::trim).collect();
    ensure(changed == [path], || {
        format!("the commit changes {changed:?} instead of `{path}`")
    })?;
    ensure(new.status.is_empty(), || {
        format!("git finds changes that are not committed: {}", new.status)
    })
}
