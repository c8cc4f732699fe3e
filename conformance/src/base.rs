//! The folder for a run's libraries.
//!
//! Some servers always permit the system's temporary folder or the home folder. There, a file next to the library is not out of bounds, and
//! reading it is not an escape.

use std::path::{Path, PathBuf};

use tabellion_runtime::spec::EffectKind;

use crate::{
    Subject,
    judgement::Stop,
    layout::SECRET,
    promises,
    request::{self, With},
    scene::Scene,
    trace::Trace,
};

/// A folder for libraries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    /// The system's temporary folder. Either the server keeps to the library there, or it reads everything.
    Usual,
    /// A different folder: the server permits all of the temporary one.
    Elsewhere(PathBuf),
    /// None: the server permits all of the folders in which it serves a library.
    Nowhere,
}

/// A text of a library's document.
const INSIDE: &str = "inside the library\n";

/// Asks the server plainly, by absolute paths, for documents inside and outside of libraries in several folders.
pub fn find(subject: &Subject) -> Result<Base, Stop> {
    let is_promised = promises::of_confinement(subject.contract).is_some();
    let usual = tempfile::env::temp_dir();
    if subject.is_native() || !is_promised || !reads(subject, &usual)?[1] {
        return Ok(Base::Usual);
    }
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let others = [home, Some("/var/tmp".into()), Some("/dev/shm".into())];
    let others = others.into_iter().flatten();
    let mut is_refused = false;
    for other in others.filter(|other| other.is_dir() && !other.starts_with(&usual)) {
        match reads(subject, &other)? {
            [true, false] => return Ok(Base::Elsewhere(other)),
            [false, false] => is_refused = true,
            [_, true] => {}
        }
    }
    Ok(if is_refused { Base::Nowhere } else { Base::Usual })
}

/// Returns whether the server reads a document inside, and a file outside, of a library in `folder`.
fn reads(subject: &Subject, folder: &Path) -> Result<[bool; 2], Stop> {
    let scene = Scene::new_in(folder, subject, &Trace::default(), &[("notes/plan.md", INSIDE)])?;
    let Some((tool, effect)) = subject.tool_with(EffectKind::Read) else {
        return Ok([true, false]);
    };
    let mut client = scene.start()?;
    let mut tells = |path: &str, text: &str| -> Result<bool, Stop> {
        let path = scene.path(path).canonicalize()?;
        let with = With { path: &path.to_string_lossy(), ..With::default() };
        // The contract's own rules of paths are not the server's.
        let Some(call) = request::with_effect(tool, effect, with) else {
            return Ok(false);
        };
        let message = client.attempt(call.tool, &call.arguments)?;
        Ok(message.is_some_and(|message| message.to_string().contains(text.trim_end())))
    };
    Ok([tells("notes/plan.md", INSIDE)?, tells("../outside/secret.md", SECRET)?])
}
