//! Numbers of versions, and their contents.

use super::{
    shelf::{By, Shelf, change, content, made, word},
    tool::Tool,
};
use tabellion_conformance::checks::prelude::*;

pub(super) const ALL: Check = Check {
    id: "versions/all",
    guarantees: &["versions-are-kept"],
    states: "Each change of a note has the next number, and each version can be read as it was.",
    explains: "Creates a note, changes it several times, and restarts the server in between. The numbers must be 1, 2 and so on, without a gap; \
               the list of versions must have each once, the newest first, and each must be readable with its content.",
    cases: |bench| {
        let many: &[usize] = bench.pick(&[1, 4], &[1, 4, 20]);
        Ok(many.iter().map(|many| Case::new(format!("{many} versions"), many)).collect())
    },
    ..Check::must(|bench, case| all(bench, case.read()?))
};

pub(super) const BY_HAND: Check = Check {
    id: "versions/by-hand",
    guarantees: &["versions-are-kept"],
    states: "A note that a person has edited by hand, committed or not, has one version more, which can be read.",
    explains: "Edits a note's file once or several times, as in an editor, and commits it or not. The number that the note had must be refused \
               then, since it would undo the person's edit; the next one must be taken, and lead to the one after. A server that counts \
               only its own changes lets an agent overwrite what it has never read.",
    cases: |_| {
        let all = [(1, false), (1, true), (3, false), (3, true)];
        let case = |(edits, commits): (usize, bool)| {
            let how = if commits { "committed" } else { "not committed" };
            Case::new(format!("{edits} edits, {how}"), (edits, commits))
        };
        Ok(all.into_iter().map(case).collect())
    },
    ..Check::must(|bench, case| {
        let (edits, commits) = case.read()?;
        by_hand(bench, edits, commits)
    })
};

pub(super) const CONFLICT: Check = Check {
    id: "versions/conflict",
    guarantees: &["locks-hold"],
    states: "A change of another version than the note's is refused, and changes nothing.",
    explains: "Changes a note of version 3 with numbers below and above, as a person and as an agent. The details of the refusal must say \
               which version the note has, so that the caller can read it and go on.",
    cases: |_| {
        let versions = [0_i64, 1, 2, 4, 100, -1, i64::from(i32::MAX)];
        let case =
            |by: By| move |version: i64| Case::new(format!("version {version}, {by:?}"), (by, version));
        let all = [By::Person, By::Agent].into_iter();
        Ok(all.flat_map(|by| versions.map(case(by))).collect())
    },
    ..Check::must(|bench, case| {
        let (by, version) = case.read()?;
        conflict(bench, by, version)
    })
};

/// Returns the numbers of a note's versions, the newest first.
pub(super) fn listed(shelf: &mut Shelf<'_, '_>, id: &str) -> Result<Vec<u64>, Stop> {
    let uri = format!("note://{id}/versions");
    let list = shelf.resource(By::Agent, &uri)?;
    let list = list.ok_or_else(|| fail(format!("`{uri}` can't be read")))?;
    let versions = list["versions"].as_array().into_iter().flatten();
    Ok(versions.filter_map(|it| it["version"].as_u64()).collect())
}

/// Returns the content of a version.
fn version(shelf: &mut Shelf<'_, '_>, id: &str, number: u64) -> Result<String, Stop> {
    let uri = format!("note://{id}/versions/{number}");
    let version = shelf.resource(By::Agent, &uri)?;
    let content = version.as_ref().and_then(|version| version["content"].as_str());
    let content = content.ok_or_else(|| fail(format!("`{uri}` can't be read: {version:?}")))?;
    Ok(content.to_owned())
}

fn all(bench: &Bench<'_>, many: usize) -> Judgement {
    let mut shelf = Shelf::start(bench)?;
    let first = made(shelf.create(By::Person, &word(0))?)?;
    let mut numbers = vec![first.version];
    for number in 1..many {
        if number == many / 2 {
            shelf.restart()?;
        }
        let last = numbers[number - 1];
        let next = made(shelf.update(By::Person, &first.id, last, &word(number))?)?;
        numbers.push(next.version);
    }
    let expected: Vec<u64> = (1..).take(many).collect();
    ensure(numbers == expected, || format!("the numbers of the versions are {numbers:?}"))?;
    let listed = listed(&mut shelf, &first.id)?;
    ensure(listed.iter().rev().eq(&expected), || {
        format!("the listed versions are {listed:?}, and should be {many}, the newest first")
    })?;
    for (index, number) in expected.iter().enumerate() {
        let found = version(&mut shelf, &first.id, *number)?;
        let right = content(&word(index));
        ensure(found.trim() == right.trim(), || format!("version {number} is {found:?}, and was {right:?}"))?;
    }
    Ok(())
}

fn by_hand(bench: &Bench<'_>, edits: usize, commits: bool) -> Judgement {
    let mut shelf = Shelf::start(bench)?;
    let first = made(shelf.create(By::Person, &word(0))?)?;
    let path = shelf.file_with(&word(0))?;
    for edit in 1..=edits {
        let text = String::from_utf8_lossy(&shelf.scene.read(&path).unwrap_or_default()).into_owned();
        shelf.scene.put(&path, text.replace(&word(edit - 1), &word(edit)))?;
        if commits {
            shelf.scene.commit_all("by hand")?;
        }
    }
    shelf.ensure_seen(By::Agent, &word(edits), true, "which a person wrote by hand")?;
    let stale = change(&first.id, first.version, &word(8));
    let why = "although a person has edited the note by hand since";
    shelf.must_not(By::Person, Tool::Update, &stale, why)?;
    let next = made(shelf.update(By::Person, &first.id, first.version + 1, &word(9))?)?;
    ensure(next.version == first.version + 2, || {
        format!(
            "a note of version {} was edited by hand and then by the tool; its version is {}",
            first.version, next.version
        )
    })?;
    let listed = listed(&mut shelf, &first.id)?;
    let expected = [first.version + 2, first.version + 1, first.version];
    ensure(listed == expected, || format!("the listed versions are {listed:?}, and should be {expected:?}"))?;
    let found = version(&mut shelf, &first.id, first.version + 1)?;
    ensure(found.contains(&word(edits)), || format!("the version that was written by hand is {found:?}"))
}

fn conflict(bench: &Bench<'_>, by: By, version: i64) -> Judgement {
    let mut shelf = Shelf::start(bench)?;
    let first = made(shelf.create(By::Person, &word(0))?)?;
    let mut last = first.version;
    for number in 1..3 {
        last = made(shelf.update(By::Person, &first.id, last, &word(number))?)?.version;
    }
    let mut arguments = change(&first.id, last, &word(9));
    arguments["version"] = version.into();
    let why = format!("although the note's version is {last}");
    let refused = shelf.must_not(by, Tool::Update, &arguments, &why)?;
    // A number that no version has may be refused as an argument.
    let actual = refused.details.get("actual");
    let is_said = version < 1 || actual.and_then(Value::as_u64) == Some(last);
    ensure(is_said, || {
        format!(
            "the refusal should say that the version is {last}, in `details.actual`: {:?}, {}",
            refused.details, refused.message
        )
    })?;
    shelf.ensure_seen(By::Person, &word(2), true, "after a change was refused")
}
