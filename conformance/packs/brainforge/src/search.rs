//! Searches: their hits and scores.

use std::{collections::BTreeSet, thread, time::Duration};

use chrono::{DateTime, FixedOffset, SecondsFormat};

use super::{
    hit::{Hit, hits},
    shelf::{By, MAX_FOUND, Shelf, made, word},
    tool::Tool,
};
use tabellion_conformance::{check::fewer_steps, checks::prelude::*, texts::TEXTS};

pub(super) const FRESH: Check = Check {
    id: "notes/fresh",
    guarantees: &["search-is-bounded"],
    states: "What was written is found by the next search, and what is gone is not: by tools and by hand, in each server and after a restart.",
    explains: "Writes, edits, renames and removes notes, by the tools and in the folder, and searches at once. An index that follows later \
               tells an agent that nothing is known, right after it was written down.",
    ..Check::must(|bench, _| fresh(bench))
};

pub(super) const FILTERS: Check = Check {
    id: "notes/filters",
    guarantees: &["search-is-bounded"],
    states: "A search finds the notes that pass all filters, however few there are among many that match better; only `limit` cuts.",
    explains: "Creates notes of several types and tags that have a word in common, and searches it with all kinds of filters, with and without a \
               limit. All that pass must be found and counted, and nothing else. A server that ranks first, cuts and then filters misses \
               what is there.",
    cases: |bench| {
        let mut dice = bench.dice("filters");
        let many = bench.pick(12, 60);
        let library: Vec<Planned> = (0..40).map(|_| Planned::random(&mut dice)).collect();
        let questions: Vec<Question> = (0..many).map(|_| Question::random(&mut dice)).collect();
        Ok(vec![Case::new("a library", (library, questions))])
    },
    ..Check::must(|bench, case| {
        let (library, questions) = case.read()?;
        filters(bench, library, questions)
    })
};

pub(super) const SCORES: Check = Check {
    id: "notes/scores",
    guarantees: &["search-is-bounded"],
    states: "Scores are from 0 to 1 and descend, each note is found once, and what has the words comes before what has not.",
    explains: "Searches notes that have one, two or all words of a question, with several limits. A note that has all the words must come \
               before those that have none of them, and a limit must cut the same list.",
    ..Check::must(|bench, _| scores(bench))
};

pub(super) const EXCERPTS: Check = Check {
    id: "notes/excerpts",
    guarantees: &["search-is-bounded"],
    states: "An excerpt is a part of the note of at most 500 characters that shows what was found, and is there only if it is asked for.",
    explains: "Searches a word that is at the start, in the middle and at the end of a long note, in several scripts. Whole notes in the place of \
               excerpts fill an agent's context.",
    ..Check::must(|bench, _| excerpts(bench))
};

pub(super) const ANY_TEXT: Check = Check {
    id: "notes/any-text",
    guarantees: &["search-is-bounded"],
    states: "Any text is a query, and a word of any script finds the note that has it.",
    explains: "Stores texts of more than 20 scripts, punctuation, operators of query languages, code and odd characters as notes, and searches \
               for each. A gate may refuse what says nothing; everything else must be answered.",
    cases: |_| {
        let cases = TEXTS.chunks(OF_A_CASE).map(|texts| {
            let names: Vec<_> = texts.iter().map(|text| text.name.clone()).collect();
            Case::new(format!("{} to {}", names[0], names[names.len() - 1]), names)
        });
        Ok(cases.collect())
    },
    shrink: fewer_steps::<String>,
    ..Check::must(|bench, case| any_text(bench, &case.read::<Vec<String>>()?))
};

/// Number of notes between two different times of creation.
const APART: usize = 14;
/// Texts of a case.
const OF_A_CASE: usize = 12;
/// Maximum number of characters of an excerpt.
const MAX_EXCERPT: usize = 500;
/// A word that many notes contain.
const COMMON: &str = "harbour";
const TYPES: [&str; 3] = ["permanent", "literature", "fleeting"];
const TAGS: [&str; 3] = ["sea", "land", "air"];

/// A note of a library.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Planned {
    note_type: String,
    tags: Vec<String>,
    /// Number of repetitions of the common word.
    repeats: usize,
}

