//! Libraries that are shared by the program: through git's own servers, its HTTP backend and ssh, and by people who review.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
};

use tempfile::TempDir;

use crate::support::{Running, TABELLION};

/// `ann:secret`, as HTTP's basic authentication has it.
const CREDENTIALS: &str = "Basic YW5uOnNlY3JldA==";
const SSH_SERVER: &str = "/usr/sbin/sshd";

/// A bare repository with one document, and clones of it.
struct Bench {
    folder: TempDir,
    /// Variables of all programs.
    variables: Vec<(&'static str, String)>,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut bench = Self { folder, variables: vec![] };
        let own = |name: &str| bench.path(name).display().to_string();
        bench.variables = vec![("XDG_STATE_HOME", own("state")), ("GIT_CONFIG_GLOBAL", own("configuration"))];
        fs::write(bench.path("configuration"), "[user]\n\tname = Ann\n\temail = ann@example.com\n")
            .expect("written");
        bench.git(".", &["init", "-q", "--bare", "-b", "main", "shared.git"]);
        bench.git("shared.git", &["config", "http.receivepack", "true"]);
        bench.git(".", &["clone", "-q", "shared.git", "a"]);
        fs::write(bench.path("a/plan.md"), "# Plan\n").expect("written");
        bench.git("a", &["add", "-A"]);
        bench.git("a", &["commit", "-q", "-m", "first"]);
        bench.git("a", &["push", "-q", "origin", "HEAD:main"]);
        bench.git(".", &["clone", "-q", "shared.git", "b"]);
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, program: &str, folder: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(program);
        command.current_dir(self.path(folder)).args(arguments);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.output().expect("it runs")
    }

    fn git(&self, folder: &str, arguments: &[&str]) -> String {
        text(&self.run("git", folder, arguments))
    }

    fn tabellion(&self, folder: &str, arguments: &[&str]) -> String {
        text(&self.run(TABELLION, folder, arguments))
    }

    fn append(&self, folder: &str, text: &str) -> String {
        let call = ["call", "braindrive-markdown", "edit_markdown", "--path", "plan.md", "--json"];
        let operation = ["--operation-type", "append", "--operation-content", text];
        self.tabellion(folder, &[&call[..], &operation].concat())
    }

    /// Shares both clones through this address, and changes each.
    fn share(&self, address: &str) {
        for folder in ["a", "b"] {
            let set = self.tabellion(
                folder,
                &["remote", "set", address, "--branch", "main", "--acknowledge", "remote"],
            );
            assert!(set.contains("which has commits"), "{set}");
        }
        for (folder, text) in [("a", "- of a"), ("b", "- of b"), ("a", "- a again")] {
            self.append(folder, text);
            let there = self.git("shared.git", &["show", "main:plan.md"]);
            assert!(there.contains(text), "{there}");
        }
        self.tabellion("b", &["sync"]);
        let plan = fs::read_to_string(self.path("b/plan.md")).expect("a document");
        assert_eq!(plan, "# Plan\n- of a\n- of b\n- a again");
    }
}

