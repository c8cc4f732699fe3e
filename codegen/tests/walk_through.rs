//! The walk-through of `README.md`, word for word: its files in a package outside of the workspace, and its commands.
//!
//! The package shares the workspace's target folder, lock file and profiles, so that dependencies are built once.

use std::{
    collections::BTreeMap,
    env, fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The path of a dependency in the README's `Cargo.toml`, and its path here.
const PLACES: [(&str, &str); 4] = [
    ("tabellion-runtime", "schemas/runtime"),
    ("tabellion-serve", "server/serve"),
    ("tabellion-codegen", "codegen"),
    ("tabellion-conformance", "conformance"),
];
/// The checks that the package's own test runs here, for speed; all by default.
const CHECKS: &str = "wire/tools-list,schema,pure,mutation,bytes,paths/inner-root";

fn workspace() -> &'static Path {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_folder.parent().expect("this crate is in the workspace")
}

/// The files and the commands of the walk-through.
fn walk_through() -> (BTreeMap<String, String>, Vec<String>) {
    let text = fs::read_to_string(workspace().join("codegen/README.md")).expect("the README");
    let start = text.find("\n## A server of your own\n").expect("the section");
    let section = &text[start + 1..];
    let section = &section[..section[3..].find("\n## ").map_or(section.len(), |end| end + 3)];
    let (mut files, mut commands, mut name) = (BTreeMap::new(), vec![], None);
    for (number, part) in section.split("```").enumerate() {
        if number % 2 == 0 {
            // A block belongs to the first file that the text before it names.
            name = part
                .split('`')
                .skip(1)
                .step_by(2)
                .find(|word| [".toml", ".json", ".rs"].iter().any(|end| word.ends_with(end)));
            continue;
        }
        let (language, block) = part.split_once('\n').expect("a block");
        match (language, name) {
            ("sh", _) => commands.extend(block.lines().map(str::to_owned)),
            (_, Some(name)) => drop(files.insert(name.to_owned(), block.to_owned())),
            (_, None) => panic!("a block without a file: {block}"),
        }
    }
    (files, commands)
}

/// Writes the package; returns its folder.
fn package(files: &BTreeMap<String, String>) -> PathBuf {
    let folder = target().join("walk-through");
    let _ = fs::remove_dir_all(&folder);
    for (name, text) in files {
        let mut text = text.clone();
        if name == "Cargo.toml" {
            for (package, place) in PLACES {
                let place = workspace().join(place);
                let (from, to) = (
                    format!("\n{package} = {{ git = \"…\""),
                    format!("\n{package} = {{ path = '{}'", place.display()),
                );
                assert!(text.contains(&from), "Cargo.toml does not depend on {package}");
                text = text.replace(&from, &to);
            }
            let root = fs::read_to_string(workspace().join("Cargo.toml")).expect("a manifest");
            let profiles = root.find("[profile.").expect("profiles");
            text = format!("{text}\n[workspace]\n\n{}", &root[profiles..]);
        }
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        fs::write(path, text).expect("written");
    }
    // Otherwise the library would be in this workspace's repository, which ignores it.
    let init = Command::new("git").args(["init", "--quiet"]).current_dir(&folder).status();
    assert!(init.is_ok_and(|status| status.success()));
    fs::copy(workspace().join("Cargo.lock"), folder.join("Cargo.lock")).expect("copied");
    folder
}

fn target() -> PathBuf {
    let program = env::current_exe().expect("a program");
    let mut above = program.ancestors();
    let profile = above.find(|folder| folder.join("deps").is_dir()).expect("a profile");
    profile.parent().expect("the target folder").to_owned()
}

/// Returns a command in the package's folder, in a shell that it replaces.
fn shell(folder: &Path, line: &str) -> Command {
    let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let line = line.replacen("cargo", &format!("exec '{cargo}'"), 1);
    let mut command = Command::new("sh");
    command.args(["-c", &line]).current_dir(folder);
    command.env("CARGO_TARGET_DIR", target()).env("CARGO_NET_OFFLINE", "true");
    command.env("TABELLION_ONLY", CHECKS);
    // Set by the Cargo that runs this test, of another package.
    let ours = env::vars().map(|(name, _)| name);
    for name in ours.filter(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")) {
        command.env_remove(name);
    }
    command
}

