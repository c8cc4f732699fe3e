//! Commits of writing calls.

use std::path::PathBuf;

use super::{
    review::{BEFORE, PROPOSED, Proposal},
    shelf::{By, Shelf, made, word},
    tool::Tool,
};
use tabellion_conformance::checks::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "versions/commits",
    guarantees: &["commit-per-mutation"],
    states: "Each call that writes is exactly one commit, of the document that it wrote and no other.",
    explains: "Creates, changes and links notes and proposes both, while a person has edited another note and has a file that is not added yet. \
               Each call must be one commit with one document in it; what the person has not committed must stay as it is, uncommitted. \
               Otherwise the history does not tell what a call did, and can't be reverted call by call.",
    cases: |_| Ok(Write::ALL.map(|write| Case::new(write.name(), write)).into()),
    ..Check::must(|bench, case| commits(bench, case.read()?))
};

/// A call that writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Write {
    Create,
    Change,
    Link,
    Propose(Proposal),
}

impl Write {
    const ALL: [Self; 6] = [
        Self::Create,
        Self::Change,
        Self::Link,
        Self::Propose(Proposal::Note),
        Self::Propose(Proposal::Change),
        Self::Propose(Proposal::ByPerson),
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Create => "a note",
            Self::Change => "a change",
            Self::Link => "a link",
            Self::Propose(proposal) => proposal.name(),
        }
    }
}

fn commits(bench: &Bench<'_>, write: Write) -> Judgement {
    let mut shelf = Shelf::start(bench)?;
    let note = made(shelf.create(By::Person, &word(BEFORE))?)?;
    let other = made(shelf.create(By::Person, &word(3))?)?;
    let edited = shelf.file_with(&word(3))?;
    let mut text = shelf.scene.read(&edited).unwrap_or_default();
    text.extend(b"\nAnd a line by hand.\n");
    shelf.scene.put(&edited, text)?;
    shelf.scene.put("draft.md", "# A draft\n\nIt is not added yet.\n")?;
    let before = shelf.scene.view()?.library;
    match write {
        Write::Create => drop(made(shelf.create(By::Person, &word(PROPOSED))?)?),
        Write::Change => drop(made(shelf.update(By::Person, &note.id, note.version, &word(PROPOSED))?)?),
        Write::Link => {
            let link = json!({
                "source_note_id": note.id,
                "target_note_id": other.id,
                "relation_type": "cites",
            });
            shelf.must(By::Person, Tool::Link, &link)?;
        }
        Write::Propose(proposal) => drop(proposal.make(&mut shelf, &note, &word(PROPOSED))?),
    }
    let after = shelf.scene.view()?.library;
    let commits = after.commits_since(&before);
    ensure(commits.len() == 1, || format!("the call is {} commits: {commits:?}", commits.len()))?;
    let changed = after.changed_since(&before);
    let committed = shelf.scene.git(&["diff", "--name-only", "--no-renames", "-z", "HEAD^", "HEAD"])?;
    let committed: Vec<PathBuf> =
        committed.split('\0').filter(|path| !path.is_empty()).map(PathBuf::from).collect();
    ensure(changed == committed && changed.len() == 1, || {
        format!("the call wrote {changed:?}, and its commit has {committed:?}")
    })?;
    ensure(after.status == before.status, || {
        format!(
            "`git status` was {:?}, and is {:?}: what a person has not committed must stay so",
            before.status, after.status
        )
    })
}
