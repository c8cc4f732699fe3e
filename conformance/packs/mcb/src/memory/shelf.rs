//! The model: the stored notes, by the rules of the contract's specification, in the order of arrival.

use std::{thread, time::Duration};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::{
    ask::{Memory, said},
    note::{Filters, Note, Resource},
    program::{Step, Store},
};
use tabellion_conformance::{checks::prelude::*, rows::client::now};

/// Tolerance of clocks, in seconds.
const CLOCK_TOLERANCE: i64 = 2;
/// Length of a pause; notes stored before and after it differ in time.
const PAUSE: Duration = Duration::from_millis(1_100);
/// More than any program stores.
const ALL: i64 = 1_000;

/// The notes of a memory, oldest first.
#[derive(Debug, Default)]
pub(super) struct Shelf(pub(super) Vec<Note>);

/// Runs a program; returns the server and the model of its content.
pub(super) fn play<'b, 'a>(bench: &'b Bench<'a>, steps: &[Step]) -> Result<(Memory<'b, 'a>, Shelf), Stop> {
    let mut memory = Memory::start(bench)?;
    let mut shelf = Shelf::default();
    for step in steps {
        match step {
            Step::Pause => thread::sleep(PAUSE),
            Step::Restart => memory = memory.restarted()?,
            Step::Store(store) => shelf.store(&mut memory, store)?,
        }
    }
    shelf.learn(&mut memory)?;
    Ok((memory, shelf))
}

impl Shelf {
    /// Returns the notes of a resource, oldest first.
    pub(super) fn notes(&self, resource: Resource) -> impl DoubleEndedIterator<Item = &Note> + Clone {
        self.0.iter().filter(move |note| resource.has(note.resource))
    }

    /// Returns the notes of a resource that pass the filters, newest first.
    pub(super) fn newest(&self, resource: Resource, asked: &Filters) -> Vec<&Note> {
        let mut all: Vec<_> = self.notes(resource).filter(|note| asked.passes(note)).collect();
        all.sort_by_key(|note| std::cmp::Reverse(note.at));
        all
    }

    /// Stores a note, and judges the answer.
    pub(super) fn store(&mut self, memory: &mut Memory<'_, '_>, store: &Store) -> Judgement {
        let mut store = store.clone();
        let note = self.note(&store);
        let refers = store.data.get("execution_id").cloned();
        if store.resource == Resource::QualityGate
            && let Some(run) = refers
        {
            let is_there =
                |other: &Note| other.project == note.project && other.run.as_deref() == run.as_str();
            if !self.0.iter().any(is_there) {
                store.data.shift_remove("execution_id");
            }
        }
        let mut note = self.note(&store);
        let mut arguments = store.place.clone();
        arguments.insert("data".into(), store.data.clone().into());
        let arguments = Value::Object(arguments);
        let is = ["store", store.resource.word()];
        let answer = memory.must(store.by, &is, &arguments)?;
        let what = said(&is, &arguments);
        let text = |name: &str| match answer[name].as_str() {
            Some(id) if !id.is_empty() => Ok(id.to_owned()),
            _ => Err(fail(format!("{what} was answered without `{name}`: {answer}"))),
        };
        let (_, id) = store.resource.answered();
        note.id =
            text(if id == "id" && store.resource == Resource::Observation { "observation_id" } else { id })?;
        if store.resource == Resource::Execution {
            let run = text("execution_id")?;
            let given = store.data.get("execution_id").and_then(Value::as_str);
            ensure(given.is_none_or(|given| given == run), || {
                format!("{what} was answered with another `execution_id`: {run}")
            })?;
            note.fields.insert("execution_id".into(), run.as_str().into());
            note.run = Some(run);
        }
        if store.resource == Resource::Session {
            ensure(answer["session_id"] == note.session.as_str(), || {
                format!("{what} was answered for another session: {answer}")
            })?;
        }
        let earlier = self.0.iter_mut().find(|other| is_same(other, &note));
        let is_again = earlier.is_some();
        if store.resource != Resource::Session {
            ensure(answer["deduplicated"] == is_again, || {
                let is = if is_again { "is there already" } else { "was not there" };
                format!("{what} was answered with {answer}, but it {is}")
            })?;
        }
        match earlier {
            Some(earlier) => {
                ensure(earlier.id == note.id, || {
                    format!("{what} is there as `{}`, and was answered as `{}`", earlier.id, note.id)
                })?;
                count(earlier, &note);
                if store.resource == Resource::ErrorPattern {
                    ensure(answer["occurrence_count"] == earlier.fields["occurrence_count"], || {
                        let count = &earlier.fields["occurrence_count"];
                        format!("{what} is number {count} of its kind, and was answered with {answer}")
                    })?;
                }
            }
            None => {
                let is_taken = self.0.iter().any(|other| other.id == note.id);
                ensure(!is_taken, || format!("{what} got the id of an earlier entry: {answer}"))?;
                note.fields.insert(id.into(), note.id.as_str().into());
                self.0.push(note);
            }
        }
        Ok(())
    }

