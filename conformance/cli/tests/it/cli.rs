//! The command line, against servers of a few lines of shell.

use std::{
    fs,
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use tabellion_conformance::exit;
use tempfile::TempDir;

/// Opens a session, refuses everything else, and has only one era.
const REFUSES: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"refuser","version":"7"}}}\n' "$id" ;;
    *'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not \033[31mtoday"}}\n' "$id" ;;
  esac
done"#;

/// A folder with a server in it.
struct ServerFolder(TempDir);

impl ServerFolder {
    fn new(server: &str) -> Self {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("server.sh"), server).unwrap();
        Self(dir)
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join(name)).unwrap()
    }

    /// The subcommand with `options`, against the server.
    fn tries(&self, options: &[&str]) -> Said {
        let server = ["--", "sh", "server.sh", "{library}"];
        self.says(&[options, &server].concat())
    }

    fn says(&self, arguments: &[&str]) -> Said {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tabellion-conformance"));
        let output = command.args(arguments).current_dir(self.0.path()).output().unwrap();
        Said::from_output(&output)
    }
}

struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Said {
    fn from_output(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout.clone()).unwrap(),
            err: String::from_utf8(output.stderr.clone()).unwrap(),
        }
    }

    #[track_caller]
    fn is(&self, code: u8, texts: &[&str]) {
        let all = format!("{}\n{}", self.out, self.err);
        assert_eq!(self.code, Some(code.into()), "{all}");
        for text in texts {
            assert!(all.contains(text), "no {text:?} in\n{all}");
        }
    }
}

const ONE: [&str; 3] = ["run", "--only", "mutation/returned-id"];

#[test]
fn a_server_that_refuses_fails() {
    let place = ServerFolder::new(REFUSES);
    let said = place.tries(&[&ONE[..], &["--json", "report.json", "--save", "cases"]].concat());
    let texts = [
        "FAIL       mutation/returned-id",
        "2025-11-25",
        r"not \u{1b}[31mtoday",
        "FAILED refuser with braindrive-markdown",
        "again: tabellion-conformance run --only mutation/returned-id --seed 1 -- sh server.sh {library}",
        "tabellion-conformance replay cases/mutation.returned-id.2025-11-25.json -- sh server.sh {library}",
    ];
    said.is(exit::BROKEN, &texts);
    assert!(!said.out.contains('\u{1b}') && said.err.is_empty(), "no colours, no progress: {}", said.err);
    let report: Value = serde_json::from_str(&place.read("report.json")).unwrap();
    assert_eq!(report["server"]["identity"], "refuser 7");
    let schema = serde_json::from_str(include_str!("../../../report.schema.json")).unwrap();
    jsonschema::validate(&schema, &report).unwrap();
    place
        .says(&["report", "report.json", "report.json", "--html", "page.html", "--markdown", "page.md"])
        .is(exit::PASSED, &[]);
    assert!(place.read("page.html").contains("refuser") && place.read("page.md").contains("refuser"));
    place
        .says(&["report", "report.json", "report.json", "--badge", "b.svg"])
        .is(exit::USAGE, &["take one report"]);
    place.says(&["report", "server.sh"]).is(exit::USAGE, &["server.sh`: not a report"]);
    place.tries(&[&ONE[..], &["--quiet"]].concat()).is(exit::BROKEN, &["FAIL  mutation/returned-id"]);
}

#[test]
fn a_saved_case_fails_again() {
    let place = ServerFolder::new(REFUSES);
    place.tries(&[&ONE[..], &["--save", "cases"]].concat()).is(exit::BROKEN, &[]);
    let file = "cases/mutation.returned-id.2025-11-25.json";
    place.tries(&["replay", file]).is(exit::BROKEN, &["it still fails", "steps", "write_markdown"]);
    let mut saved: Value = serde_json::from_str(&place.read(file)).unwrap();
    saved["states"] = "Something else.".into();
    place.put("other.json", &saved.to_string());
    let texts = ["another version of `mutation/returned-id`", "it stated: Something else."];
    place.tries(&["replay", "other.json"]).is(exit::USAGE, &texts);
    saved["check"] = "mutation/returned".into();
    place.put("other.json", &saved.to_string());
    place.tries(&["replay", "other.json"]).is(exit::USAGE, &["did you mean `mutation/returned-id`"]);
    place.tries(&["replay", "server.sh"]).is(exit::USAGE, &["not a case"]);
    place.tries(&["replay", "gone.json"]).is(exit::USAGE, &["gone.json"]);
}

