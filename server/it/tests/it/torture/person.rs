//! A person saves the file that the server edits: no save is lost, no edit is lost or doubled.

use std::{
    collections::{BTreeMap, HashSet},
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

use super::{
    Effort,
    calls::{self, Call, CallOutcome},
    client::{append_beside, last_change},
    dice::Dice,
    editor::{self, Editor, Save, Style},
    history, judge,
};
use crate::support::Library;

const NOTE: &str = "note.md";
const SERVERS: usize = 2;
const STYLES: [Style; 3] = [Style::InPlace, Style::Rename, Style::Backup];
/// Minimum and maximum of the pause between two saves, in milliseconds.
const PACES: [(u64, u64); 2] = [(20, 200), (20, 20)];
/// The number of spells that add lines, in the short form.
const ADDING_SPELLS: usize = 4;
/// Saves in quick succession, some 50 a second on average.
const BURST: usize = 6;
const BURST_GAP: Duration = Duration::from_micros(300);
const ADDING_REST: (u64, u64) = (100, 100);
/// A person saves in one library for this time, and until this many calls were answered or the maximum is reached.
const SPELL: Duration = Duration::from_millis(900);
const MAX_SPELL: Duration = Duration::from_secs(5);
const CALLS: usize = 12;

#[test]
fn saves_over_the_servers_edits_are_never_lost() {
    let effort = Effort::from_environment();
    let mut tally = Tally::default();
    while tally.spells == 0 || effort.pick(false, !effort.is_over()) {
        for (style, pace) in STYLES.iter().flat_map(|style| PACES.map(|pace| (*style, pace))) {
            let spell = Spell::new(effort, tally.spells, style, pace);
            let faults = spell.run(&mut tally, editor::lost, |editor| {
                editor.save(format!("# Note\n\nversion {}\n", editor.saves.len()));
            });
            assert!(faults.is_empty(), "{style:?} each {pace:?} ms: {faults:#?}\n{tally:?}");
        }
    }
    println!("saves: seed {}, {tally:?}", effort.seed);
}

/// Covers a known race: between the server's exchange of the file and its reversal, an editor reads bytes that are never
/// committed, and saves a change of them. Then the edit is made twice, or a refused call has left its bytes, or an earlier
/// save is restored and overwritten by a text without it.
#[test]
fn lines_added_to_what_the_server_just_wrote_double_and_drop_nothing() {
    let effort = Effort::from_environment();
    let mut tally = Tally::default();
    let mut broken = vec![];
    while tally.spells < effort.pick(ADDING_SPELLS, usize::MAX) && !effort.is_over() {
        let style = [Style::InPlace, Style::Rename][tally.spells % 2];
        let spell = Spell::new(effort, tally.spells, style, ADDING_REST);
        let mut dice = Dice::new(effort, u64::MAX >> 32);
        let faults = spell.run(&mut tally, editor::lost_lines, |editor| {
            for _ in 0..BURST {
                let line = format!("- h{}", editor.saves.len());
                editor.add(&line);
                thread::sleep(dice.time(BURST_GAP / 2, BURST_GAP * 2));
            }
        });
        broken.extend((!faults.is_empty()).then_some((style, faults)));
    }
    println!("additions: seed {}, {} spells broken, {tally:?}", effort.seed, broken.len());
    assert!(broken.is_empty(), "{} of {} spells: {broken:#?}", broken.len(), tally.spells);
}

/// Returns the saves that are missing from the kept versions.
type Lost = fn(&[Save], &HashSet<Vec<u8>>) -> Vec<String>;

/// A time during which a person saves while servers append.
struct Spell {
    library: Library,
    style: Style,
    dice: Dice,
    pace: (u64, u64),
}

impl Spell {
    fn new(effort: Effort, nth: usize, style: Style, pace: (u64, u64)) -> Self {
        Self {
            library: Library::with(&[(NOTE, "# Note\n")]),
            style,
            dice: Dice::new(effort, nth as u64),
            pace,
        }
    }

    /// Repeats `save`; returns the faults after that, including those that `lost` finds.
    fn run(mut self, tally: &mut Tally, lost: Lost, mut save: impl FnMut(&mut Editor) + Send) -> Vec<String> {
        let (least, most) = (self.pace.0, self.pace.1);
        let mut editor = Editor::new(self.library.path(NOTE), self.style);
        let dice = &mut self.dice;
        let (mut calls, saves) = append_beside(&self.library, SERVERS, NOTE, |answers| {
            let since = Instant::now();
            while since.elapsed() < SPELL
                || answers.load(Ordering::Relaxed) < CALLS && since.elapsed() < MAX_SPELL
            {
                save(&mut editor);
                thread::sleep(dice.time(Duration::from_millis(least), Duration::from_millis(most)));
            }
            editor.close()
        });
        calls.extend(last_change(&self.library, NOTE));
        tally.add(&self.library, &calls, &saves);
        self.faults(&calls, &saves, lost)
    }

    fn faults(&self, calls: &[Call], saves: &[Save], lost: Lost) -> Vec<String> {
        let root = self.library.root();
        let versions = judge::kept_versions(&self.library);
        let mut faults = calls::faults_of_commits(calls, &history::commits(root, &history::ALL_REFERENCES));
        faults.extend(judge::faults_of_versions(calls, &versions));
        faults.extend(judge::faults_of_library(&self.library, &history::commits(root, &history::HERE)));
        faults.extend(lost(saves, &versions).iter().map(|line| format!("lost: {line}")));
        faults.extend(calls.iter().filter_map(|call| match &call.end {
            CallOutcome::Refused(name) if name == "CONFLICT" || name == "BUSY" => None,
            // For a moment only the backup exists.
            CallOutcome::Refused(name) if name == "NOT_FOUND" && self.style == Style::Backup => None,
            CallOutcome::Commit(_) => None,
            end => Some(format!("{}: {end:?}", call.token)),
        }));
        faults
    }
}

/// The results of all spells.
#[derive(Debug, Default)]
struct Tally {
    spells: usize,
    calls: BTreeMap<String, usize>,
    longest_wait: Duration,
    saves: usize,
    /// Saves that the person overwrote.
    overwritten: usize,
    /// Saves with a pause in the middle.
    slow: usize,
    /// Saves that were kept aside.
    late: usize,
}

impl Tally {
    fn add(&mut self, library: &Library, calls: &[Call], saves: &[Save]) {
        self.spells += 1;
        for (end, count) in calls::ends(calls) {
            *self.calls.entry(end).or_default() += count;
        }
        self.longest_wait = self.longest_wait.max(calls::waits(calls)[1]);
        self.saves += saves.len();
        self.overwritten += saves.iter().filter(|save| save.is_overwritten()).count();
        self.slow += saves.iter().filter(|save| !save.prompt).count();
        self.late += judge::late(library);
    }
}