fn run(folder: &Path, line: &str) -> (bool, String) {
    let Output { status, stdout, stderr } = shell(folder, line).output().expect("it runs");
    (status.success(), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
}

fn request(id: u64, method: &str, params: &serde_json::Value) -> String {
    serde_json::json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

fn initialize() -> String {
    let params = serde_json::json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "walk-through", "version": "1" }
    });
    request(1, "initialize", &params)
}

/// Runs the server on standard input and output, and calls a tool that adds a step.
fn over_stdio(folder: &Path, line: &str) {
    let mut command = shell(folder, line);
    let mut server =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let arguments =
        serde_json::json!({ "recipe": "recipes/pie.md", "step": "Knead.", "effort": "never again" });
    let call = |id, arguments| {
        request(id, "tools/call", &serde_json::json!({ "name": "add_step", "arguments": arguments }))
    };
    let lines = [
        initialize(),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.into(),
        call(2, arguments),
        call(3, serde_json::json!({ "recipe": "pie.md", "step": "x" })),
    ];
    let mut stdin = server.stdin.take().expect("standard input");
    stdin.write_all((lines.join("\n") + "\n").as_bytes()).expect("sent");
    drop(stdin);
    let output = server.wait_with_output().expect("it ends");
    let (said, errors) = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).into();
    assert!(output.status.success(), "{said}\n{errors}");
    assert!(said.contains(r#""number":1"#), "{said}\n{errors}");
    assert!(said.contains("a recipe is `recipes/NAME.md`"), "{said}\n{errors}");
    let recipe = fs::read_to_string(folder.join("library/recipes/pie.md")).expect("the recipe");
    assert_eq!(recipe, "1. Knead. (never again)\n");
}

/// Runs the server over HTTP until it answers.
fn over_http(folder: &Path, line: &str) {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a free port")
        .port();
    struct Running(Child);
    impl Drop for Running {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
    assert!(line.contains(":8642"), "{line}");
    let line = line.replacen(":8642", &format!(":{port}"), 1);
    let _server = Running(shell(folder, &line).spawn().expect("it runs"));
    let body = initialize();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let until = Instant::now() + Duration::from_secs(120);
    let mut stream = loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => break stream,
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
        thread::sleep(Duration::from_millis(50));
    };
    stream.write_all((head + &body).as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"recipes\""), "{answer}");
}

#[test]
fn the_walk_through_works_word_for_word() {
    let (files, commands) = walk_through();
    let folder = package(&files);
    let [build, test, stdio, http] = commands.as_slice() else {
        panic!("the commands have changed: {commands:?}");
    };
    for line in [build, test] {
        let (ok, text) = run(&folder, line);
        assert!(ok, "{line}\n{text}");
    }
    let module = fs::read_to_string(folder.join("src/generated/recipes.rs")).expect("the module");
    assert!(module.starts_with("// @generated by `cargo build` from schemas/recipes."));
    over_stdio(&folder, stdio);
    over_http(&folder, http);

    // A new key of an answer is a field that the compiler demands, and a mistake stops the build with its remedy.
    let tool = folder.join("schemas/recipes/tools/add_step.json");
    let text = fs::read_to_string(&tool).expect("a tool");
    let more = text.replacen("[\"number\", \"commit\"]", "[\"number\", \"commit\", \"left\"]", 1);
    let more = more.replacen(
        "\"commit\": { \"type\"",
        "\"left\": { \"type\": \"string\" }, \"commit\": { \"type\"",
        1,
    );
    fs::write(&tool, &more).expect("written");
    let (ok, said) = run(&folder, build);
    assert!(!ok && said.contains("missing field `left`"), "{said}");
    fs::write(&tool, text.replacen("\"mutating\"", "\"mutates\"", 1)).expect("written");
    let (ok, said) = run(&folder, build);
    assert!(!ok && said.contains("schemas/recipes/tools/add_step.json"), "{said}");
    assert!(said.contains("help: "), "{said}");
}