/// Two people decide on one proposal, each on a machine that does not have the other's decision yet.
#[test]
fn of_two_decisions_one_counts() {
    const ORDERS: [([&str; 3], &str); 3] =
        [(["b", "a", "b"], "remote"), (["b", "a", "b"], "local"), (["a", "b", "a"], "local")];
    for (order, acknowledge) in ORDERS {
        let bench = Bench::new();
        let address = bench.path("shared.git").display().to_string();
        for folder in ["a", "b"] {
            let set = ["remote", "set", &address, "--branch", "main", "--acknowledge", acknowledge];
            bench.tabellion(folder, &set);
        }
        let create = [
            "call",
            "brainforge",
            "create_note",
            "--as",
            "agent",
            "--json",
            "--content",
            "Green tea is steamed.",
        ];
        let about = ["--ai-justification", "asked", "--metadata", "{\"title\":\"Tea\"}"];
        bench.tabellion("a", &[&create[..], &about].concat());
        for folder in ["a", "b"] {
            bench.tabellion(folder, &["sync"]);
        }
        let list = bench.tabellion("b", &["review", "list"]);
        let id = list.split(' ').next().expect("an id");
        for folder in ["a", "b"] {
            bench.tabellion(folder, &["review", "show", id]);
        }
        bench.tabellion("b", &["review", "approve", id, "-m", "good"]);
        let rejected = bench.run(TABELLION, "a", &["review", "reject", id, "-m", "bad"]);
        for folder in order {
            bench.tabellion(folder, &["sync"]);
        }
        let is_approved = order[0] == "b";
        let conflicts = bench.tabellion("a", &["conflicts", "list", "--json"]);
        if acknowledge == "remote" {
            let said = String::from_utf8_lossy(&rejected.stderr);
            assert!(said.contains("has ended as `approved`"), "{said}");
            assert_eq!(conflicts.trim(), "[]");
        } else {
            // The local decision no longer counts: the remote's first one does. Both can be read.
            text(&rejected);
            let documents = if is_approved { 1 } else { 2 };
            let conflicts: Vec<serde_json::Value> = serde_json::from_str(&conflicts).expect("a list");
            assert_eq!(conflicts.len(), documents, "{conflicts:?}");
        }
        for folder in ["a", "b"] {
            let tree = bench.git(folder, &["ls-tree", "-r", "--name-only", "HEAD"]);
            let decided =
                tree.lines().find(|path| path.starts_with("workflows/") && !path.contains("conflict"));
            let workflow =
                fs::read_to_string(bench.path(folder).join(decided.expect("a workflow"))).expect("a text");
            let state = if is_approved { "state: approved" } else { "state: rejected" };
            assert!(workflow.contains(state), "{workflow}");
            let is_note = |path: &&str| path.to_lowercase().contains("tea") && !path.contains("conflict");
            assert_eq!(tree.lines().filter(is_note).count(), usize::from(is_approved), "{tree}");
            assert_eq!(bench.tabellion(folder, &["review", "list"]).trim(), "nothing waits for a review");
        }
        assert_eq!(bench.git("a", &["rev-parse", "HEAD"]), bench.git("b", &["rev-parse", "HEAD"]));
    }
}

/// Returns the standard output of a program that succeeded.
#[track_caller]
fn text(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_remote_that_cant_be_meant_is_refused() {
    let bench = Bench::new();
    for (remote, part) in [
        (&["nowhere"][..], "neither a remote in git's configuration"),
        (&["../typo.git"], "neither a remote in git's configuration"),
        (&["."], "its own remote"),
        (&["origin", "--branch", "a b"], "can't be the name of a branch"),
    ] {
        let refused = bench.run(TABELLION, "b", &[&["remote", "set"], remote].concat());
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && said.contains(part), "{remote:?}: {said}");
    }
    bench.tabellion("b", &["remote", "set", "origin"]);
    assert!(bench.tabellion("b", &["remote", "show"]).contains("state    published\n"));
    fs::remove_dir_all(bench.path("shared.git")).expect("removed");
    assert!(!bench.run(TABELLION, "b", &["sync"]).status.success());
    let state = bench.tabellion("b", &["remote", "show"]);
    assert!(state.contains("state    unreachable\n         since "), "{state}");
}

#[test]
fn a_library_is_shared_over_http() {
    let mut bench = Bench::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}/shared.git", listener.local_addr().expect("its address"));
    let root = bench.path("");
    // The thread ends with the process.
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let root = root.clone();
            thread::spawn(move || answer(&root, stream));
        }
    });
    let set = ["remote", "set", &address, "--branch", "main"];
    let refused = bench.run(TABELLION, "a", &set);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("does not let this user in"), "{said}");

    let helper = "[credential]\n\thelper = \"!f() { echo username=ann; echo password=secret; }; f\"\n";
    let configuration = fs::read_to_string(bench.path("configuration")).expect("a text");
    fs::write(bench.path("configuration"), configuration + helper).expect("written");
    bench.share(&address);

    // The credentials expire.
    bench.variables.push(("GIT_CONFIG_GLOBAL", "/dev/null".to_owned()));
    let synced = bench.run(TABELLION, "a", &["sync"]);
    assert!(!synced.status.success());
    let state = bench.tabellion("a", &["remote", "show", "--json"]);
    assert!(state.contains("\"unreachable\"") && state.contains("git ls-remote"), "{state}");
}

