//! Compares the contracts to those of another revision, and checks that their versions announce breaking changes.

use tabellion_codegen::{Sources, compat, load};

use xtask::{Outcome, run, schemas};

/// Prints every change since `base`; fails if a version does not announce its changes.
pub(crate) fn compare(base: &str) -> Outcome {
    let (old, new) = (load(&sources_at(base)?)?, tabellion_codegen::load_all(&schemas())?);
    let compared = compat::compare_all(&old, &new);
    print!("{}", compared.text);
    if compared.mistakes.is_empty() { Ok(()) } else { Err(compared.mistakes.join("\n").into()) }
}

/// Returns the contracts at a git revision.
fn sources_at(revision: &str) -> Outcome<Sources> {
    // A revision that looks like an option must not be passed as one.
    let revision =
        run::git(&["rev-parse", "--verify", "--end-of-options", &format!("{revision}^{{commit}}")])?;
    let revision = revision.trim();
    let listed = run::git(&["ls-tree", "-r", "--name-only", "-z", revision, "--", "schemas"])?;
    let mut files = vec![];
    for path in listed.split('\0').filter(|path| path.ends_with(".json")) {
        if let Some(place) = path.strip_prefix("schemas/") {
            files.push((place.to_string(), run::git(&["show", &format!("{revision}:{path}")])?));
        }
    }
    Ok(Sources::from_map("schemas", files))
}