/// A search of the common word.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Question {
    note_type: Option<String>,
    tags: Vec<String>,
    /// Only notes created from the note with this number on.
    after: Option<usize>,
    /// Only notes created before that one.
    before: Option<usize>,
    limit: u64,
}

fn some_tags(dice: &mut fastrand::Rng) -> Vec<String> {
    let tags = TAGS.iter().filter(|_| dice.bool());
    tags.map(|tag| (*tag).to_owned()).collect()
}

impl Planned {
    fn random(dice: &mut fastrand::Rng) -> Self {
        Self {
            note_type: TYPES[dice.usize(..TYPES.len())].into(),
            tags: some_tags(dice),
            repeats: dice.usize(1..8),
        }
    }
}

impl Question {
    fn random(dice: &mut fastrand::Rng) -> Self {
        let [after, before] = [dice.usize(..60), dice.usize(..60)].map(|at| (at < 40).then_some(at));
        let is_in_order = after.zip(before).is_none_or(|(after, before)| after + APART <= before);
        Self {
            note_type: dice.bool().then(|| TYPES[dice.usize(..TYPES.len())].to_owned()),
            tags: if dice.bool() { some_tags(dice) } else { vec![] },
            after: after.filter(|_| is_in_order),
            before: before.filter(|_| is_in_order),
            limit: [1, 3, MAX_FOUND][dice.usize(..3)],
        }
    }

    /// Returns true if the note with this number passes, by the times at which all were created.
    fn passes(&self, number: usize, note: &Planned, times: &[DateTime<FixedOffset>]) -> bool {
        self.note_type.as_ref().is_none_or(|wanted| *wanted == note.note_type)
            && self.tags.iter().all(|tag| note.tags.contains(tag))
            && self.after.is_none_or(|after| times[number] >= times[after])
            && self.before.is_none_or(|before| times[number] < times[before])
    }
}

fn fresh(bench: &Bench<'_>) -> Judgement {
    let mut shelf = Shelf::start(bench)?;
    // Both servers have read the library already.
    for by in [By::Person, By::Agent] {
        shelf.ensure_seen(by, &word(0), false, "in an empty library")?;
    }
    let note = made(shelf.create(By::Person, &word(0))?)?;
    let all = |shelf: &mut Shelf<'_, '_>, word: &str, should: bool, why: &str| -> Judgement {
        for by in [By::Agent, By::Person] {
            shelf.ensure_seen(by, word, should, why)?;
        }
        Ok(())
    };
    all(&mut shelf, &word(0), true, "right after it was created")?;
    made(shelf.update(By::Person, &note.id, note.version, &word(1))?)?;
    all(&mut shelf, &word(1), true, "right after a change")?;
    all(&mut shelf, &word(0), false, "although it was changed")?;
    let path = shelf.file_with(&word(1))?;
    let text = String::from_utf8_lossy(&shelf.scene.read(&path).unwrap_or_default()).into_owned();
    shelf.scene.put(&path, text.replace(&word(1), &word(2)))?;
    all(&mut shelf, &word(2), true, "right after an edit by hand")?;
    all(&mut shelf, &word(1), false, "although it was edited by hand")?;
    shelf.scene.put("by-hand.md", format!("# By hand\n\nA file with {}.\n", word(3)))?;
    all(&mut shelf, &word(3), true, "in a file that a person has added")?;
    shelf.scene.trace("`by-hand.md` is renamed to `kept/renamed.md`");
    std::fs::create_dir_all(shelf.scene.path("kept"))?;
    std::fs::rename(shelf.scene.path("by-hand.md"), shelf.scene.path("kept/renamed.md"))?;
    all(&mut shelf, &word(3), true, "in a file that a person has renamed")?;
    shelf.restart()?;
    all(&mut shelf, &word(2), true, "after a restart")?;
    shelf.scene.trace(format!("`{path}` is removed"));
    std::fs::remove_file(shelf.scene.path(&path))?;
    all(&mut shelf, &word(2), false, "although its file is gone")
}