    /// Returns the expected note.
    fn note(&self, store: &Store) -> Note {
        let Store { by, resource, data, place } = store;
        let of = |name: &str, else_: &str| {
            let given = place.get(name).or(data.get(name)).and_then(Value::as_str);
            given.unwrap_or(else_).to_owned()
        };
        let text = |name: &str| data.get(name).and_then(Value::as_str).map(str::to_owned);
        let word = |name: &str| text(name).unwrap_or_default();
        let lists = |name: &str| joined(&[], &texts(data.get(name)));
        let (mut fields, mut tags, content) = (
            Map::new(),
            lists("tags"),
            match resource {
                Resource::Observation => word("content"),
                Resource::Execution => {
                    let [code, success] = ["exit_code", "success"].map(|name| &data[name]);
                    format!("Execution: {} (exit_code={code}, success={success})", word("command"))
                }
                Resource::QualityGate => {
                    format!("Quality Gate: {} (status={})", word("gate_name"), word("status"))
                }
                Resource::ErrorPattern => format!("{}: {}", word("pattern_signature"), word("description")),
                Resource::Session => String::new(),
            },
        );
        let kept: &[&str] = match resource {
            Resource::Observation => &["content", "observation_type", "file_path", "branch", "commit"],
            Resource::Execution => &[
                "command",
                "exit_code",
                "duration_ms",
                "success",
                "execution_type",
                "coverage",
                "output_summary",
                "warnings_count",
                "errors_count",
            ],
            Resource::QualityGate => &["gate_name", "status", "message", "execution_id"],
            Resource::ErrorPattern => &["pattern_signature", "description"],
            Resource::Session => &["session_id"],
        };
        for name in kept {
            fields.insert((*name).to_owned(), data.get(*name).cloned().unwrap_or_default());
        }
        let session = of("session_id", by.session());
        match resource {
            Resource::Observation => {
                fields.insert("content_hash".into(), HEXLOWER.encode(&Sha256::digest(&content)).into());
                fields.insert("times_seen".into(), 1.into());
                fields.insert("session_id".into(), session.as_str().into());
                fields.insert("repo_id".into(), of("repo_id", by.repo()).into());
            }
            Resource::Execution => {
                let outcome = if data["success"] == true { "success" } else { "failure" };
                tags = vec!["execution".into(), word("execution_type"), outcome.into()];
                fields.insert("files_affected".into(), json!(texts(data.get("files_affected"))));
            }
            Resource::QualityGate => {
                tags = vec!["quality_gate".into(), word("status")];
                if let Some(time) = data.get("timestamp") {
                    fields.insert("timestamp".into(), time.clone());
                }
            }
            Resource::ErrorPattern => {
                let category = text("category").unwrap_or_else(|| "other".into());
                fields.insert("category".into(), category.into());
                for name in ["solutions", "affected_files"] {
                    fields.insert(name.into(), json!(lists(name)));
                }
                fields.insert("occurrence_count".into(), 1.into());
            }
            Resource::Session => {
                for name in ["topics", "decisions", "next_steps", "key_files"] {
                    fields.insert(name.into(), json!(texts(data.get(name))));
                }
            }
        }
        if matches!(resource, Resource::Observation | Resource::ErrorPattern) {
            fields.insert("tags".into(), json!(tags));
        }
        let observed = matches!(resource, Resource::Observation).then(|| word("observation_type"));
        Note {
            resource: *resource,
            id: String::new(),
            run: None,
            word: observed.unwrap_or_else(|| resource.word().to_owned()),
            content,
            tags,
            project: of("project_id", by.project()),
            repo: of("repo_id", by.repo()),
            session,
            file: text("file_path"),
            branch: text("branch"),
            fields,
            at: (0, 0),
        }
    }

