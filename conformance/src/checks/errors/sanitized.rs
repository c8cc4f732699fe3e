//! Errors reveal no internals of the server.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    calls::{accepted, call, reading},
    leaks::{Leaks, text_of},
};
use crate::{
    checks::{prelude::*, provenance::said},
    launch::Reach,
    request,
    stepper::{Counting, Effect, Errno, Fault},
};

pub(super) const CHECK: Check = Check {
    id: "errors/sanitized",
    guarantees: &["errors-are-sanitized"],
    states: "No error tells a path, a statement or word of the database, a type, or a line of source; an internal one tells under which \
             id the log has its cause.",
    explains: "Provokes errors of the server's own: its files are cut, filled with zeros or other bytes, or replaced by folders; the disk \
               is full or fails at one of the system calls of a change; and sends bytes that are not UTF-8, numbers beyond all ranges, and \
               texts that break statements. Then searches the texts of all errors, except for what the caller said itself. An error \
               -32603 must have `rule` and `requestId` in its `data`.",
    cases,
    ..Check::must(judge)
};

/// JSON-RPC's code for errors of the server's own.
const INTERNAL_ERROR: i64 = -32603;

/// Cause of the server's failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Trouble {
    Damaged {
        damage: Damage,
        while_running: bool,
    },
    /// From this system call of a change on, the disk is full, or fails.
    Disk {
        at: usize,
        is_full: bool,
    },
    /// Lines that are not requests, or odd ones.
    Bytes,
    Values,
}

/// Damage to the files of the data folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Damage {
    Zeros,
    OtherBytes,
    Cut,
    Folders,
}

const DAMAGES: [(Damage, &str); 4] = [
    (Damage::Zeros, "the files are zeros"),
    (Damage::OtherBytes, "the files have other bytes"),
    (Damage::Cut, "the files are cut"),
    (Damage::Folders, "folders are in the place of the files"),
];
/// Numbers of the system calls of a change at which the disk fails.
const POINTS: [usize; 5] = [1, 2, 3, 5, 8];

/// Texts, numbers and other values that a member does not expect.
fn odd_values() -> [Value; 9] {
    [
        json!("'; DROP TABLE rows; --"),
        json!("a\" OR \"\" = \""),
        json!("../../../../etc/passwd"),
        json!("a\u{0}b"),
        json!("\u{feff}\u{202e}\u{1f642}"),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1e308),
        json!([[[[{ "a": [] }]]]]),
    ]
}

/// Lines with bytes that are not UTF-8, or with JSON that many parsers reject.
const LINES: [&[u8]; 6] = [
    b"{\"jsonrpc\":\"2.0\",\"id\":\"odd\",\"method\":\"tools/call\",\"params\":{\"name\":\"\xff\xfe\"}}",
    b"\xc3\x28\xa0\xa1",
    br#"{"jsonrpc":"2.0","id":"odd","method":"tools/call","params":{"name":"\ud800","arguments":{}}}"#,
    br#"{"jsonrpc":"2.0","id":"odd","method":"tools/call","params":{"name":"x","arguments":{"n":1e400}}}"#,
    br#"{"jsonrpc":"2.0","id":"odd","method":"tools/call","params":{"name":"x","arguments":{"n":123456789012345678901234567890}}}"#,
    br#"{"jsonrpc":"2.0","id":"odd","method":"#,
];

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = vec![Case::new("odd values", Trouble::Values)];
    let launch = &bench.subject.launch;
    if matches!(launch.reach, Reach::Lines) {
        cases.push(Case::new("odd lines", Trouble::Bytes));
    }
    if launch.running().is_some() || bench.subject.contract.rows.is_none() {
        return Ok(cases);
    }
    for (damage, name) in DAMAGES {
        for (while_running, when) in [(false, ""), (true, ", while the server runs")] {
            cases.push(Case::new(format!("{name}{when}"), Trouble::Damaged { damage, while_running }));
        }
    }
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        for at in POINTS {
            for (is_full, what) in [(true, "is full"), (false, "fails")] {
                let name = format!("the disk {what} from call {at} of a change on");
                cases.push(Case::new(name, Trouble::Disk { at, is_full }));
            }
        }
    }
    Ok(cases)
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let scene = said::scene(bench)?;
    match case.read()? {
        Trouble::Values => values(bench, &scene),
        Trouble::Bytes => bytes(bench, &scene),
        Trouble::Damaged { damage, while_running } => damaged(bench, &scene, damage, while_running),
        Trouble::Disk { at, is_full } => disk(bench, &scene, at, is_full),
    }
}

/// Sends each example with each member replaced by each odd value.
fn values(bench: &Bench<'_>, scene: &Scene<'_>) -> Judgement {
    let mut client = scene.start()?;
    let leaks = leaks(scene)?;
    for tool in bench.subject.operations() {
        let Some(example) = request::examples(tool).next() else {
            continue;
        };
        for at in members(&example, "") {
            for odd in odd_values() {
                let mut arguments = example.clone();
                request::put(&mut arguments, &at, odd);
                let answer = call(&mut client, tool.name, &arguments, meta(bench))?;
                judge_one(&leaks, &answer, &arguments)?;
            }
        }
    }
    Ok(client.close()?)
}

/// Returns pointers to the members of the arguments, and to those of their objects.
fn members(value: &Value, at: &str) -> Vec<String> {
    let Some(members_here) = value.as_object() else {
        return Vec::new();
    };
    let below = members_here.iter().flat_map(|(name, value)| {
        let name = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
        let further = members(value, &name);
        [name].into_iter().chain(further)
    });
    below.collect()
}

