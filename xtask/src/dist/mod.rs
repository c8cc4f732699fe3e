//! `cargo xtask dist`: builds the programs that are released, and makes a package for each way of installing them.
//!
//! First an archive per target; each needs the tools of its target, and those for macOS need a Mac. Then, from all archives in the folder,
//! built on any machine, the packages that contain or name them. Publishing is left to a person.

mod archive;
mod bundle;
#[cfg(test)]
mod crates;
mod npm;
mod product;
mod program;
mod recipes;
mod registry;
mod release;
mod targets;
mod wheels;

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use clap::{Args, builder::PossibleValuesParser};

use self::{
    archive::Entry,
    product::{Kind, Product},
    release::{Release, licences},
    targets::{TARGETS, Target},
};
use xtask::{Outcome, foreign::Missing, root};

/// File with the digests of all other files, in the form of `sha256sum --check`.
const CHECKSUMS: &str = "SHA256SUMS";

/// Options of the task.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Target to build for; may be repeated. Without it, all
    #[arg(
        long = "target",
        value_name = "TRIPLE",
        value_parser = PossibleValuesParser::new(TARGETS.map(|target| target.triple))
    )]
    targets: Vec<String>,
    /// Program to build; may be repeated. Without it, all
    #[arg(long = "program", value_name = "NAME", value_parser = ["tabellion", "tabellion-conformance"])]
    programs: Vec<String>,
    /// Build nothing; make packages of the archives that are in the folder already
    #[arg(long, conflicts_with = "targets")]
    no_build: bool,
    /// Folder to write to, if not `target/dist`
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Makes archives and packages of each program.
///
/// # Errors
/// If a build fails. If only tools are missing, after all else, with [`Missing`].
pub(crate) fn make(options: &Options) -> Outcome {
    let out = options.out.clone().unwrap_or_else(|| root().join("target/dist"));
    fs::create_dir_all(&out)?;
    let (mut missing, mut downloads) = (String::new(), String::new());
    for kind in Kind::ALL {
        make_one(&Product::read(kind)?, options, &out, &mut missing, &mut downloads)?;
    }
    fs::write(out.join(CHECKSUMS), downloads)?;
    if missing.is_empty() {
        return Ok(());
    }
    Err(Missing::boxed(format!("not everything was made:\n{}", missing.trim_end())))
}

/// Makes archives and packages of a program. Appends to `missing`, and the digests of downloads to `downloads`.
fn make_one(
    product: &Product,
    options: &Options,
    out: &Path,
    missing: &mut String,
    downloads: &mut String,
) -> Outcome {
    let is_asked = options.programs.is_empty() || options.programs.contains(&product.name);
    let asked = |target: &&Target| {
        let any = options.targets.is_empty();
        product.is_for(target)
            && is_asked
            && !options.no_build
            && (any || options.targets.iter().any(|it| it == target.triple))
    };
    for target in TARGETS.iter().filter(asked) {
        eprintln!("== {} for {}", product.name, target.triple);
        let start = Instant::now();
        match build(product, target, out) {
            Ok(()) => eprintln!("== {}: {:.0} s", target.triple, start.elapsed().as_secs_f64()),
            Err(error) if error.is::<Missing>() => {
                writeln!(missing, "{} for {}: {error}", product.name, target.triple)?;
            }
            Err(error) => return Err(format!("{}: {error}", target.triple).into()),
        }
    }
    let releases = find(product, out)?;
    if releases.is_empty() && !is_asked {
        return Ok(());
    }
    if releases.is_empty() {
        let (name, version) = (&product.name, &product.version);
        writeln!(missing, "there is no archive of {name} {version} in `{}`", out.display())?;
        return Ok(());
    }
    downloads.push_str(&package(product, &releases, out)?);
    if product.kind == Kind::Suite {
        return Ok(());
    }
    if let Err(error) = bundle::validate(&out.join(bundle::file_name(product))) {
        if !error.is::<Missing>() {
            return Err(error);
        }
        writeln!(missing, "the bundle is not validated: {error}")?;
    }
    if product.is_example() {
        eprintln!(
            "warning: the packages name {}, which is only an example; before a release, set `repository` in `Cargo.toml`",
            product.repository
        );
    }
    Ok(())
}

