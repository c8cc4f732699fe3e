//! What a library may bring along that has git run a program or go elsewhere: `attacks/hostile.toml`.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use serde::Deserialize;

use crate::{attacks::placed, judgement::Stop, scene::Scene};

/// A configuration that has git run a program.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Unique.
    pub id: String,
    /// Settings of the repository.
    #[serde(default)]
    pub set: Vec<(String, String)>,
    /// What `.gitattributes` has.
    #[serde(default)]
    pub attributes: String,
    /// Names of hooks.
    #[serde(default)]
    pub hooks: Vec<String>,
    /// Where else the program lies, below the folder outside.
    #[serde(default)]
    pub programs: Vec<String>,
    /// Other files there, and what they hold.
    #[serde(default)]
    pub files: Vec<(String, String)>,
    /// A git command that runs the program.
    pub springs: Vec<String>,
    /// What it is about.
    pub why: String,
}

/// Variables that lead git elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Unique.
    pub id: String,
    /// What the server is started with.
    pub variables: Vec<(String, String)>,
    /// What it is about.
    pub why: String,
}

/// Both tables.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traps {
    /// The configurations.
    pub config: Vec<Config>,
    /// The environments.
    pub environment: Vec<Environment>,
}

/// All traps.
pub static TRAPS: LazyLock<Traps> = LazyLock::new(|| {
    toml::from_str(include_str!("../attacks/hostile.toml")).expect("the table of traps is sound")
});

/// The program of a scene, and the mark that it leaves.
#[derive(Debug)]
pub struct Program {
    path: PathBuf,
    mark: PathBuf,
}

impl Program {
    /// Writes the program beside the scene's library.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn new(scene: &Scene<'_>) -> Result<Self, Stop> {
        let dir = scene.library().with_file_name("programs");
        fs::create_dir_all(&dir)?;
        let program = Self {
            path: dir.join("trap"),
            mark: dir.join("mark"),
        };
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

    /// How it was run, if it was.
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
    /// What lies beside and in the library, without effect as yet.
    ///
    /// # Errors
    /// When the disk or git fails.
    pub fn prepare(&self, scene: &Scene<'_>, program: &Program) -> Result<(), Stop> {
        for path in &self.programs {
            program.copy_to(&scene.path("../outside").join(path))?;
        }
        for (path, content) in &self.files {
            fs::write(
                scene.path("../outside").join(path),
                self.filled(content, scene, program),
            )?;
        }
        if !self.attributes.is_empty() {
            scene.put(".gitattributes", &self.attributes)?;
            scene.commit_all("attributes")?;
        }
        Ok(())
    }

    /// From now on, git runs the program.
    ///
    /// # Errors
    /// When the disk or git fails.
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

    /// From now on, it doesn't.
    ///
    /// # Errors
    /// When the disk fails.
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
    fn every_trap_springs_where_git_steps_into_it() {
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
            let said = scene.git(&springs);
            assert!(program.has_run().is_some(), "{}: {said:?}", config.id);
        }
    }
}
