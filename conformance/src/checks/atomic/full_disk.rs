//! A file system that is really full: a small one in memory, filled but for a rest.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

use serde::{Deserialize, Serialize};

use super::{
    mutation::{Mutation, library},
    struck::{judge_at_once, judge_later},
};
use crate::{
    check::{Bench, Case},
    judgement::{Judgement, Stop},
    ledger::git,
    scene::Scene,
    settled::{self, Baseline},
};

/// The size of the file system.
const SIZE: &str = "16m";
/// How many bytes are free on it.
const FREE_BYTES: [usize; 5] = [0, 4096, 12 * 1024, 40 * 1024, 120 * 1024];
/// How many bytes a mutation writes.
const CONTENT_BYTES: usize = 100 * 1024;
/// The file that fills the disk, outside of the documents.
const FILLER: &str = ".git/filler";

#[derive(Debug, Serialize, Deserialize)]
struct Full {
    mutation: Mutation,
    /// Bytes that are left.
    left: usize,
}

pub(super) fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut mutations = Mutation::of(bench)?;
    // What is too large for an entry is refused for that.
    mutations
        .retain(|mutation| ![Mutation::AppendEntry, Mutation::AppendText, Mutation::Undo].contains(mutation));
    if mutations.is_empty() {
        return Err(Stop::NotApplicable("the server takes no large texts".into()));
    }
    let full = |left, mutation| Full { mutation, left };
    let pairs: Vec<_> = if bench.pick(true, false) {
        let most = FREE_BYTES.len().max(mutations.len());
        let (left, mutations) = (FREE_BYTES.iter().cycle(), mutations.iter().cycle());
        left.zip(mutations)
            .take(most)
            .map(|(left, mutation)| full(*left, *mutation))
            .collect()
    } else {
        let all = FREE_BYTES.iter();
        all.flat_map(|left| mutations.iter().map(|mutation| full(*left, *mutation)))
            .collect()
    };
    let case = |full: Full| Case::new(format!("{}, {} bytes left", full.mutation, full.left), full);
    Ok(pairs.into_iter().map(case).collect())
}

pub(super) fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let full: Full = case.read()?;
    let line = "More than there is room for.\n";
    let content = line.repeat(CONTENT_BYTES / line.len());
    let call = full.mutation.call_with(bench.subject, &content)?;
    let scene = library(bench)?;
    let _mount = Mount::over_library(&scene)?;
    let mut client = scene.start()?;
    let before = Baseline::of(bench, &scene, &mut client)?;
    bench
        .trace
        .did(format!("the disk is filled but for {} bytes", full.left));
    fill(&scene.path(FILLER), full.left)?;
    let reply = client.make(&call);
    fs::remove_file(scene.path(FILLER))?;
    bench.trace.did("there is room again");
    // A server that ended has answered nothing.
    let (reply, up) = match reply {
        Ok(reply) => (Some(reply), Some(client)),
        Err(Stop::Fail(_)) => (None, None),
        Err(stop) => return Err(stop),
    };
    judge_at_once(&scene, &call, &before, reply.as_ref(), false)?;
    judge_later(bench, &scene, &call, &before, reply.as_ref(), up)?;
    settled::ensure_sound(&scene)
}

/// Takes all the room there is but for `left` bytes.
fn fill(path: &Path, left: usize) -> Result<(), Stop> {
    let mut file = File::create(path)?;
    let some = vec![0; 64 * 1024];
    let mut taken = 0;
    while let Ok(more @ 1..) = file.write(&some) {
        taken += more;
    }
    Ok(file.set_len(taken.saturating_sub(left) as u64)?)
}

/// A small file system in memory over the library; unmounted when dropped.
struct Mount(PathBuf);

impl Mount {
    /// With the library's files in it.
    fn over_library(scene: &Scene<'_>) -> Result<Self, Stop> {
        let root = scene.library();
        let aside = root.with_file_name("aside");
        fs::rename(&root, &aside)?;
        fs::create_dir(&root)?;
        let options = format!("size={SIZE},mode=755");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "none"])
            .arg(&root)
            .output();
        let why = match mounted {
            Ok(output) if output.status.success() => None,
            Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(why) = why {
            return Err(Stop::NotTestable(format!(
                "a small file system can't be mounted here: {why}"
            )));
        }
        let mount = Self(root.clone());
        git(
            &root,
            &[
                "clone",
                "--quiet",
                "--no-hardlinks",
                &aside.to_string_lossy(),
                ".",
            ],
        )?;
        git(&root, &["remote", "remove", "origin"])?;
        fs::remove_dir_all(&aside)?;
        Ok(mount)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Lazily: a server may still have a file open there.
        let unmounted = Command::new("umount").arg("--lazy").arg(&self.0).status();
        if !unmounted.is_ok_and(|status| status.success()) {
            eprintln!("{} is still mounted", self.0.display());
        }
    }
}