/// Sends lines that are not UTF-8, or that most programs do not accept as JSON.
fn bytes(bench: &Bench<'_>, scene: &Scene<'_>) -> Judgement {
    let leaks = leaks(scene)?;
    for line in LINES {
        let mut client = scene.start()?;
        client.target.send(line)?;
        // Messages before the answer to a harmless request belong to the line.
        let mut params = json!({});
        crate::client::prepare(bench.subject.era, &mut params, &json!({}));
        let id = client.target.post("tools/list", params)?;
        loop {
            match client.target.receive() {
                Ok(message) if message["id"] == id => break,
                Ok(message) => judge_one(&leaks, &message, &Value::Null)?,
                // Other checks judge whether a server survives such lines.
                Err(_) => break,
            }
        }
    }
    Ok(())
}

/// Damages the files of a server: before it starts again, or while it runs.
fn damaged(bench: &Bench<'_>, scene: &Scene<'_>, damage: Damage, while_running: bool) -> Judgement {
    let mut client = scene.start()?;
    let (tool, arguments) = accepted(bench, &mut client)?;
    let leaks = leaks(scene)?;
    let mut running = Some(client);
    if !while_running && let Some(client) = running.take() {
        client.close()?;
    }
    for path in files(&scene.data())? {
        spoil(&path, damage)?;
    }
    scene.trace(format!("the files of the data folder are damaged: {damage:?}"));
    // A server that does not start sends no errors.
    let Some(mut client) = running.or_else(|| scene.start().ok()) else {
        return Ok(());
    };
    let all = [(tool, arguments)].into_iter().chain(reading(bench));
    for (tool, arguments) in all {
        match call(&mut client, tool.name, &arguments, meta(bench)) {
            Ok(answer) => judge_one(&leaks, &answer, &arguments)?,
            Err(stop) if stop.is_of_server() => break,
            Err(stop) => return Err(stop),
        }
    }
    Ok(())
}

fn spoil(path: &Path, damage: Damage) -> Result<(), Stop> {
    let length = fs::metadata(path)?.len();
    match damage {
        Damage::Zeros => fs::write(path, vec![0; usize::try_from(length).unwrap_or(4096)])?,
        Damage::OtherBytes => fs::write(path, b"{\"rows\": [\xff\xfe other bytes ".repeat(64))?,
        Damage::Cut => fs::OpenOptions::new().write(true).open(path)?.set_len(length / 2)?,
        Damage::Folders => {
            fs::remove_file(path)?;
            fs::create_dir(path)?;
        }
    }
    Ok(())
}

/// Makes a change while the disk is full or fails.
fn disk(bench: &Bench<'_>, scene: &Scene<'_>, at: usize, is_full: bool) -> Judgement {
    let (mut client, stepper) = scene.start_stepped(Counting::WhenArmed)?;
    let (tool, arguments) = accepted(bench, &mut client)?;
    let leaks = leaks(scene)?;
    let errno = if is_full { Errno::ENOSPC } else { Errno::EIO };
    stepper.arm(Some(Fault { at, effect: Effect::FailOn(errno) }));
    let mut all = vec![(tool, arguments)];
    all.extend(reading(bench).into_iter().take(1));
    for (tool, arguments) in all {
        match call(&mut client, tool.name, &arguments, meta(bench)) {
            Ok(answer) => judge_one(&leaks, &answer, &arguments)?,
            Err(stop) if stop.is_of_server() => break,
            Err(stop) => return Err(stop),
        }
    }
    stepper.disarm();
    stepper.kill();
    stepper.wait(bench.subject.launch.patience);
    Ok(())
}

fn meta(bench: &Bench<'_>) -> Map<String, Value> {
    said::full_meta(bench.subject.contract.provenance, 1)
}

/// Returns the names that errors in this scene must not contain: its folders, and the files that the server made there.
fn leaks(scene: &Scene<'_>) -> Result<Leaks, Stop> {
    let name = |path: &Path| Some(path.file_name()?.to_string_lossy().into_owned());
    let mut names = vec![scene.data().to_string_lossy().into_owned()];
    names.push(scene.library().to_string_lossy().into_owned());
    let data = scene.data();
    if data.is_dir() {
        let files = files(&data)?;
        // A plain word may occur in an error with another meaning.
        names.extend(files.iter().filter_map(|path| name(path)).filter(|name| name.contains('.')));
    }
    Ok(Leaks { names })
}

/// Returns the files below a folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Stop> {
    let mut files = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                files.push(path);
            }
        }
    }
    Ok(files)
}

/// Fails if an answer is an error that leaks internals, or an internal one without the id under which the log has its cause.
fn judge_one(leaks: &Leaks, answer: &Value, said: &Value) -> Judgement {
    let error = match answer.get("error") {
        Some(error) => error,
        None if answer["result"]["isError"] == true => &answer["result"],
        None => return Ok(()),
    };
    if error["code"] == INTERNAL_ERROR {
        for name in ["rule", "requestId"] {
            let is_said = error["data"][name].as_str().is_some_and(|text| !text.is_empty());
            ensure(is_said, || format!("an internal error has no `data.{name}`: {error}"))?;
        }
    }
    let text = text_of(error);
    ensure_none(leaks.find(&text, said), |found| format!("an error has {found}, in `{text}`"))
}