/// Writes the target's archive.
fn build(product: &Product, target: &Target, out: &Path) -> Outcome {
    let program = program::build(target, &product.name)?;
    eprintln!("{}: {:.1} MB", target.triple, program.len() as f64 / 1e6);
    let folder = target.stem(&product.name, &product.version);
    let within = |entry: Entry| Entry { path: format!("{folder}/{}", entry.path), ..entry };
    let mut entries = vec![within(Entry::program(target.program(&product.name), program))];
    entries.extend(licences()?.into_iter().map(within));
    let readme = match product.kind {
        Kind::Server => "README.md",
        Kind::Suite => "conformance/README.md",
    };
    entries.push(within(Entry::file("README.md", fs::read(root().join(readme))?)));
    if product.kind == Kind::Server {
        entries.extend(program::documents(&product.name)?.into_iter().map(within));
        if target.triple.contains("linux") {
            let unit = fs::read(root().join("server/docs/tabellion.service"))?;
            entries.push(within(Entry::file("tabellion.service", unit)));
        }
    }
    let archive = archive::pack(target.format(), &entries)?;
    Ok(fs::write(out.join(target.archive(&product.name, &product.version)), archive)?)
}

/// Reads the archives in the folder.
fn find(product: &Product, out: &Path) -> Outcome<Vec<Release>> {
    let mut releases = Vec::new();
    for target in TARGETS {
        let archive = target.archive(&product.name, &product.version);
        let Ok(bytes) = fs::read(out.join(&archive)) else {
            continue;
        };
        let stem = target.stem(&product.name, &product.version);
        let path = format!("{stem}/{}", target.program(&product.name));
        let program = archive::unpack(target.format(), &bytes, &path)
            .map_err(|error| format!("`{archive}` can't be read: {error}"))?;
        releases.push(Release { target, digest: archive::digest(&bytes), archive, program });
    }
    Ok(releases)
}

/// Writes all packages of the archives; returns the checksums of the downloads.
fn package(product: &Product, releases: &[Release], out: &Path) -> Outcome<String> {
    let mut downloads: Vec<_> =
        releases.iter().map(|release| (release.archive.clone(), release.digest.clone())).collect();
    let mut files = npm::packages(product, releases)?;
    match product.kind {
        Kind::Server => {
            let bundle = bundle::pack(product, releases)?;
            let digest = archive::digest(&bundle);
            let entry = registry::server(product, &digest)?;
            files.push(("server.json".into(), entry.into_bytes()));
            files.push((bundle::file_name(product), bundle));
            files.extend(recipes::all(product, releases)?);
            downloads.push((bundle::file_name(product), digest));
        }
        Kind::Suite => files.extend(wheels::all(product, releases)?),
    }
    for (name, bytes) in files {
        let path = out.join(name);
        fs::create_dir_all(path.parent().unwrap_or(out))?;
        fs::write(&path, bytes)?;
        eprintln!("{}", path.display());
    }
    Ok(downloads.iter().fold(String::new(), |sums, (name, digest)| format!("{sums}{digest}  {name}\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_hold_the_archives_that_are_in_the_folder() {
        let product = Product::example("https://example.com/owner/tool");
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path();
        let [first, .., last] = &TARGETS;
        for target in [first, last] {
            let path = format!("{}/{}", target.stem("tool", "1.2.3"), target.program("tool"));
            let entry = Entry::program(path, target.triple);
            let archive = archive::pack(target.format(), &[entry]).unwrap();
            fs::write(out.join(target.archive("tool", "1.2.3")), archive).unwrap();
        }
        let releases = find(&product, out).unwrap();
        let sums = package(&product, &releases, out).unwrap();
        for release in &releases {
            assert_eq!(release.program, release.target.triple.as_bytes());
        }
        let names: Vec<_> = sums.lines().map(|line| line.split_once("  ").unwrap()).collect();
        assert_eq!(names.len(), 3);
        for (digest, name) in names {
            assert_eq!(archive::digest(&fs::read(out.join(name)).unwrap()), digest, "{name}");
        }
        for made in ["npm/tool-1.2.3.tgz", "npm/tool-linux-x64-1.2.3.tgz", "container/amd64/tool", "tool.rb"]
        {
            assert!(out.join(made).is_file(), "{made}");
        }
        assert!(!out.join("npm/tool-win32-x64-1.2.3.tgz").exists());
    }
}
