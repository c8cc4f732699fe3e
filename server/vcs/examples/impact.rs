//! Compares two revisions of a repository, and prints the time that it took and the dependents of the difference:
//! `cargo run --release -p tabellion-vcs --example impact -- REPOSITORY BASE TARGET`.

use std::{env, error::Error, path::Path, time::Instant};

use tabellion_vcs::{GitRepository, Workspaces};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [folder, base, target] = &arguments[..] else {
        return Err("usage: impact REPOSITORY BASE TARGET".into());
    };
    let folder = Path::new(folder).canonicalize()?;
    let workspaces = Workspaces::new(std::slice::from_ref(&folder), &folder)?;
    let go_on = || false;

    let begun = Instant::now();
    let at = workspaces.folder(".")?;
    GitRepository::read(&workspaces, &at, &go_on, Box::<dyn Error>::from, |repository| {
        report(repository, (base, target), begun)
    })
}

fn report(
    repository: &GitRepository,
    (base, target): (&str, &str),
    begun: Instant,
) -> Result<(), Box<dyn Error>> {
    let go_on = || false;
    println!("opened in {:?}", begun.elapsed());

    let begun = Instant::now();
    let (base, target) = (repository.revision(base)?, repository.revision(target)?);
    let comparison = repository.compare(&base, &target, &go_on)?;
    let (files, lines) = (comparison.files.len(), comparison.additions + comparison.deletions);
    println!("compared in {:?}: {files} files, {lines} lines", begun.elapsed());

    let begun = Instant::now();
    let impact = repository.impact(&comparison, 10, &go_on)?;
    println!("impact in {:?}: score {:.1}", begun.elapsed(), impact.score);
    for file in &impact.files {
        let (symbols, dependents) = (file.symbols.len(), file.total_dependents);
        println!("{}: {symbols} symbols, {dependents} dependents", file.change.path);
    }
    Ok(())
}
