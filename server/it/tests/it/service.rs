//! The unit of systemd for a team's server: its form, and its command line.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
    process::{Command, Stdio},
    thread,
};

use crate::{http::key, support::TABELLION};

fn unit() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tabellion.service");
    fs::read_to_string(path).expect("the unit")
}

fn values<'u>(unit: &'u str, option: &str) -> Vec<&'u str> {
    let value = |line: &'u str| line.strip_prefix(option)?.strip_prefix('=');
    unit.lines().filter_map(value).collect()
}

#[test]
fn the_command_of_the_unit_serves_with_its_environment() {
    let unit = unit();
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().to_str().expect("text");
    let [start] = values(&unit, "ExecStart")[..] else { panic!("one command") };
    let here = |text: &str| text.replace("/var/lib", state).replace("127.0.0.1:8080", "127.0.0.1:0");
    let words: Vec<_> = start.split(' ').map(here).collect();
    assert_eq!(words[0], "/usr/local/bin/tabellion");
    let state_folder = folder.path().join("tabellion");
    for name in values(&unit, "StateDirectory")[0].split(' ') {
        fs::create_dir(folder.path().join(name)).expect("a folder");
    }
    let keys = state_folder.join("keys.json");
    key(&["create", "--name", "Team", "--keys", keys.to_str().expect("text")]);
    let mut command = Command::new(TABELLION);
    for variable in values(&unit, "Environment") {
        let (name, value) = variable.split_once('=').expect("a variable");
        command.env(name, here(value));
    }
    // The example of the file of the environment names a server that is not there.
    command
        .env("TABELLION_DATA", state_folder.join("data"))
        .args(&words[1..])
        .current_dir(&state_folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut server = command.spawn().expect("it starts");
    let mut said = BufReader::new(server.stderr.take().expect("its errors"));
    let (mut lines, mut is_listening) = (String::new(), false);
    while !is_listening && said.read_line(&mut lines).expect("a line") > 0 {
        is_listening = lines.contains("http://127.0.0.1:");
    }
    let rest = thread::spawn(move || said.read_to_end(&mut vec![]));
    // It may have ended already.
    let _ = server.kill();
    server.wait().expect("it ends");
    assert!(is_listening, "{lines}");
    rest.join().expect("the rest").expect("read");
}

#[test]
fn systemd_accepts_the_unit() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tabellion.service");
    let unit = unit().replace("/usr/local/bin/tabellion", TABELLION);
    fs::write(&path, unit).expect("written");
    let mut verify = Command::new("systemd-analyze");
    // Without the units of this system.
    let Ok(output) = verify.args(["verify", "--man=no", "--recursive-errors=no"]).arg(&path).output() else {
        eprintln!("SKIPPED, the unit was not verified: it needs `systemd-analyze`");
        return;
    };
    // Only complaints about a line of the unit count: a container may lack the units and users that it names.
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    let own = format!("{}:", path.display());
    let wrong: Vec<_> = complaints.lines().filter(|line| line.starts_with(&own)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}