/// Searches as an agent.
fn find(shelf: &mut Shelf<'_, '_>, query: &str, limit: u64, more: Value) -> Result<Vec<Hit>, Stop> {
    let mut arguments = json!({ "query": query, "limit": limit });
    if let Value::Object(more) = more {
        arguments.as_object_mut().into_iter().for_each(|all| all.extend(more.clone()));
    }
    hits(&shelf.must(By::Agent, Tool::Search, &arguments)?, limit)
}

fn filters(bench: &Bench<'_>, library: Vec<Planned>, questions: Vec<Question>) -> Judgement {
    let mut shelf = Shelf::start(bench)?;
    let (mut ids, mut times) = (Vec::new(), Vec::new());
    for (number, note) in library.iter().enumerate() {
        let text = format!("# {}\n\n{}", word(number), format!("The {COMMON}. ").repeat(note.repeats));
        let arguments = json!({
            "content": text,
            "note_type": note.note_type,
            "metadata": { "tags": note.tags },
        });
        let answer = shelf.must(By::Person, Tool::Create, &arguments)?;
        ids.push(answer["note_id"].as_str().unwrap_or_default().to_owned());
        times.push(answer["created_at"].as_str().unwrap_or_default().to_owned());
        if number % APART == APART - 1 {
            // Separates the notes in time, at any precision down to a second.
            thread::sleep(Duration::from_millis(1_050));
        }
    }
    let times = times.iter().map(|time| DateTime::parse_from_rfc3339(time));
    let times: Vec<_> = times
        .collect::<Result<_, _>>()
        .map_err(|error| fail(format!("a time of creation is none: {error}")))?;
    for question in questions {
        let mut given = Map::new();
        if let Some(note_type) = &question.note_type {
            given.insert("note_type".into(), json!(note_type));
        }
        if !question.tags.is_empty() {
            given.insert("tags".into(), json!(question.tags));
        }
        for (key, at) in [("created_after", question.after), ("created_before", question.before)] {
            if let Some(at) = at {
                given.insert(key.into(), json!(times[at].to_rfc3339_opts(SecondsFormat::AutoSi, true)));
            }
        }
        let asked = json!({ "query": COMMON, "limit": question.limit, "filters": given });
        let answer = shelf.must(By::Agent, Tool::Search, &asked)?;
        let found = hits(&answer, question.limit)?;
        let numbers = library.iter().enumerate();
        let right: BTreeSet<&str> = numbers
            .filter(|(number, note)| question.passes(*number, note, &times))
            .map(|(number, _)| &*ids[number])
            .collect();
        let is_right = found.iter().all(|hit| right.contains(&*hit.id))
            && answer["total_results"].as_u64() == Some(right.len() as u64);
        ensure(is_right, || {
            format!(
                "{} notes pass `{asked}`, but the answer has {} of {}: {found:?}",
                right.len(),
                found.len(),
                answer["total_results"]
            )
        })?;
    }
    Ok(())
}

fn scores(bench: &Bench<'_>) -> Judgement {
    let mut shelf = Shelf::start(bench)?;
    let (one, other) = (word(1), word(2));
    let texts = [
        format!("# Both\n\nAbout {one} and {other} in one sentence.\n"),
        format!("# The first\n\nAbout {one} alone, in one sentence.\n"),
        format!("# The second\n\nAbout {other} alone, in one sentence.\n"),
        "# None\n\nAbout ships, in one sentence.\n".to_owned(),
    ];
    let mut ids = Vec::new();
    for text in &texts {
        let arguments = json!({ "content": text, "note_type": "permanent" });
        let answer = shelf.must(By::Person, Tool::Create, &arguments)?;
        ids.push(answer["note_id"].as_str().unwrap_or_default().to_owned());
    }
    let query = format!("{one} {other}");
    let all = find(&mut shelf, &query, MAX_FOUND, json!({}))?;
    let place = |id: &str| all.iter().position(|hit| hit.id == id);
    ensure(place(&ids[0]) == Some(0), || format!("the note that has all words is not the first: {all:?}"))?;
    for has_one in &ids[1..3] {
        let is_before = place(has_one).is_some_and(|at| place(&ids[3]).is_none_or(|none| at < none));
        ensure(is_before, || {
            format!(
                "note {has_one} has a word of the query, and comes after one that has none, or is not there: {all:?}"
            )
        })?;
    }
    for limit in 1..=all.len() {
        let arguments = json!({ "query": query, "limit": limit });
        let answer = shelf.must(By::Agent, Tool::Search, &arguments)?;
        let cut = hits(&answer, limit as u64)?;
        let same = |(cut, whole): (&Hit, &Hit)| cut.id == whole.id;
        ensure(cut.len() == limit && cut.iter().zip(&all).all(same), || {
            format!("with a limit of {limit}, {cut:?} are found instead of the first of {all:?}")
        })?;
    }
    let none = find(&mut shelf, &word(7), MAX_FOUND, json!({ "filters": { "tags": ["unused"] } }))?;
    ensure(none.is_empty(), || format!("nothing has the tag, but {none:?} are found"))
}

