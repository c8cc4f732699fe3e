//! The data folder, and the rows in it.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use tabellion_library::CreateFolders;
use tabellion_pack::Packs;
use tabellion_platform as platform;
use tabellion_records::{self as records, Records, SchemaDifference, Start};
use tabellion_runtime::{FailureKind, spec::RowsSpec};

use super::{super::finding::Finding, super::holders, super::words, folder::of_file_system, sync};
use crate::data::{DataFolder, reason, restore};

/// Extension of a file that was replaced by `tabellion data recover`.
const DAMAGED: &str = "damaged";

/// Returns the rows of all contracts whose file is in the folder, with its path.
fn present(folder: &DataFolder, packs: Packs) -> Vec<(&'static RowsSpec, PathBuf)> {
    let specs = packs.over_rows().filter_map(|spec| spec.rows);
    let files = specs.map(|spec| (spec, records::path(&folder.path, spec)));
    files.filter(|(_, path)| path.exists()).collect()
}

/// Checks that the folder is not a mistake, and exists, and that no file of rows is lost.
pub(super) fn folder(folder: &DataFolder, packs: Packs) -> Vec<Finding> {
    const ID: &str = "data";
    let shown = folder.absolute();
    let shown = shown.display();
    let specs = packs.over_rows().filter_map(|spec| spec.rows);
    let mut gone = specs.filter(|spec| !records::path(&folder.path, spec).exists());
    let lost = gone.find_map(|spec| {
        let failure = records::inspect(&folder.path, spec).err()?;
        let remedy = "without a backup, `tabellion data import` makes the file from an export";
        (failure.kind != FailureKind::NotFound).then(|| Finding::red(ID, failure.to_string(), remedy))
    });
    if let Some(lost) = lost {
        return vec![lost];
    }
    vec![match folder.check(CreateFolders::Nothing) {
        Ok(()) if present(folder, packs).is_empty() => Finding::yellow(
            ID,
            format!("`{shown}` has no rows"),
            "the first start of a server makes them; name another folder with `--data DIR`",
        ),
        Ok(()) => Finding::green(ID, format!("`{shown}`")),
        Err(wrong) => Finding::red(ID, wrong, "the first start of a server makes the system's place for it"),
    }]
}

/// Checks who can read and write.
pub(super) fn permissions(folder: &DataFolder, packs: Packs) -> Vec<Finding> {
    const ID: &str = "permissions";
    let Ok(metadata) = fs::metadata(&folder.path) else {
        return vec![];
    };
    let files = present(folder, packs);
    let of_files = files.iter().map(|(_, path)| (path.as_path(), fs::metadata(path)));
    let all = [(folder.path.as_path(), Ok(metadata))].into_iter().chain(of_files);
    let mut findings = vec![];
    for (path, metadata) in all {
        let shown = path.display();
        match metadata {
            Err(error) => findings.push(Finding::red(
                ID,
                format!("`{shown}` can't be read: {error}"),
                "give your user access to it",
            )),
            Ok(metadata) if metadata.permissions().readonly() => findings.push(Finding::red(
                ID,
                format!("`{shown}` is read-only: changes are refused"),
                format!("`chmod u+w {shown}`"),
            )),
            Ok(metadata) if platform::is_for_others(&metadata) => findings.push(Finding::yellow(
                ID,
                format!("other users of this machine can get at `{shown}`"),
                format!("`chmod go= {shown}`"),
            )),
            Ok(_) => {}
        }
    }
    if findings.is_empty() {
        findings.push(Finding::green(ID, "your user alone can read and write the data"));
    }
    findings
}

/// Checks the file system's type.
pub(super) fn file_system(folder: &DataFolder, _: Packs) -> Vec<Finding> {
    of_file_system(
        &folder.absolute(),
        "SQLite's locks do not reach other machines there; keep the data on a disk of this machine",
    )
}

/// Looks for a service that synchronizes the folder.
pub(super) fn service(folder: &DataFolder, _: Packs) -> Vec<Finding> {
    const ID: &str = "sync";
    vec![match sync::recognize(&folder.absolute()) {
        None => Finding::green(ID, "no service that synchronizes the folder was recognized"),
        Some(service) => Finding::yellow(
            ID,
            format!("{service} copies the data while it is in use, which can damage the copy"),
            "keep the data elsewhere with `--data DIR`, and let it copy what `tabellion data backup FILE` writes",
        ),
    }]
}

