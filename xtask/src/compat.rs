//! Compares the contracts to those of another revision, and checks that their versions announce breaking changes.

use tabellion_codegen::{Contract, Sources, compat, load};

use crate::{Outcome, run, schemas};

/// Prints every change since `base`; fails if a version does not announce its changes.
pub(crate) fn compare(base: &str) -> Outcome {
    let (old, new) = (load(&at(base)?)?, tabellion_codegen::load_all(&schemas())?);
    let mut mistakes = vec![];
    for before in &old {
        let id = &before.spec.contract;
        let Some(after) = new.iter().find(|after| after.spec.contract == *id) else {
            println!("breaking   {id}: the contract was removed");
            mistakes.push(format!("{id}: removed"));
            continue;
        };
        mistakes.extend(judge(before, after));
    }
    for after in new.iter().filter(|after| {
        !old.iter()
            .any(|before| before.spec.contract == after.spec.contract)
    }) {
        println!("compatible {}: a new contract", after.spec.contract);
    }
    if mistakes.is_empty() {
        Ok(())
    } else {
        Err(mistakes.join("\n").into())
    }
}

/// Prints the changes of one contract; returns an error if its version should be higher.
fn judge(before: &Contract, after: &Contract) -> Option<String> {
    let id = &after.spec.contract;
    let changes = compat::compare(before, after);
    for change in &changes {
        let kind = if change.breaking {
            "breaking  "
        } else {
            "compatible"
        };
        println!(
            "{kind} {id}: {}: {}",
            change.tool.as_deref().unwrap_or("contract"),
            change.what
        );
        if let Some(example) = &change.example {
            println!("           for example {example}");
        }
    }
    let (old, new) = (&before.spec.version, &after.spec.version);
    if changes.is_empty() {
        println!("unchanged  {id} {new}");
        return None;
    }
    if changes.iter().any(|change| change.breaking) && series(old) == series(new) {
        return Some(format!(
            "{id}: {old} to {new} does not announce a breaking change"
        ));
    }
    (old == new).then(|| format!("{id}: changed, but its version is still {new}"))
}

/// Returns the part of a version that a breaking change must raise: the first number that is not 0.
fn series(version: &str) -> &str {
    let end = match version.split_once('.') {
        Some(("0", rest)) => 2 + rest.find('.').unwrap_or(rest.len()),
        Some((major, _)) => major.len(),
        None => version.len(),
    };
    &version[..end]
}

/// Returns the contracts at a git revision.
fn at(revision: &str) -> Outcome<Sources> {
    // A revision that looks like an option must not be passed as one.
    let revision = run::git(&[
        "rev-parse",
        "--verify",
        "--end-of-options",
        &format!("{revision}^{{commit}}"),
    ])?;
    let revision = revision.trim();
    let listed = run::git(&["ls-tree", "-r", "--name-only", "-z", revision, "--", "schemas"])?;
    let mut files = vec![];
    for path in listed.split('\0').filter(|path| path.ends_with(".json")) {
        if let Some(place) = path.strip_prefix("schemas/") {
            files.push((
                place.to_string(),
                run::git(&["show", &format!("{revision}:{path}")])?,
            ));
        }
    }
    Ok(Sources::from_map("schemas", files))
}

#[cfg(test)]
mod tests {
    use super::series;

    #[test]
    fn the_first_number_that_is_not_zero_announces_a_break() {
        for (version, expected) in [
            ("0.3.0", "0.3"),
            ("0.3.9", "0.3"),
            ("1.2.3", "1"),
            ("12.0.0", "12"),
        ] {
            assert_eq!(series(version), expected);
        }
    }
}