fn excerpts(bench: &Bench<'_>) -> Judgement {
    let mut shelf = Shelf::start(bench)?;
    let fillers = ["Ships come and go. ", "船が来て、また行く。", "Корабли приходят и уходят. "];
    let mut number = 0;
    for filler in fillers {
        for place in [0, 60, 119] {
            number += 1;
            let mut sentences = vec![filler.to_owned(); 120];
            sentences[place] = format!("Here is {}. ", word(number));
            let text = format!("# Long\n\n{}\n", sentences.concat());
            let arguments = json!({ "content": text, "note_type": "permanent" });
            shelf.must(By::Person, Tool::Create, &arguments)?;
            let found = find(&mut shelf, &word(number), 1, json!({}))?;
            let excerpt = found.first().and_then(|hit| hit.excerpt.as_deref());
            let excerpt =
                excerpt.ok_or_else(|| fail(format!("`{}` is found without an excerpt", word(number))))?;
            let characters = excerpt.chars().count();
            ensure(characters <= MAX_EXCERPT, || {
                format!("an excerpt has {characters} characters: {excerpt}")
            })?;
            ensure(excerpt.contains(&word(number)), || {
                format!("the excerpt does not show `{}`: {excerpt}", word(number))
            })?;
            let squeezed = |text: &str| text.split_whitespace().collect::<String>();
            let shown = squeezed(excerpt.trim_matches(['…', '.', ' ']));
            ensure(squeezed(&text).contains(&shown), || {
                format!("the excerpt is no part of the note: {excerpt}")
            })?;
            let without = find(&mut shelf, &word(number), 1, json!({ "include_excerpts": false }))?;
            let is_bare = without.first().is_some_and(|hit| hit.excerpt.is_none());
            ensure(is_bare, || format!("an excerpt is there that was not asked for: {without:?}"))?;
        }
    }
    Ok(())
}

fn any_text(bench: &Bench<'_>, names: &[String]) -> Judgement {
    let mut shelf = Shelf::start(bench)?;
    let texts = || TEXTS.iter().filter(|text| names.contains(&text.name));
    let mut ids = Vec::new();
    for text in texts() {
        let content = format!("# A text\n\n{}\n", text.text);
        let arguments = json!({ "content": content, "note_type": "permanent" });
        let created = shelf.ask(By::Person, Tool::Create, &arguments)?;
        // Failures to store are the subject of other checks.
        let id = created.ok().and_then(|(answer, _)| answer["note_id"].as_str().map(str::to_owned));
        ids.push(id);
    }
    for (text, id) in texts().zip(ids) {
        for query in [Some(&text.text), text.word.as_ref()].into_iter().flatten() {
            let arguments = json!({ "query": query, "limit": MAX_FOUND });
            let says_something = query.chars().any(char::is_alphanumeric);
            match shelf.ask(By::Agent, Tool::Search, &arguments)? {
                Ok((answer, _)) => drop(hits(&answer, MAX_FOUND)?),
                Err(refused) if says_something => {
                    return Err(fail(format!("the query {query:?} was refused: {}", refused.message)));
                }
                Err(_) => {}
            }
        }
        if let (Some(word), Some(id)) = (&text.word, id) {
            let found = find(&mut shelf, word, MAX_FOUND, json!({}))?;
            ensure(found.iter().any(|hit| hit.id == id), || {
                format!("`{word}` does not find {:?}", text.text)
            })?;
        }
    }
    Ok(())
}