#[test]
fn what_is_known_to_fail_does_not_fail_the_run() {
    let place = ServerFolder::new(REFUSES);
    let known = |check: &str| format!("[[known]]\ncheck = \"{check}\"\nreason = \"it is new\"\n");
    let with = [&ONE[..], &["--known-failing", "known.toml", "--junit", "j.xml"]].concat();
    place.put("known.toml", &known("mutation/*"));
    place.tries(&with).is(exit::PASSED, &["known      mutation/returned-id", "it is new", "1 known to fail"]);
    assert!(place.read("j.xml").contains("<skipped message=\"known to fail: it is new\"/>"));
    place.put("known.toml", &known("mutation/one-commit"));
    place.tries(&with).is(exit::BROKEN, &[]);
    place.put("known.toml", &known("mutation/one"));
    place.tries(&with).is(exit::USAGE, &["`known.toml`, line 1: there is no check `mutation/one`"]);
}

#[test]
fn what_is_no_server_is_said_before_any_check() {
    for (server, texts) in [
        (
            "echo Welcome to my server",
            ["not JSON: `Welcome to my server`", "on standard output:\n    Welcome"],
        ),
        (
            "echo no such flag >&2; exit 3",
            ["it ended (exit status: 3) before it answered", "on standard error:\n    no such flag"],
        ),
        ("sleep 60", ["no answer within 1 s", "nothing on standard error"]),
        (
            "while read -r l; do echo '{\"id\":1,\"error\":{\"code\":1,\"message\":\"m\"}}'; done",
            ["it answered `initialize` with", "\"code\":1"],
        ),
    ] {
        let said = ServerFolder::new(server).tries(&["run", "--patience", "1"]);
        said.is(exit::HARNESS, &texts);
        assert!(said.out.is_empty(), "{}", said.out);
    }
    let place = ServerFolder::new("");
    place
        .says(&["run", "--", "./nothing-here", "{library}"])
        .is(exit::HARNESS, &["can't be started", "the program or the working directory does not exist"]);
}

#[test]
fn what_can_not_be_meant_is_an_error() {
    let place = ServerFolder::new(REFUSES);
    place
        .says(&["run", "--contract", "braindrive-markdown", "--", "sh", "server.sh"])
        .is(exit::USAGE, &["-- sh server.sh {library}"]);
    place
        .tries(&["run", "--only", "mutatoin/one-commit"])
        .is(exit::USAGE, &["did you mean `mutation/one-commit`"]);
    place
        .tries(&["run", "--contract", "x"])
        .is(exit::USAGE, &["there is no contract `x`", "braindrive-markdown"]);
    place.tries(&["run", "--era", "2024-11-05"]).is(exit::USAGE, &["no checks for revision `2024-11-05`"]);
    place.tries(&["run", "--env", "A"]).is(exit::USAGE, &["NAME=VALUE"]);
    place.tries(&["run", "--only", "wire", "--skip", "wire"]).is(exit::USAGE, &[]);
}

#[test]
fn checks_are_listed_and_explained() {
    let place = ServerFolder::new("");
    place.says(&["list"]).is(exit::PASSED, &["mutation/returned-id", "returns-commit"]);
    let all: Value = serde_json::from_str(&place.says(&["list", "--json"]).out).unwrap();
    assert!(
        all.as_array()
            .unwrap()
            .iter()
            .any(|check| check["id"] == "mutation/one-commit" && check["severity"] == "MUST")
    );
    place
        .says(&["explain", "mutation/one-commit"])
        .is(exit::PASSED, &["must hold", "Every mutation → git commit"]);
    place.says(&["explain", "mutation/commit"]).is(exit::USAGE, &["did you mean `mutation/one-commit`"]);
}

#[test]
fn a_server_is_told_what_it_asks_for() {
    let server = format!("[ \"$PWD\" = \"$1\" ] && [ \"$WHERE\" = \"at $1\" ] || exit 9\n{REFUSES}");
    let place = ServerFolder::new(&server);
    let script = place.path("server.sh");
    let with = [
        "--dir",
        "{library}",
        "--env",
        "WHERE=at {library}",
        "--name",
        "mine",
        "--",
        "sh",
        &script,
        "{library}",
    ];
    place
        .says(&[&ONE[..], &with].concat())
        .is(exit::BROKEN, &["FAILED mine with", "--dir {library} --env WHERE='at {library}'"]);
}