/// Checks the version of each file.
pub(super) fn files(folder: &DataFolder, packs: Packs) -> Vec<Finding> {
    const ID: &str = "version";
    let of_file = |(spec, path): &(&'static RowsSpec, PathBuf)| match records::inspect(&folder.path, spec) {
        Err(failure) => Finding::red(
            ID,
            format!("`{}`: {}", path.display(), reason(&failure)),
            recovery(folder, spec, path),
        ),
        Ok(found) => {
            let said = found.describe(spec);
            match found.standing {
                SchemaDifference::Current | SchemaDifference::Adds => Finding::green(ID, said),
                SchemaDifference::Loses(_) => Finding::red(
                    ID,
                    said,
                    format!("{}, which makes a backup first", folder.command("migrate", spec.contract)),
                ),
                SchemaDifference::Newer => {
                    Finding::red(ID, said, "the program that wrote the data can read it")
                }
                SchemaDifference::Impossible(_) => {
                    let export = folder.command("export", spec.contract);
                    Finding::red(ID, said, format!("{export}, with the program that wrote the data"))
                }
                SchemaDifference::Foreign(_) => {
                    Finding::red(ID, said, "move the file, or use another folder")
                }
            }
        }
    };
    present(folder, packs).iter().map(of_file).collect()
}

/// Checks that replaying the log gives the tables.
pub(super) fn log(folder: &DataFolder, packs: Packs) -> Vec<Finding> {
    const ID: &str = "log";
    let is_current = |spec: &'static RowsSpec| {
        records::inspect(&folder.path, spec).is_ok_and(|found| found.standing == SchemaDifference::Current)
    };
    let present = present(folder, packs).into_iter();
    let current = present.filter(|(spec, _)| is_current(spec));
    let of_file = |(spec, path): (&'static RowsSpec, PathBuf)| {
        let checked = Records::open(&folder.path, spec, Start::Existing).and_then(|records| records.check());
        match checked {
            Ok(checked) => Finding::green(
                ID,
                format!(
                    "the {} changes in the log of `{}` give its {} rows",
                    checked.changes, spec.contract, checked.rows
                ),
            ),
            Err(failure) => Finding::red(ID, reason(&failure), recovery(folder, spec, &path)),
        }
    };
    current.map(of_file).collect()
}

/// Checks how many of the rows are in the index of words.
pub(super) fn words(folder: &DataFolder, packs: Packs) -> Vec<Finding> {
    let of_file = |(spec, _): (&'static RowsSpec, PathBuf)| {
        // A file that can't be opened is the subject of other checks.
        let records = Records::open(&folder.path, spec, Start::Existing).ok()?;
        words::of_rows(spec, Arc::new(records), packs, folder.command("reindex", spec.contract))
    };
    present(folder, packs).into_iter().filter_map(of_file).collect()
}

fn recovery(folder: &DataFolder, spec: &RowsSpec, path: &Path) -> String {
    format!(
        "stop the servers, then {}; if the log can't be read, {}",
        folder.command("recover", spec.contract),
        restore(path)
    )
}

/// Lists the processes that use the data.
pub(super) fn processes(folder: &DataFolder, packs: Packs) -> Vec<Finding> {
    const ID: &str = "processes";
    if !holders::ARE_KNOWN {
        return vec![];
    }
    let files = present(folder, packs).into_iter();
    let mut using: Vec<_> = files.flat_map(|(_, path)| holders::find(&path)).collect();
    using.sort();
    using.dedup();
    vec![if using.is_empty() {
        Finding::green(ID, "no process uses the data")
    } else {
        Finding::green(ID, format!("in use by {}", using.join(", ")))
    }]
}

/// Looks for code that could not be indexed.
pub(super) fn code(folder: &DataFolder, packs: Packs) -> Vec<Finding> {
    const ID: &str = "code";
    let remedy = "mend that, and begin the run anew (`index start`); `index clear` removes a collection whose folder is gone";
    let finding = |(path, error)| {
        Finding::yellow(ID, format!("the code in `{path}` could not be indexed: {error}"), remedy)
    };
    let of_pack = |unindexed: Result<Vec<_>, _>| match unindexed {
        Ok(failed) => failed.into_iter().map(finding).collect(),
        Err(error) => vec![Finding::yellow(ID, error, "delete the index; the next run makes it again")],
    };
    packs.all().filter_map(|pack| Some(pack.unindexed?(&folder.path))).flat_map(of_pack).collect()
}

/// Looks for files that a recovery kept.
pub(super) fn leftovers(folder: &DataFolder, _: Packs) -> Vec<Finding> {
    const ID: &str = "leftovers";
    let names = tabellion_platform::names(&folder.path).unwrap_or_default();
    let is_damaged = |path: &PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        let number = extension.and_then(|extension| extension.strip_prefix(DAMAGED));
        number.is_some_and(|rest| rest.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut kept: Vec<_> = names.into_iter().map(|name| folder.path.join(name)).filter(is_damaged).collect();
    kept.sort();
    let findings: Vec<_> = kept
        .iter()
        .map(|path| {
            Finding::yellow(
                ID,
                format!("a recovery kept the damaged file `{}`", path.display()),
                "delete it, with the files of that name beside it, when you miss nothing",
            )
        })
        .collect();
    if findings.is_empty() {
        return vec![Finding::green(ID, "none")];
    }
    findings
}
