//! Configurations and environments that make git run a program or use another repository, read from
//! `attacks/hostile.toml`.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use serde::Deserialize;

use crate::{attacks::placed, judgement::Stop, scene::Scene};

/// A configuration that makes git run a program.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Unique id.
    pub id: String,
    /// Settings in the repository's configuration.
    #[serde(default)]
    pub set: Vec<(String, String)>,
    /// Content of `.gitattributes`.
    #[serde(default)]
    pub attributes: String,
    /// Names of hooks to install.
    #[serde(default)]
    pub hooks: Vec<String>,
    /// Further paths of the program, relative to the folder `outside`.
    #[serde(default)]
    pub programs: Vec<String>,
    /// Content of further files there, by path.
    #[serde(default)]
    pub files: Vec<(String, String)>,
    /// A git command that proves that the configuration runs the program.
    pub springs: Vec<String>,
    /// Reason for the trap, for people.
    pub why: String,
}

/// Environment variables that make git use another repository.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Unique id.
    pub id: String,
    /// Variables of the server's environment.
    pub variables: Vec<(String, String)>,
    /// Reason for the trap, for people.
    pub why: String,
}

/// Content of `attacks/hostile.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traps {
    /// Configurations.
    pub config: Vec<Config>,
    /// Environments.
    pub environment: Vec<Environment>,
}

/// All traps.
pub static TRAPS: LazyLock<Traps> = LazyLock::new(|| {
    toml::from_str(include_str!("../attacks/hostile.toml")).expect("`attacks/hostile.toml` is valid")
});

/// The program that git must not run, and the file in which it records its runs.
#[derive(Debug)]
pub struct Program {
    path: PathBuf,
    mark: PathBuf,
}

impl Program {
    /// Writes the program next to the scene's library.
    pub fn new(scene: &Scene<'_>) -> Result<Self, Stop> {
        let dir = scene.library().with_file_name("programs");
        fs::create_dir_all(&dir)?;
        let program = Self { path: dir.join("trap"), mark: dir.join("mark") };
        let text = format!(
            "#!/bin/sh\n\
             how=\"$0 $*\"\n\
             process=$PPID\n\
             for _ in 1 2 3; do\n\
             how=\"$how, by $(tr '\\0' ' ' </proc/$process/cmdline)\"\n\
             process=$(sed 's/.*) . //; s/ .*//' /proc/$process/stat)\n\
             done 2>/dev/null\n\
             echo \"$how\" >>'{}'\n\
             if [ \"$1\" = cat ]; then exec cat; fi\n",
            program.mark.display()
        );
        fs::write(&program.path, text)?;
        executable(&program.path)?;
        Ok(program)
    }

    /// Returns the way that the program was run; `None` if it was not.
    pub fn has_run(&self) -> Option<String> {
        fs::read_to_string(&self.mark).ok()
    }

    fn copy_to(&self, path: &Path) -> Result<(), Stop> {
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
        fs::copy(&self.path, path)?;
        Ok(executable(path)?)
    }
}

fn executable(path: &Path) -> std::io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

impl Config {
    /// Creates the files in and next to the library, which have no effect before [`arm`](Self::arm).
    pub fn prepare(&self, scene: &Scene<'_>, program: &Program) -> Result<(), Stop> {
        for path in &self.programs {
            program.copy_to(&scene.path("../outside").join(path))?;
        }
        for (path, content) in &self.files {
            fs::write(scene.path("../outside").join(path), self.filled(content, scene, program))?;
        }
        if !self.attributes.is_empty() {
            scene.put(".gitattributes", &self.attributes)?;
            scene.commit_all("attributes")?;
        }
        Ok(())
    }

    /// Writes the settings and hooks, so that git runs the program.
    pub fn arm(&self, scene: &Scene<'_>, program: &Program) -> Result<(), Stop> {
        for (name, value) in &self.set {
            scene.git(&["config", name, &self.filled(value, scene, program)])?;
        }
        for hook in &self.hooks {
            scene.trace(format!("a hook `{hook}` is installed"));
            program.copy_to(&scene.path(".git/hooks").join(hook))?;
        }
        Ok(())
    }

    /// Restores the configuration and removes the hooks, so that git no longer runs the program.
    pub fn disarm(&self, scene: &Scene<'_>, config: &[u8]) -> Result<(), Stop> {
        fs::write(scene.path(".git/config"), config)?;
        for hook in &self.hooks {
            fs::remove_file(scene.path(".git/hooks").join(hook))?;
        }
        Ok(())
    }

    fn filled(&self, text: &str, scene: &Scene<'_>, program: &Program) -> String {
        placed(text, scene).replace("{program}", &program.path.to_string_lossy())
    }
}

#[cfg(test)]
mod tests {
    use crate::contracts::CONTRACTS;

    use super::*;
    use crate::{subject::Subject, trace::Trace};

    #[test]
    fn every_trap_makes_git_run_the_program() {
        let subject = Subject::new(CONTRACTS[0], vec!["true".into()]);
        for config in &TRAPS.config {
            let documents = [("notes/plan.md", "# Plan\n")];
            let scene = Scene::new(&subject, &Trace::default(), &documents).unwrap();
            let program = Program::new(&scene).unwrap();
            scene.put("notes/plan.md", "# Another plan\n").unwrap();
            scene.commit_all("another").unwrap();
            config.prepare(&scene, &program).unwrap();
            config.arm(&scene, &program).unwrap();
            assert_eq!(program.has_run(), None, "{}", config.id);
            let springs: Vec<_> = config.springs.iter().map(String::as_str).collect();
            let output = scene.git(&springs);
            assert!(program.has_run().is_some(), "{}: {output:?}", config.id);
        }
    }
}
