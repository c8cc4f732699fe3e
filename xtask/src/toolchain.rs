//! Compilers for other targets than this machine.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Outcome, foreign::Missing, root};

/// A compiler for a target, with its Cargo.
pub struct Toolchain {
    target: String,
    compiler: PathBuf,
    cargo: PathBuf,
    /// True if it builds the standard library from source, which only the compiler of the same version can do.
    builds_library: bool,
}

impl Toolchain {
    /// Returns the usual toolchain if it has the target's standard library, otherwise one that has its source: the usual one,
    /// or the distribution's.
    pub fn find(target: &str) -> Outcome<Self> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let usual = (PathBuf::from("rustc"), PathBuf::from(cargo));
        let distributed = (PathBuf::from("/usr/bin/rustc"), PathBuf::from("/usr/bin/cargo"));
        for (compiler, cargo) in [usual, distributed] {
            let Some(sysroot) = sysroot(&compiler) else {
                continue;
            };
            let has = |path: &str| sysroot.join("lib/rustlib").join(path).exists();
            let has_library = has(&format!("{target}/lib"));
            if has_library || has("src/rust/library/Cargo.toml") {
                return Ok(Self { target: target.into(), compiler, cargo, builds_library: !has_library });
            }
        }
        Err(Missing::boxed(format!(
            "the standard library for {target} is missing; `rustup target add {target}` installs it, or on Debian \
             `apt-get install rustc-web rust-web-src cargo-web` its source"
        )))
    }

    /// Runs cargo for the target, in [`folder`].
    pub fn cargo(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Outcome {
        let mut cargo = Command::new(&self.cargo);
        cargo.args(arguments).args(["--quiet", "--target", &self.target]);
        if self.builds_library {
            cargo.args(["-Z", "build-std=std,panic_abort,panic_unwind"]);
            cargo.env("RUSTC_BOOTSTRAP", "1");
        }
        let status = cargo
            .env("RUSTC", &self.compiler)
            .env("CARGO_TARGET_DIR", folder())
            .envs(variables.iter().copied())
            .current_dir(root())
            .status()?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("`cargo {} --target {}` failed", arguments.join(" "), self.target).into())
        }
    }
}

/// Fails with [`Missing`] if the C compiler `name`, from Debian's `package`, can't be run.
pub fn compiler(name: &str, package: &str) -> Outcome {
    match Command::new(name).arg("--version").output() {
        Ok(_) => Ok(()),
        Err(error) => Err(Missing::boxed(format!(
            "`{name}` can't be run: {error}; `apt-get install {package}` installs it"
        ))),
    }
}

fn sysroot(compiler: &Path) -> Option<PathBuf> {
    let output = Command::new(compiler).args(["--print", "sysroot"]).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| path.trim_end().into())
}

/// Returns the target folder of builds for other targets.
pub fn folder() -> PathBuf {
    root().join("target/platforms")
}