/// Needs a folder in the library, keeps a state in it, and has tools that an adapter must map.
const EDITOR: &str = r##"
[ -d "$1/.vault" ] || { echo "no .vault" >&2; exit 1; }
mkdir -p "$1/.state" && echo started >> "$1/.state/log"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"editor","version":"7"}}}\n' "$id" ;;
    *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[
      {"name":"create_note","inputSchema":{"type":"object","required":["path","content"],"properties":{"path":{"type":"string"},"content":{"type":"string"}}}},
      {"name":"edit_note","inputSchema":{"type":"object","required":["path","operation","content"],"properties":{"path":{"type":"string"},"operation":{"enum":["append","replace"]},"content":{"type":"string"}}}},
      {"name":"delete_note","inputSchema":{"required":["params"],"properties":{"params":{"$ref":"#/$defs/P"}},"$defs":{"P":{"type":"object","required":["path","vault"],"properties":{"path":{"type":"string"},"vault":{"type":"string"},"limit":{"type":"integer","default":3}}}}}}
    ]}}' "$id" | tr -d '\n'; echo ;;
    *'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not today"}}\n' "$id" ;;
  esac
done"##;

/// Acknowledges every edit, and empties the document: later edits find no section.
const EMPTIES: &str = r##"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"empties","version":"7"}}}\n' "$id" ;;
    *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"edit_note","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
    *'"tools/call"'*)
      echo '# Parts' > "$1/parts.md"
      printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"edited"}]}}\n' "$id" ;;
    *'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}\n' "$id" ;;
  esac
done"##;

const EMPTIES_ADAPTER: &str = r#"
[server]
name = "empties"
contract = "braindrive-markdown"

[tools.edit_markdown]
name = "edit_note"
arguments = { path = "{/path}", old = "{old}", new = "{new}" }
response = { "/success" = { is = true } }
"#;

/// An adapter that finds no section for its edit does not excuse the server, which has removed the section.
#[test]
fn a_section_that_the_server_removes_fails() {
    let place = ServerFolder::new(EMPTIES);
    place.put("adapter.toml", EMPTIES_ADAPTER);
    let run = ["run", "--only", "concurrent/sections", "--adapter", "adapter.toml"];
    place
        .tries(&run)
        .is(exit::BROKEN, &["FAIL       concurrent/sections", "were acknowledged, but are lost"]);
}

#[test]
fn a_draft_runs_as_it_was_made_and_says_what_it_lacks() {
    let place = ServerFolder::new(EDITOR);
    let script = place.path("server.sh");
    let with = ["--prepare", "mkdir .vault", "--dir", "{library}", "--env", "X=1"];
    let server = ["--", "sh", &script, "{library}"];
    let said = place.says(&[&["template"], &with[..], &server].concat());
    said.is(
        exit::PASSED,
        &[
            "# Warning: `tools/list` does not satisfy MCP's schema of 2025-11-25",
            "environment.X = \"1\"",
            "directory = \"{library}\"",
            "prepare = [\"sh\",\"-c\",\"mkdir .vault\"]",
            "own = [\".state/**\"]",
            "[tools.write_markdown.new]\n",
            "name = \"create_note\"\narguments = { path = \"{/path}\", content = \"{/content}\" }",
            "[tools.write_markdown.existing]\nname = \"edit_note\"\n\
             arguments = { path = \"{/path}\", operation = \"replace\", content = \"{/content}\" }",
            "operation = \"append\"",
            "name = \"delete_note\"\narguments = { params = { path = \"{/path}\", vault = \"FILL IN: string\" } }",
            "#   edit_note(path: string, operation: \"append\" | \"replace\", content: string)",
            "#   delete_note(params: { path: string, vault: string, limit?: integer = 3 })",
        ],
    );
    assert!(!said.out.contains("{content}\""), "{}", said.out);
    let draft = said.out.clone();
    place.put("adapter.toml", &draft);
    let smoke = || place.says(&["smoke", "--adapter", "adapter.toml"]);
    smoke().is(
        exit::USAGE,
        &["the adapter is unfinished: fill in `tools.delete_markdown.arguments.params.vault`"],
    );
    place.put("adapter.toml", &draft.replace("FILL IN: string", "v"));
    // The draft starts the server as the command line did.
    smoke().is(exit::BROKEN, &["editor: sh ", "write_markdown write (new)", "server did not do it"]);
    let head = draft.find("[tools.write_markdown]").expect("a table");
    place.put("adapter.toml", &draft[..head]);
    smoke().is(exit::USAGE, &["no tool is mapped yet: fill in one of the tables `[tools.read_markdown]`"]);
}