    /// Learns times and numbers from lists of all, which must be in the order of arrival, newest first.
    pub(super) fn learn(&mut self, memory: &mut Memory<'_, '_>) -> Judgement {
        for resource in Resource::ALL {
            let answer = memory.read("list", resource, &json!({ "limit": ALL }))?;
            let listed = answer["results"].as_array().map(Vec::as_slice).unwrap_or_default();
            for entry in listed {
                let id = entry["id"].as_str().unwrap_or_default();
                let note = self.0.iter_mut().find(|note| note.id == id && resource.has(note.resource));
                let note = note.ok_or_else(|| {
                    fail(format!("a list of `{}` has what was never stored: {entry}", resource.word()))
                })?;
                let number = |name: &str| entry[name].as_i64().ok_or_else(|| missing(name, entry));
                note.at = (number("created_at")?, number("seq")?);
                let now = now();
                ensure((now - note.at.0) < ALL && note.at.0 <= now + CLOCK_TOLERANCE, || {
                    format!("`created_at` of what was just stored is another time than now: {entry}")
                })?;
            }
            let ids: Vec<_> = listed.iter().rev().filter_map(|entry| entry["id"].as_str()).collect();
            let expected: Vec<_> = self.notes(resource).map(|note| note.id.as_str()).collect();
            ensure(ids == expected, || {
                format!(
                    "a list of `{}` is not what was stored, newest first: its ids from the last to the first are {ids:?}, \
                     and what was stored is {expected:?}",
                    resource.word()
                )
            })?;
            let places: Vec<_> = self.notes(resource).map(|note| note.at).collect();
            ensure(places.is_sorted_by(|one, next| one < next), || {
                let word = resource.word();
                format!("`created_at` and `seq` of `{word}` do not grow in the order of arrival: {places:?}")
            })?;
        }
        Ok(())
    }
}

fn missing(name: &str, entry: &Value) -> Stop {
    fail(format!("an entry of a list has no number `{name}`: {entry}"))
}

/// Returns true if the second note repeats the first.
fn is_same(earlier: &Note, note: &Note) -> bool {
    let is_of = earlier.resource == note.resource && earlier.project == note.project;
    is_of
        && match note.resource {
            Resource::Observation => {
                let is_about =
                    |name: &str| note.fields[name].is_null() || note.fields[name] == earlier.fields[name];
                earlier.word == note.word
                    && earlier.content == note.content
                    && ["file_path", "branch", "commit"].into_iter().all(is_about)
            }
            Resource::ErrorPattern => earlier.fields["pattern_signature"] == note.fields["pattern_signature"],
            _ => false,
        }
}

/// Counts a repeated note.
fn count(earlier: &mut Note, note: &Note) {
    let fields = &mut earlier.fields;
    let counter = match note.resource {
        Resource::Observation => "times_seen",
        _ => "occurrence_count",
    };
    fields[counter] = json!(fields[counter].as_i64().unwrap_or_default() + 1);
    earlier.tags = joined(&earlier.tags, &note.tags);
    fields["tags"] = json!(earlier.tags);
    if note.resource == Resource::ErrorPattern {
        for name in ["solutions", "affected_files"] {
            fields[name] = json!(joined(&texts(fields.get(name)), &texts(note.fields.get(name))));
        }
        for name in ["description", "category"] {
            fields[name] = note.fields[name].clone();
        }
        earlier.content.clone_from(&note.content);
        (earlier.repo, earlier.session) = (note.repo.clone(), note.session.clone());
    }
}

pub(super) fn texts(list: Option<&Value>) -> Vec<String> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

/// Returns two lists as one, without duplicates, in the order of arrival.
fn joined(first: &[String], second: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for text in first.iter().chain(second) {
        if !all.contains(text) {
            all.push(text.clone());
        }
    }
    all
}
