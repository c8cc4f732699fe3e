//! A full file system: a small one in memory, filled except for a given number of bytes.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    fault::{judge_immediately, judge_recovery},
    mutation::{Mutation, library},
};
use crate::{
    checks::prelude::*,
    settled::{self, Baseline},
};

/// Size of the file system.
const SIZE: &str = "16m";
/// Free bytes on the full file system, one case each.
const FREE_BYTES: [usize; 5] = [0, 4096, 12 * 1024, 40 * 1024, 120 * 1024];
/// Number of bytes that a mutation writes.
const CONTENT_BYTES: usize = 100 * 1024;
/// Path of the file that fills the disk, which git does not track.
const FILLER: &str = ".git/filler";

#[derive(Debug, Serialize, Deserialize)]
struct FullDisk {
    mutation: Mutation,
    /// Number of free bytes.
    left: usize,
}

pub(super) fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut mutations = Mutation::supported(bench)?;
    // An entry of that size would be refused for its size.
    mutations
        .retain(|mutation| ![Mutation::AppendEntry, Mutation::AppendText, Mutation::Undo].contains(mutation));
    let mutations = nonempty(mutations, "the server accepts no large texts")?;
    let full = |left, mutation| FullDisk { mutation, left };
    let pairs: Vec<_> = if bench.pick(true, false) {
        let count = FREE_BYTES.len().max(mutations.len());
        let (left, mutations) = (FREE_BYTES.iter().cycle(), mutations.iter().cycle());
        left.zip(mutations).take(count).map(|(left, mutation)| full(*left, *mutation)).collect()
    } else {
        let all = FREE_BYTES.iter();
        all.flat_map(|left| mutations.iter().map(|mutation| full(*left, *mutation))).collect()
    };
    let case = |full: FullDisk| Case::new(format!("{}, {} bytes free", full.mutation, full.left), full);
    Ok(pairs.into_iter().map(case).collect())
}

pub(super) fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let full: FullDisk = case.read()?;
    let line = "More than there is room for.\n";
    let content = line.repeat(CONTENT_BYTES / line.len());
    let call = full.mutation.call_with(bench.subject, &content)?;
    let scene = library(bench)?;
    let _mount = Mount::over_library(&scene)?;
    let mut client = scene.start()?;
    let before = Baseline::read(bench, &scene, &mut client)?;
    bench.trace.did(format!("the disk is filled except for {} bytes", full.left));
    fill(&scene.path(FILLER), full.left)?;
    let reply = client.make(&call);
    fs::remove_file(scene.path(FILLER))?;
    bench.trace.did("the disk has space again");
    // A server that exited gave no answer.
    let (reply, running) = match reply {
        Ok(reply) => (Some(reply), Some(client)),
        Err(stop) if stop.is_of_server() => (None, None),
        Err(stop) => return Err(stop),
    };
    judge_immediately(&scene, &call, &before, reply.as_ref(), false)?;
    judge_recovery(bench, &scene, &call, &before, reply.as_ref(), running)?;
    settled::ensure_sound(&scene)
}

/// Fills the disk except for `left` bytes with a file at `path`.
fn fill(path: &Path, left: usize) -> Result<(), Stop> {
    let mut file = File::create(path)?;
    let block = vec![0; 64 * 1024];
    let mut written = 0;
    while let Ok(count @ 1..) = file.write(&block) {
        written += count;
    }
    Ok(file.set_len(written.saturating_sub(left) as u64)?)
}

/// A small file system in memory, mounted over the library; unmounted when dropped.
struct Mount(PathBuf);

impl Mount {
    /// Mounts the file system and copies the library to it.
    fn over_library(scene: &Scene<'_>) -> Result<Self, Stop> {
        let root = scene.library();
        let aside = root.with_file_name("aside");
        fs::rename(&root, &aside)?;
        fs::create_dir(&root)?;
        let options = format!("size={SIZE},mode=755");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "none"]).arg(&root).output();
        let why = match mounted {
            Ok(output) if output.status.success() => None,
            Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(why) = why {
            return Err(not_shown(format!("a small file system can't be mounted here: {why}")));
        }
        let mount = Self(root.clone());
        // With all that a clone leaves out, such as empty folders.
        let copied = Command::new("cp").arg("--archive").arg(aside.join(".")).arg(&root).output()?;
        if !copied.status.success() {
            let why = String::from_utf8_lossy(&copied.stderr).trim().to_owned();
            return Err(Stop::Harness(format!("the library can't be copied: {why}")));
        }
        fs::remove_dir_all(&aside)?;
        Ok(mount)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Lazily, because a server may still have a file open there.
        let unmounted = Command::new("umount").arg("--lazy").arg(&self.0).status();
        if !unmounted.is_ok_and(|status| status.success()) {
            eprintln!("{} is still mounted", self.0.display());
        }
    }
}
