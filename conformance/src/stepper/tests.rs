//! Small shell commands under the stepper.

use std::{
    env,
    ffi::CString,
    fs,
    io::Write,
    os::unix::process::ExitStatusExt,
    process::{Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

use tempfile::TempDir;

use super::{Counting, Effect, Errno, Fault, Pipes, Stepper, StepperError, system};

const EXIT_TIMEOUT: Duration = Duration::from_secs(20);

/// A finished command, its changes, and its exit status.
struct Run {
    dir: TempDir,
    calls: Vec<String>,
    status: ExitStatus,
}

impl Run {
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.path()).expect("the folder");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

/// Starts a shell that runs `script` in `dir`; returns `None`, with a message, if the system does not permit tracing.
fn shell(dir: &TempDir, script: &str, counting: Counting) -> Option<(Stepper, Pipes)> {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(dir).stdin(Stdio::piped()).stderr(Stdio::null());
    start(command, dir, counting)
}

fn start(command: Command, dir: &TempDir, counting: Counting) -> Option<(Stepper, Pipes)> {
    match Stepper::start(command, &[dir.path()], counting) {
        Err(StepperError::Denied(error)) => {
            eprintln!("SKIPPED: the system does not permit ptrace: {error}");
            None
        }
        started => Some(started.expect("it starts")),
    }
}

fn run(script: &str, fault: Option<Fault>) -> Option<Run> {
    let dir = TempDir::new().expect("a folder");
    let (stepper, _) = shell(&dir, script, Counting::FromStart(fault))?;
    let status = stepper.wait(EXIT_TIMEOUT).expect("it ends");
    let calls = stepper.disarm().iter().map(ToString::to_string).collect();
    Some(Run { dir, calls, status })
}

fn fault(at: usize, effect: Effect) -> Option<Fault> {
    Some(Fault { at, effect })
}

const SCRIPT: &str = "echo a > f; mv f g";
const CALLS: [&str; 3] = ["openat f", "write f", "renameat2 f -> g"];

#[test]
fn changes_to_the_folder_are_counted() {
    let Some(run) = run(SCRIPT, None) else { return };
    assert_eq!(run.calls, CALLS);
    assert!(run.status.success());
    assert_eq!(run.names(), ["g"]);
}

#[test]
fn reads_and_changes_elsewhere_are_not_counted() {
    let Some(run) = run("cd /; cat /etc/passwd > /dev/null; ls > /dev/null", None) else {
        return;
    };
    assert_eq!(run.calls, Vec::<String>::new());
}

#[test]
fn links_and_dots_do_not_hide_a_path() {
    let script = "mkdir d; ln -s d e; cd d; echo a > ../e/f; cd /";
    let Some(run) = run(script, None) else { return };
    assert_eq!(run.calls, ["mkdir d", "symlinkat e", "openat d/f", "write d/f"]);
}

#[test]
fn a_kill_precedes_the_call() {
    for (number, left) in [(1, vec![]), (2, vec!["f"]), (3, vec!["f"])] {
        let Some(run) = run(SCRIPT, fault(number, Effect::Kill)) else {
            return;
        };
        assert_eq!(run.status.signal(), Some(libc::SIGKILL), "{number}");
        assert_eq!(run.names(), left, "{number}");
        assert_eq!(run.calls.len(), number);
    }
}

#[test]
fn a_call_fails_once() {
    let Some(run) = run("echo a > f || echo b > g", fault(1, Effect::Fail(Errno::EACCES))) else {
        return;
    };
    assert_eq!(run.names(), ["g"]);
    assert_eq!(run.calls, ["openat f  <== EACCES once", "openat g", "write g"]);
    assert!(run.status.success());
}

#[test]
fn all_later_calls_fail() {
    let script = "echo a > f; echo b > g; echo c > h";
    let Some(run) = run(script, fault(3, Effect::FailOn(Errno::ENOSPC))) else {
        return;
    };
    assert_eq!(run.names(), ["f"]);
    assert_eq!(run.calls[2..], ["openat g  <== ENOSPC from then on", "openat h  <== ENOSPC from then on"]);
    assert!(!run.status.success());
}

#[test]
fn calls_fail_only_as_they_can() {
    let script = "echo a > f; rm f; echo b > g";
    let Some(run) = run(script, fault(3, Effect::FailOn(Errno::ENOSPC))) else {
        return;
    };
    assert_eq!(run.names(), Vec::<String>::new());
    assert_eq!(run.calls[2..], ["unlinkat f", "openat g  <== ENOSPC from then on"]);
}

#[test]
fn children_are_counted_and_killed() {
    let script = "(echo a > f; sleep 600) & (sleep 600) & wait";
    let Some(run) = run(script, fault(2, Effect::Kill)) else {
        return;
    };
    assert_eq!(run.calls, ["openat f", "write f  <== killed"]);
    assert_eq!(fs::read(run.dir.path().join("f")).expect("the file"), b"");
    // `run` returns only if no `sleep` is left.
    assert_eq!(run.status.signal(), Some(libc::SIGKILL));
}

#[test]
fn counting_begins_when_armed() {
    let dir = TempDir::new().expect("a folder");
    let Some((stepper, pipes)) =
        shell(&dir, "echo a > f; read x; echo b > g; read x; echo c > h", Counting::WhenArmed)
    else {
        return;
    };
    let mut stdin = pipes.stdin.expect("a pipe");
    let wait_for = |name: &str| {
        let path = dir.path().join(name);
        while fs::read(&path).unwrap_or_default().is_empty() {
            thread::sleep(Duration::from_millis(1));
        }
    };
    wait_for("f");
    stepper.arm(None);
    assert!(!stepper.has_struck());
    stdin.write_all(b"\n").expect("sent");
    wait_for("g");
    assert_eq!(stepper.disarm().iter().map(ToString::to_string).collect::<Vec<_>>(), ["openat g", "write g"]);
    stdin.write_all(b"\n").expect("sent");
    assert!(stepper.wait(EXIT_TIMEOUT).expect("it ends").success());
    assert_eq!(stepper.disarm(), []);
}

#[test]
fn calls_are_counted_by_file() {
    let dir = TempDir::new().expect("a folder");
    let Some((stepper, pipes)) =
        shell(&dir, "read x; echo a > f; echo b > g; echo c > f", Counting::WhenArmed)
    else {
        return;
    };
    let fault = Fault { at: 2, effect: Effect::Kill };
    stepper.arm_for(Some(fault), |path| path == "g");
    pipes.stdin.expect("a pipe").write_all(b"\n").expect("sent");
    assert_eq!(stepper.wait(EXIT_TIMEOUT).expect("it ends").signal(), Some(libc::SIGKILL));
    let calls: Vec<_> = stepper.disarm().iter().map(ToString::to_string).collect();
    assert_eq!(calls, ["openat g", "write g  <== killed"]);
}

#[test]
fn output_is_recorded_where_that_is_asked_for() {
    let dir = TempDir::new().expect("a folder");
    let mut command = Command::new("sh");
    let script = "read x; echo a > f; echo b; echo c > f";
    command.args(["-c", script]).current_dir(&dir).stdin(Stdio::piped()).stdout(Stdio::piped());
    let Some((stepper, pipes)) = start(command, &dir, Counting::WhenArmed) else {
        return;
    };
    stepper.record_with_output();
    let mut stdin = pipes.stdin.expect("a pipe");
    stdin.write_all(b"\n").expect("sent");
    assert!(stepper.wait(EXIT_TIMEOUT).expect("it ends").success());
    let names: Vec<_> = stepper.disarm().iter().map(|call| call.name).collect();
    assert_eq!(names, ["openat", "write", super::OUTPUT, "openat", "write"]);
}

#[test]
fn an_external_kill_ends_the_program() {
    let dir = TempDir::new().expect("a folder");
    let Some((stepper, _pipes)) = shell(&dir, "sleep 600 & sleep 600", Counting::WhenArmed) else {
        return;
    };
    assert!(stepper.status().is_none());
    stepper.kill();
    assert_eq!(stepper.wait(EXIT_TIMEOUT).expect("it ends").signal(), Some(libc::SIGKILL));
}

/// Runs this program's test `name` again under the stepper, with the folder in the environment.
fn again(name: &str, fault: Option<Fault>) -> Option<(TempDir, Stepper)> {
    let dir = TempDir::new().expect("a folder");
    let mut command = Command::new(env::current_exe().expect("this program"));
    command
        .args(["--exact", &format!("stepper::tests::{name}")])
        .env(AGAIN, dir.path())
        .stdout(Stdio::null());
    let stepper = start(command, &dir, Counting::FromStart(fault))?.0;
    assert!(stepper.wait(EXIT_TIMEOUT).expect("it ends").success());
    Some((dir, stepper))
}

const AGAIN: &str = "STEPPER_TEST_FOLDER";

#[test]
fn threads_are_counted() {
    if let Ok(dir) = env::var(AGAIN) {
        return thread::scope(|scope| {
            for name in ["a", "b", "c"] {
                let path = format!("{dir}/{name}");
                scope.spawn(move || drop(fs::File::create(path)));
            }
        });
    }
    let Some((dir, stepper)) = again("threads_are_counted", fault(3, Effect::Fail(Errno::EIO))) else {
        return;
    };
    assert_eq!(stepper.disarm().len(), 3);
    let made = fs::read_dir(dir.path()).expect("the folder").count();
    assert_eq!(made, 2, "two of three files were made");
}

#[test]
fn the_flags_of_openat2_are_read() {
    if let Ok(dir) = env::var(AGAIN) {
        let path = CString::new(format!("{dir}/f")).expect("a path");
        for flags in [libc::O_WRONLY | libc::O_CREAT, libc::O_RDONLY] {
            // The call is counted even if the kernel lacks `openat2`.
            let _ = system::open_by_openat2(&path, flags);
        }
        return;
    }
    let Some((_, stepper)) = again("the_flags_of_openat2_are_read", None) else {
        return;
    };
    let calls: Vec<_> = stepper.disarm().iter().map(ToString::to_string).collect();
    assert_eq!(calls, ["openat2 f"]);
}

#[test]
fn io_uring_is_refused() {
    if env::var(AGAIN).is_ok() {
        let refused = system::ask_for_ring().expect_err("refused");
        assert_eq!(refused.raw_os_error(), Some(libc::ENOSYS));
        return;
    }
    let Some((_, stepper)) = again("io_uring_is_refused", None) else {
        return;
    };
    assert!(stepper.asked_for_ring());
}

#[test]
fn a_missing_program_is_an_error() {
    let command = Command::new("/no/such/program");
    let dir = TempDir::new().expect("a folder");
    assert!(matches!(
        Stepper::start(command, &[dir.path()], Counting::WhenArmed),
        Err(StepperError::Io(_) | StepperError::Denied(_))
    ));
}
