//! Where libraries are put, so that what is outside of one is outside for the server too.
//!
//! Some servers permit the system's temporary folder, whatever they are told. There, a file beside the library is no file outside.

use std::path::{Path, PathBuf};

use tabellion_runtime::{Guarantee, spec::EffectKind};

use crate::{Subject, judgement::Stop, layout::SECRET, promises, request::With, scene::Scene, trace::Trace};

/// Returns a folder for libraries, if the server reads what is beside a library in the usual one when it is plainly asked, and does not do so in
/// that folder. `None` if the usual one is right, or the server reads everywhere.
///
/// # Errors
/// If the server does not start, or the disk or git fails.
pub fn elsewhere(subject: &Subject) -> Result<Option<PathBuf>, Stop> {
    let is_confined = |promise: &Guarantee| promise.id == promises::CONFINED;
    if subject.is_native() || !subject.contract.guarantees.iter().any(is_confined) {
        return Ok(None);
    }
    let usual = tempfile::env::temp_dir();
    if !reads_outside(subject, &usual)? {
        return Ok(None);
    }
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let others = [home, Some("/var/tmp".into())].into_iter().flatten();
    for other in others.filter(|other| other.is_dir() && !other.starts_with(&usual)) {
        if !reads_outside(subject, &other)? {
            return Ok(Some(other));
        }
    }
    Ok(None)
}

/// Returns true if the server tells what a file beside a library in `folder` says, asked for it by its absolute path.
fn reads_outside(subject: &Subject, folder: &Path) -> Result<bool, Stop> {
    let scene = Scene::new_in(
        folder,
        subject,
        &Trace::default(),
        &[("README.md", "# Library\n")],
    )?;
    let secret = scene.path("../outside/secret.md");
    let secret = secret.canonicalize()?.to_string_lossy().into_owned();
    let with = With {
        path: &secret,
        content: "",
        target: "",
    };
    let Some(call) = subject.request(EffectKind::Read, with) else {
        return Ok(false);
    };
    let message = scene.start()?.attempt(call.tool, &call.arguments)?;
    Ok(message.is_some_and(|message| message.to_string().contains(SECRET.trim_end())))
}
