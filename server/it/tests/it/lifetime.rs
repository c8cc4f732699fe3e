//! The server ends when its client is gone, and answers the handshake without delay.

use std::{
    fs,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use tabellion_conformance::{Target, target::ANSWER_TIMEOUT};

use crate::support::{Library, Server, TABELLION, exited};

#[test]
fn the_server_exits_at_the_end_of_input() {
    let library = Library::empty();
    library.serve().close();
    // Also without a handshake, and with a request whose answer the client does not read.
    let target = Target::start(&mut library.command()).expect("the server starts");
    assert!(exited(target).success());
    let mut server = library.serve();
    let request = json!({ "path": "a.md", "content": "a\n" });
    server
        .target
        .post("tools/call", json!({ "name": "write_markdown", "arguments": request }))
        .expect("sent");
    server.close();
    assert_eq!(library.get("a.md"), b"a\n", "the server executes requests before the end of input");
    assert_eq!(library.ledger().status, "");
}

/// Covers the log of a library that can't be recovered, the address of a server over HTTP, and the reason of a failed start.
#[test]
#[cfg(target_os = "linux")]
fn a_closed_standard_error_does_not_stop_the_server() {
    for why in ["the reader is gone", "no space is left"] {
        let stderr = || match why {
            "the reader is gone" => Stdio::from(std::io::pipe().expect("a pipe").1),
            _ => fs::File::create("/dev/full").expect("a device").into(),
        };
        let library = Library::with(&[("a.md", "# A\n")]);
        library.put(".git/tabellion", "no folder");
        let mut command = library.command();
        command.args(["--stdio", "--http", "127.0.0.1:0"]).stderr(stderr());
        let mut target = Target::start(&mut command).expect("it starts");
        target.initialize("2025-11-25").expect(why);
        let mut server = Server { target };
        let read = server.call("read_markdown", json!({ "path": "a.md" }));
        assert_eq!(read.expect(why)["content"], "# A\n");
        server.close();

        let unfit = library.command().args(["--document", "a.md"]).stderr(stderr()).status();
        assert_eq!(unfit.expect("it runs").code(), Some(2), "{why}");
    }
}

/// The parent is a shell that starts the server with a pipe and then dies, while this process keeps the pipe open.
#[test]
#[cfg(target_os = "linux")]
fn the_server_exits_when_its_parent_is_gone() {
    let library = Library::empty();
    let pid_file = tempfile::NamedTempFile::new().expect("a file");
    let script = format!(
        "exec 3<&0; {} serve --library '{}' <&3 & echo $! > '{}'; exec sleep 600",
        TABELLION,
        library.root().display(),
        pid_file.path().display()
    );
    let mut shell = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    // Kept until the end: the server must exit although its input has not ended.
    let input = shell.stdin.take();
    let since = Instant::now();
    let server = loop {
        let text = fs::read_to_string(pid_file.path()).unwrap_or_default();
        if text.ends_with('\n') && library.path(".git/HEAD").exists() {
            break text.trim().to_string();
        }
        assert!(since.elapsed() < ANSWER_TIMEOUT, "the server did not start");
        thread::sleep(Duration::from_millis(10));
    };
    let alive =
        || fs::read_to_string(format!("/proc/{server}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    assert!(alive());
    shell.kill().expect("killed");
    shell.wait().expect("gone");
    let since = Instant::now();
    while alive() {
        assert!(since.elapsed() < ANSWER_TIMEOUT, "the server outlives its parent");
        thread::sleep(Duration::from_millis(10));
    }
    drop(input);
}