/// Answers a request by git's own backend (CGI).
fn answer(root: &Path, stream: TcpStream) {
    let mut reader = BufReader::new(&stream);
    let mut line = String::new();
    reader.read_line(&mut line).expect("a request");
    let mut words = line.split_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut headers = vec![];
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a header");
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.to_owned())),
            None => break,
        }
    }
    let header = |name: &str| {
        let found = headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    };
    let mut body = vec![];
    let length = header("content-length").parse().unwrap_or(0);
    (&mut reader).take(length).read_to_end(&mut body).expect("a body");
    if header("authorization") != CREDENTIALS {
        let refusal = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"notes\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        let _ = (&stream).write_all(refusal.as_bytes());
        return;
    }
    let mut backend = Command::new("git");
    backend
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("REQUEST_METHOD", method)
        .env("REMOTE_USER", "ann")
        .env("REMOTE_ADDR", "127.0.0.1")
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", length.to_string())
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut backend = backend.spawn().expect("git's backend");
    let mut input = backend.stdin.take().expect("its input");
    input.write_all(&body).expect("written");
    drop(input);
    let said = backend.wait_with_output().expect("an answer").stdout;
    let end = said.windows(4).position(|four| four == b"\r\n\r\n").expect("headers");
    let head = String::from_utf8_lossy(&said[..end]).into_owned();
    let status = head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
    let answer = format!("HTTP/1.1 {status}\r\n{head}\r\nConnection: close\r\n\r\n");
    let _ = (&stream).write_all(answer.as_bytes());
    let _ = (&stream).write_all(&said[end + 4..]);
}

#[test]
fn a_library_is_shared_over_ssh() {
    if !Path::new(SSH_SERVER).exists() {
        eprintln!("SKIPPED, ssh was not tried: it needs {SSH_SERVER} (Debian's openssh-server)");
        return;
    }
    let mut bench = Bench::new();
    let own = |name: &str| bench.path(name).display().to_string();
    for key in ["host", "key"] {
        bench.run("ssh-keygen", ".", &["-q", "-t", "ed25519", "-N", "", "-f", key]);
    }
    fs::copy(own("key.pub"), own("authorized")).expect("copied");
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address").port();
    let server = format!(
        "ListenAddress 127.0.0.1:{port}\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPidFile none\n",
        own("host"),
        own("authorized")
    );
    fs::write(own("server"), server).expect("written");
    let client = format!(
        "#!/bin/sh\nexec ssh -F /dev/null -i '{}' -o IdentitiesOnly=yes -o UserKnownHostsFile='{}' -o StrictHostKeyChecking=accept-new \
         -o BatchMode=yes \"$@\"\n",
        own("key"),
        own("known")
    );
    fs::write(own("ssh"), client).expect("written");
    fs::set_permissions(own("ssh"), fs::Permissions::from_mode(0o755)).expect("a program");
    // Only if the server is started by root.
    let _ = fs::create_dir("/run/sshd");
    let log = fs::File::create(own("log")).expect("a log");
    let child = Command::new(SSH_SERVER).args(["-D", "-e", "-f", &own("server")]).stderr(log).spawn();
    let mut child = Running(child.expect("it starts"));
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        let said = fs::read_to_string(own("log")).unwrap_or_default();
        assert!(child.0.try_wait().expect("a process").is_none(), "{said}");
    }
    let user = bench.run("id", ".", &["-un"]);
    let address = format!("ssh://{}@127.0.0.1:{port}{}", text(&user).trim(), own("shared.git"));
    let variable = ("GIT_SSH", own("ssh"));
    bench.variables.push(variable);
    bench.share(&address);
}
