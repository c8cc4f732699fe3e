//! Builds of the program, and the documents that the program itself prints.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{archive::Entry, targets::Target};
use xtask::{
    Outcome,
    foreign::{Missing, Python},
    run,
    toolchain::{self, Toolchain},
};

/// Zig's C compiler and linker, with musl for each architecture, and the subcommand of cargo that uses them; from PyPI.
const ZIG: [&str; 2] = ["ziglang==0.13.0", "cargo-zigbuild==0.24.0"];
const PROFILE: &str = "dist";
/// Each shell, with the prefix and suffix of its completion file's name.
const SHELLS: [(&str, &str, &str); 4] =
    [("bash", "", ".bash"), ("zsh", "_", ""), ("fish", "", ".fish"), ("powershell", "_", ".ps1")];

/// Builds the program `name` for a target; returns its bytes.
///
/// # Errors
/// With [`Missing`] if a tool is missing.
pub(super) fn build(target: &Target, name: &str) -> Outcome<Vec<u8>> {
    let arguments = ["--locked", "--profile", PROFILE, "--bin", name];
    let cargo = |subcommand, variables: &[(&str, &str)]| {
        let toolchain = Toolchain::find(target.triple)?;
        toolchain.cargo(&[&[subcommand][..], &arguments].concat(), variables)
    };
    if target.is_macos() {
        if !cfg!(target_os = "macos") {
            return Err(Missing::boxed(
                "needs Apple's SDK: run this task on a Mac, copy the archive into this folder, and run it here with `--no-build`",
            ));
        }
        cargo("build", &[])?;
    } else if target.is_windows() {
        toolchain::compiler("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64")?;
        cargo("build", &[])?;
    } else {
        let paths = with_zig()?;
        let flags = format!("CARGO_TARGET_{}_RUSTFLAGS", target.triple.to_uppercase().replace('-', "_"));
        // Zig provides the files that Rust would link into a program for musl.
        let variables = [("PATH", &*paths), (&flags, "-C link-self-contained=no")];
        cargo("zigbuild", &variables)?;
    }
    let built = toolchain::folder().join(target.triple).join(PROFILE);
    Ok(fs::read(built.join(target.program(name)))?)
}

/// Returns a `PATH` with [`ZIG`] before all else.
fn with_zig() -> Outcome<String> {
    let python = Python::with("zigbuild", &ZIG)?.command();
    let tools = Path::new(python.get_program()).parent();
    let paths = env::var_os("PATH").unwrap_or_default();
    let paths = tools.map(PathBuf::from).into_iter().chain(env::split_paths(&paths));
    Ok(env::join_paths(paths)?.to_string_lossy().into())
}

/// Returns completion scripts and manual pages, which this system's program prints.
pub(super) fn documents(name: &str) -> Outcome<Vec<Entry>> {
    run::cargo(&["build", "--quiet", "--bin", name])?;
    let program = run::built(name)?;
    let run = |arguments: &[&str]| -> Outcome<Vec<u8>> {
        let output = Command::new(&program).args(arguments).output()?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(String::from_utf8_lossy(&output.stderr).trim().into())
    };
    let mut documents = Vec::new();
    for (shell, before, after) in SHELLS {
        let path = format!("completions/{before}{name}{after}");
        documents.push(Entry::file(path, run(&["completions", shell])?));
    }
    let pages = tempfile::tempdir()?;
    run(&["man", "--out", &pages.path().to_string_lossy()])?;
    let mut pages: Vec<_> = fs::read_dir(&pages)?.collect::<Result<_, _>>()?;
    pages.sort_by_key(fs::DirEntry::file_name);
    for page in pages {
        let path = format!("man/{}", page.file_name().to_string_lossy());
        documents.push(Entry::file(path, fs::read(page.path())?));
    }
    Ok(documents)
}
