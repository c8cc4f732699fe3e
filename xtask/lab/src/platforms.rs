//! Checks for Windows and macOS on a Linux machine: type checks for both; on Wine, the Windows program's tour, tests of the
//! platform layer, and the conformance suite's first impression.
//!
//! Runs everything for which the tools are installed. Then fails with the command that installs each missing one.

use std::{
    env,
    fmt::Write as _,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use xtask::{
    Outcome,
    foreign::{self, Missing, Python, output},
    run,
    toolchain::{Toolchain, compiler, folder},
};

const WINDOWS: &str = "x86_64-pc-windows-gnu";
const MACOS: [&str; 2] = ["aarch64-apple-darwin", "x86_64-apple-darwin"];
/// A C compiler for macOS, from PyPI.
const ZIG: &str = "ziglang==0.13.0";
/// The packages whose tests run on Wine. Those of others need git, which Wine does not have.
const TESTED: [&str; 1] = ["tabellion-platform"];
const TOUR_TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// Wine starts a process in a second or more.
const ANSWER_TIMEOUT: &str = "60";

/// Wine before version 9 lacks this library, from which Rust's standard library takes random numbers.
const RANDOM: &str = "bcryptprimitives.dll";
const RANDOM_SOURCE: &str = "
#include <stddef.h>
#include <stdint.h>
__declspec(dllimport) unsigned char __stdcall SystemFunction036(void *buffer, uint32_t length);
__declspec(dllexport) int __stdcall ProcessPrng(uint8_t *buffer, size_t length) {
    return SystemFunction036(buffer, (uint32_t)length);
}
";

/// Runs all checks.
///
/// # Errors
/// If one fails. If only tools are missing, after all others, with [`Missing`].
pub(crate) fn check() -> Outcome {
    let mut missing = String::new();
    let mut step = |name: &str, run: &dyn Fn() -> Outcome| -> Outcome<bool> {
        eprintln!("== {name}");
        let start = Instant::now();
        match run() {
            Ok(()) => eprintln!("== {name}: passed in {:.0} s", start.elapsed().as_secs_f64()),
            Err(error) if error.is::<Missing>() => {
                eprintln!("== {name}: SKIPPED");
                writeln!(missing, "{name}: {error}")?;
                return Ok(false);
            }
            Err(error) => return Err(format!("{name}: {error}").into()),
        }
        Ok(true)
    };
    if step("Windows: build", &build_for_windows)? {
        step("Windows: tour on Wine", &tour)?;
        step("Windows: tests on Wine", &tests)?;
        step("Windows: conformance on Wine", &conformance)?;
    }
    for target in MACOS {
        step(&format!("macOS: type check for {target}"), &|| check_for_macos(target))?;
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(Missing::boxed(format!("not everything was checked:\n{}", missing.trim_end())))
}

fn build_for_windows() -> Outcome {
    compiler("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64")?;
    let toolchain = Toolchain::find(WINDOWS)?;
    toolchain.cargo(&["build", "--bin", "tabellion"], &[])
}

/// Runs `tabellion demo`, which starts a server, calls tools and compares the files with the answers.
fn tour() -> Outcome {
    let wine = Wine::find()?;
    let mut tour = wine.run(&program());
    let toured = output(tour.arg("demo"), TOUR_TIMEOUT)?;
    if toured.succeeded && toured.output.contains("the file equals the preview, byte for byte") {
        return Ok(());
    }
    Err(format!("{}{}", toured.output, toured.errors).into())
}

fn tests() -> Outcome {
    let wine = Wine::find()?;
    let toolchain = Toolchain::find(WINDOWS)?;
    let runner = wine.program.display().to_string();
    let prefix = wine.prefix.display().to_string();
    let variables = [
        ("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", &*runner),
        ("WINEPREFIX", &*prefix),
        ("WINEDEBUG", "-all"),
        // Wine looks here for the library, since the test programs are in a different folder.
        ("WINEPATH", &*format!("Z:{}", built().display())),
    ];
    for package in TESTED {
        toolchain.cargo(&["test", "--lib", "-p", package], &variables)?;
    }
    Ok(())
}

/// Runs the suite for Linux, with a server on Wine that sees the same folders on its drive `Z:`. Windows exchanges files in steps, so a save
/// between two of them is lost, as `server/docs/states.md` says.
fn conformance() -> Outcome {
    let wine = Wine::find()?;
    run::cargo(&["build", "--quiet", "--bin", "tabellion-conformance"])?;
    let suite = run::built("tabellion-conformance")?;
    let status = Command::new(suite)
        .args(["run", "--profile", "smoke", "--quiet", "--patience", ANSWER_TIMEOUT])
        .args(["--skip", "concurrent/editor", "--"])
        .arg(&wine.program)
        .arg(program())
        .args(["serve", "--library", "Z:{library}"])
        .env("WINEPREFIX", &wine.prefix)
        .env("WINEDEBUG", "-all")
        .status()?;
    if status.success() { Ok(()) } else { Err("the conformance suite did not pass".into()) }
}

/// Checks the types. C code is compiled without Apple's headers, by zig's; nothing is linked.
fn check_for_macos(target: &str) -> Outcome {
    let toolchain = Toolchain::find(target)?;
    let python = Python::with("zig", &[ZIG])?;
    let tools = foreign::folder("zig-tools").join(target);
    fs::create_dir_all(&tools)?;
    let python = python.command();
    let python = Path::new(python.get_program()).display();
    let architecture = target.split('-').next().unwrap_or_default();
    let compiler = tools.join("cc");
    script(
        &compiler,
        &format!(
            r#"#!/bin/sh
# Without the options that name Apple's own tools and folders.
drop=
for word; do
    shift
    if [ -n "$drop" ]; then drop=; continue; fi
    case "$word" in
        -arch | -isysroot | -target) drop=yes ;;
        --target=* | -mmacosx-version-min=*) ;;
        *) set -- "$@" "$word" ;;
    esac
done
exec {python} -m ziglang cc -target {architecture}-macos "$@"
"#
        ),
    )?;
    let archiver = tools.join("ar");
    script(&archiver, &format!("#!/bin/sh\nexec {python} -m ziglang ar \"$@\"\n"))?;
    let suffix = target.replace('-', "_");
    let (compiler, archiver) = (compiler.display().to_string(), archiver.display().to_string());
    toolchain.cargo(
        &["check", "--bin", "tabellion"],
        &[
            (&*format!("CC_{suffix}"), &*compiler),
            (&*format!("AR_{suffix}"), &*archiver),
            ("SDKROOT", &*tools.display().to_string()),
        ],
    )
}