#[test]
fn a_server_that_ends_at_its_start_is_quoted_from_the_first_line_to_the_last() {
    let server = "echo the cause >&2; seq 100 >&2; echo the end >&2; exit 1";
    ServerFolder::new(server).tries(&["run"]).is(
        exit::HARNESS,
        &["on standard error:\n    the cause\n    1\n", "\n    … 54 lines …\n", "\n    100\n    the end"],
    );
}

#[test]
fn a_suite_that_is_killed_leaves_neither_processes_nor_folders() {
    // The watcher knows a server before the suite asks it anything.
    let place = ServerFolder::new("read -r line; sleep 100 & echo $! > child.tmp; mv child.tmp child; wait");
    let folder = place.path("temporary");
    fs::create_dir(&folder).unwrap();
    let mut suite = Command::new(env!("CARGO_BIN_EXE_tabellion-conformance"))
        .args(["run", "--", "sh", "server.sh", "{library}"])
        .current_dir(place.0.path())
        .env("TMPDIR", &folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until(|| fs::exists(place.path("child")).unwrap());
    let left = || fs::read_dir(&folder).unwrap().count();
    assert!(left() > 0);
    suite.kill().unwrap();
    suite.wait().unwrap();
    let status = format!("/proc/{}/cmdline", place.read("child").trim());
    // A zombie has no command line.
    until(|| !fs::read(&status).is_ok_and(|line| line.starts_with(b"sleep")));
    until(|| left() == 0);
}

#[track_caller]
fn until(holds: impl Fn() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_smoke_run_says_what_it_left_out() {
    let place = ServerFolder::new(REFUSES);
    let smoke = ["run", "--profile", "smoke", "--own", ".state/**", "--json", "report.json"];
    let said = place.tries(&[&smoke[..], &["--time-budget", "0"]].concat());
    said.is(exit::PASSED, &["smoke: a first impression: ", "not run: wire/handshake, "]);
    let said =
        place.tries(&[&smoke[..], &["--skip", "atomic,concurrent,paths,mutation,bytes,pure"]].concat());
    said.is(exit::BROKEN, &["FAIL ", "wire/handshake", "smoke: a first impression: ", "--own='.state/**'"]);
    let report: Value = serde_json::from_str(&place.read("report.json")).unwrap();
    assert_eq!(report["profile"], "smoke");
    assert_eq!(report["server"]["own"], serde_json::json!([".state/**"]));
    let not_run = report["not_run"].as_array().unwrap();
    assert!(not_run.contains(&"wire/ids".into()));
    assert!(!not_run.contains(&"atomic/kill".into()), "it was not asked for");
    place.tries(&["run", "--own", "**"]).is(exit::USAGE, &["--own: `**` covers documents"]);
    place
        .tries(&["run", "--html", "nowhere/a.html"])
        .is(exit::USAGE, &["can't write `nowhere/a.html`: there is no folder `nowhere`"]);
}

#[test]
fn what_there_is_no_time_for_is_not_shown() {
    let place = ServerFolder::new(REFUSES);
    let said = place.tries(&[&ONE[..], &["--time-budget", "0"]].concat());
    said.is(exit::BROKEN, &["NOT SHOWN", "not reached within the time budget of 0 s"]);
}

/// A server's lack of a tool is known without a check.
#[test]
fn what_a_server_lacks_does_not_apply_when_the_time_runs_out() {
    let place = ServerFolder::new(EMPTIES);
    place.put("adapter.toml", EMPTIES_ADAPTER);
    let checks = "preview/equals-result,mutation/log-entry,mutation/one-commit";
    let said = place.tries(&["run", "--only", checks, "--time-budget", "0", "--adapter", "adapter.toml"]);
    said.is(
        exit::BROKEN,
        &[
            "not applicable preview-equals-result ",
            "not applicable log-entry-per-mutation ",
            "not shown      commit-per-mutation ",
        ],
    );
}

#[test]
#[should_panic(expected = "it ended (exit status: 3) before it answered")]
fn a_test_of_one_line_says_why_it_fails() {
    tabellion_conformance::check("braindrive-markdown", ["sh", "-c", "exit 3", "{library}"]);
}