/// Wine, with a separate folder for its settings and its drive `C:`.
struct Wine {
    program: PathBuf,
    prefix: PathBuf,
}

impl Wine {
    fn find() -> Outcome<Self> {
        let folders = env::var_os("PATH").unwrap_or_default();
        let named =
            env::split_paths(&folders).flat_map(|folder| ["wine", "wine64"].map(|name| folder.join(name)));
        let program = named
            .chain([PathBuf::from("/usr/lib/wine/wine64")])
            .find(|program| program.is_file())
            .ok_or_else(|| Missing::boxed("Wine is missing; `apt-get install wine64` installs it"))?;
        let wine = Self { program, prefix: folder().join("wine") };
        wine.add_random_numbers()?;
        Ok(wine)
    }

    fn run(&self, program: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(program).env("WINEPREFIX", &self.prefix).env("WINEDEBUG", "-all");
        command
    }

    /// Puts [`RANDOM`] next to the built program.
    fn add_random_numbers(&self) -> Outcome {
        let (library, source) = (built().join(RANDOM), built().join("random.c"));
        if library.exists() {
            return Ok(());
        }
        fs::create_dir_all(built())?;
        fs::write(&source, RANDOM_SOURCE)?;
        let mut compile = Command::new("x86_64-w64-mingw32-gcc");
        compile.args(["-shared", "-O", "-o"]).arg(&library).arg(&source).arg("-ladvapi32");
        if compile.status()?.success() { Ok(()) } else { Err(format!("`{RANDOM}` can't be compiled").into()) }
    }
}

/// Writes a shell script.
fn script(path: &Path, text: &str) -> Outcome {
    fs::write(path, text)?;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
}

/// Returns the folder of the programs for Windows.
fn built() -> PathBuf {
    folder().join(WINDOWS).join("debug")
}

fn program() -> PathBuf {
    built().join("tabellion.exe")
}
