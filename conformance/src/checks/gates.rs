//! Gates: each clause refuses calls that break it, all violations are reported at once, and the data stay unchanged.
//!
//! Calls are made of the contract's examples. Which clauses a call violates follows from their schemas, applied to the facts that the
//! suite knows: the request, with its defaults filled in, and the role of its client.

use std::collections::BTreeMap;

use tabellion_runtime::{
    gates::{self, fill_defaults},
    spec::{ClauseSpec, GateExample, GateSpec, GateTime, RoleSpec},
};

use crate::{
    callers::{self, Told},
    checks::prelude::*,
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "gates/each-clause",
        guarantees: &["gates-before-execution"],
        states: "A call that breaks a clause is refused with that clause, and a call that satisfies it is not.",
        explains: "Makes the call of each example of each clause, as a caller of the example's role, among the example's documents. The \
                   refusal must name exactly the clauses that the facts break, each with the contract's principle, issue, severity and \
                   advice. A clause that asks for a review refuses nothing, and the answer says that a review is required.",
        cases: |bench| cases_of(bench, |_| true),
        ..Check::must(each)
    },
    Check {
        id: "gates/all-said",
        guarantees: &["gates-before-execution"],
        states: "A call that breaks several clauses is refused with all of them.",
        explains: "Puts the requests of breaking examples of one operation together, and makes those calls that break the most clauses.",
        cases: all_cases,
        ..Check::must(said)
    },
    Check {
        id: "gates/pure",
        guarantees: &["gates-before-execution"],
        states: "The same facts always have the same outcome.",
        explains: "Makes the call of each example three times in one session and once more in another, with the members of the request in \
                   another order, and other documents in the library; the violations must be the same each time.",
        cases: |bench| cases_of(bench, |attempt| attempt.documents.is_empty()),
        ..Check::must(pure)
    },
    Check {
        id: "gates/nothing-written",
        guarantees: &["violations-write-nothing"],
        states: "A call with violations changes nothing.",
        explains: "Makes the call of each breaking example of a clause that refuses, and compares the library, its history and the rows \
                   before and after, byte for byte.",
        cases: |bench| cases_of(bench, |attempt| !attempt.violated.is_empty()),
        ..Check::must(written)
    },
];

/// Documents of libraries for examples without any.
const DOCUMENTS: &[(&str, &str)] = &[("page.md", "# Page\n\nText.\n")];

/// A call whose violations are known.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Attempt {
    pub(super) operation: String,
    pub(super) request: Value,
    pub(super) role: Option<String>,
    pub(super) documents: BTreeMap<String, String>,
    /// Ids of the clauses that the call violates, sorted.
    pub(super) violated: Vec<String>,
    /// True if a clause asks for a review.
    asks_review: bool,
}

/// A clause with its gate and an example.
#[derive(Clone, Copy)]
struct Shown {
    gate: &'static GateSpec,
    clause: &'static ClauseSpec,
    example: &'static GateExample,
}

fn shown(bench: &Bench<'_>) -> Result<impl Iterator<Item = Shown>, Stop> {
    let gates = bench.subject.contract.gates;
    if gates.is_empty() {
        return Err(not_applicable("the contract has no gates"));
    }
    Ok(gates.iter().flat_map(|gate| {
        gate.clauses.iter().flat_map(move |clause| {
            clause.examples.iter().map(move |example| Shown { gate, clause, example })
        })
    }))
}

/// Returns the role of the suite's client that is most like a caller in an example: of its kind, with its roles and the fewest others.
/// `None` if the contract has no roles; an error if it has none like that.
fn role_like(bench: &Bench<'_>, caller: &Value) -> Result<Option<&'static RoleSpec>, ()> {
    let Some(auth) = bench.subject.contract.auth else {
        return Ok(None);
    };
    let wanted = caller["roles"].as_array().into_iter().flatten();
    let wanted: Vec<_> = wanted.filter_map(Value::as_str).collect();
    let kind = caller["kind"].as_str();
    let fitting = auth.roles.iter().filter(|role| {
        let like = callers::caller(auth, role);
        let is_of_kind = kind.is_none_or(|kind| role.kind.to_string() == kind);
        is_of_kind && wanted.iter().all(|role| like.roles.contains(role))
    });
    let best = fitting.min_by_key(|role| callers::caller(auth, role).roles.len());
    best.map(Some).ok_or(())
}

/// Returns the clauses before the method that a call violates, and whether one asks for a review.
fn judged(
    bench: &Bench<'_>,
    tool: &ToolSpec,
    role: Option<&RoleSpec>,
    request: &Value,
) -> (Vec<String>, bool) {
    let caller = match (bench.subject.contract.auth, role) {
        (Some(auth), Some(role)) => callers::caller(auth, role).to_facts(),
        _ => json!({ "roles": [] }),
    };
    let mut request = request.clone();
    fill_defaults(&tool.input.wire(), &mut request);
    let names = gates::names(&request);
    let facts = json!({ "tool": tool.label(), "request": request, "names": names, "caller": caller });
    let clauses = tool.gates.iter().flat_map(|gate| gate.clauses);
    let broken = clauses
        .filter(|clause| clause.applies(tool.label(), GateTime::Before))
        .filter(|clause| clause.schema.check(&facts).is_err());
    let (asking, refusing): (Vec<_>, Vec<_>) = broken.partition(|clause| clause.asks.is_some());
    let mut ids: Vec<_> = refusing.iter().map(|clause| clause.id.to_owned()).collect();
    ids.sort();
    (ids, !asking.is_empty())
}

/// Returns the call of an example; `None` if the suite can't be its caller, or can't predict its outcome.
fn attempt(bench: &Bench<'_>, shown: Shown) -> Option<Attempt> {
    let Shown { clause, example, .. } = shown;
    let facts = example.json.value();
    let label = facts["tool"].as_str()?;
    let tool = bench.subject.contract.operation(label)?;
    let role = role_like(bench, &facts["caller"]).ok()?;
    let (mut violated, asks_review) = judged(bench, tool, role, &facts["request"]);
    if clause.at == GateTime::After {
        example.documents?;
        if violated.is_empty() && example.breaks {
            violated.push(clause.id.to_owned());
        }
    }
    let documents = example.documents.map(|documents| documents.value());
    let documents = documents.and_then(|documents| serde_json::from_value(documents).ok());
    Some(Attempt {
        operation: label.to_owned(),
        request: facts["request"].clone(),
        role: role.map(|role| role.name.to_owned()),
        documents: documents.unwrap_or_default(),
        violated,
        asks_review,
    })
}

/// Returns the calls of the examples that break a clause, by name; none if the contract has no gates.
pub(super) fn breaking(bench: &Bench<'_>) -> Vec<(String, Attempt)> {
    let shown = shown(bench).into_iter().flatten();
    let breaking = shown.filter(|shown| shown.example.breaks).filter_map(|shown| {
        let name = format!("{}/{}: {}", shown.gate.name, shown.clause.id, shown.example.name);
        Some((name, attempt(bench, shown)?))
    });
    breaking.collect()
}

fn cases_of(bench: &Bench<'_>, has: fn(&Attempt) -> bool) -> Result<Vec<Case>, Stop> {
    let all = shown(bench)?.filter_map(|shown| {
        let attempt = attempt(bench, shown).filter(has)?;
        let name = format!("{}/{}: {}", shown.gate.name, shown.clause.id, shown.example.name);
        Some(Case::new(name, &attempt))
    });
    Ok(all.collect())
}

/// Puts breaking examples of each operation together, in any role of theirs, and keeps the calls that violate the most.
fn all_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let breaking: Vec<_> = shown(bench)?
        .filter(|shown| shown.example.breaks && shown.clause.at == GateTime::Before)
        .filter_map(|shown| attempt(bench, shown))
        .collect();
    let mut most: BTreeMap<(String, Vec<String>), Attempt> = BTreeMap::new();
    for operation in bench.subject.operations().filter(|tool| !tool.gates.is_empty()) {
        for (one, other) in breaking.iter().flat_map(|one| breaking.iter().map(move |other| (one, other))) {
            if one.operation != operation.label() {
                continue;
            }
            let mut request = one.request.clone();
            merge(&mut request, &other.request, operation);
            for role in [&one.role, &other.role] {
                let auth = bench.subject.contract.auth;
                let spec = auth.zip(role.as_deref()).and_then(|(auth, role)| auth.role(role));
                let (violated, asks_review) = judged(bench, operation, spec, &request);
                let may = spec.is_none_or(|spec| {
                    auth.is_some_and(|auth| {
                        let roles = callers::caller(auth, spec).roles;
                        roles.iter().any(|role| operation.roles.contains(role))
                    })
                });
                if violated.len() < 2 || !may || operation.input.check(&request).is_err() {
                    continue;
                }
                let key = (one.operation.clone(), violated.clone());
                most.entry(key).or_insert_with(|| Attempt {
                    request: request.clone(),
                    role: role.clone(),
                    documents: BTreeMap::new(),
                    violated,
                    asks_review,
                    operation: one.operation.clone(),
                });
            }
        }
    }
    if most.is_empty() {
        let why = "no two clauses of one operation can be broken at once by the contract's examples";
        return Err(not_applicable(why));
    }
    let name = |attempt: &Attempt| format!("`{}`: {}", attempt.operation, attempt.violated.join(", "));
    Ok(most.values().map(|attempt| Case::new(name(attempt), attempt)).collect())
}

/// Gives a request the members of a second request that the operation takes, but for its path.
fn merge(request: &mut Value, other: &Value, operation: &ToolSpec) {
    let wire = operation.input.wire();
    for (name, value) in other.as_object().into_iter().flatten() {
        let is_path = operation.path.is_some_and(|path| path == format!("/{name}"));
        if !is_path && wire["properties"].get(name).is_some() {
            request[name.as_str()] = value.clone();
        }
    }
}

/// A library with its documents, and the operation and role of an attempt.
struct Stage<'a> {
    scene: Scene<'a>,
    tool: &'static ToolSpec,
    role: Option<&'static RoleSpec>,
}

fn stage<'a>(bench: &Bench<'a>, attempt: &Attempt) -> Result<Stage<'a>, Stop> {
    let contract = bench.subject.contract;
    let tool = contract.operation(&attempt.operation);
    let tool = tool.ok_or_else(|| fail(format!("there is no operation `{}`", attempt.operation)))?;
    let role = contract.auth.zip(attempt.role.as_deref());
    let mut documents: Vec<(&str, &str)> = DOCUMENTS.to_vec();
    documents.extend(attempt.documents.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    Ok(Stage {
        scene: Scene::in_memory(bench.subject, &bench.trace, &documents)?,
        tool,
        role: role.and_then(|(auth, role)| auth.role(role)),
    })
}

fn make(bench: &Bench<'_>, attempt: &Attempt) -> Result<Told, Stop> {
    let Stage { scene, tool, role } = stage(bench, attempt)?;
    let mut client = callers::open(bench, &scene, role)?;
    let told = callers::call(bench, &mut client, tool, &attempt.request)?;
    client.close()?;
    Ok(told)
}

/// Fails unless an answer names exactly the violated clauses.
fn ensure_named(attempt: &Attempt, told: &Told) -> Judgement {
    let (expected, found) = (&attempt.violated, told.clauses());
    ensure(found == *expected, || {
        let list = |ids: &[String]| {
            if ids.is_empty() { "none".to_owned() } else { ids.join(", ") }
        };
        format!(
            "the violated clauses are {}, but the answer names {}: {}",
            list(expected),
            list(&found),
            told.text
        )
    })
}

fn each(bench: &Bench<'_>, case: &Case) -> Judgement {
    let attempt: Attempt = case.read()?;
    let told = make(bench, &attempt)?;
    ensure_named(&attempt, &told)?;
    for violation in &told.violations {
        let of = |clause: &&ClauseSpec| violation["clause"] == clause.id;
        let gates = bench.subject.contract.gates.iter();
        let found = gates.flat_map(|gate| gate.clauses.iter().filter(of).map(move |clause| (gate, clause)));
        for (gate, clause) in found {
            let expected = json!({
                "principle": gate.name,
                "issue": clause.issue,
                "severity": clause.severity,
                "actionable": clause.actionable,
                "clause": clause.id,
            });
            ensure(*violation == expected, || {
                format!("the violation is {violation}, and should be {expected}")
            })?;
        }
    }
    let says_otherwise = told.asks_review.is_some_and(|asks| asks != attempt.asks_review);
    ensure(!says_otherwise, || {
        format!("the answer should say that a review is required: {}; {}", attempt.asks_review, told.text)
    })
}

fn said(bench: &Bench<'_>, case: &Case) -> Judgement {
    let attempt: Attempt = case.read()?;
    ensure_named(&attempt, &make(bench, &attempt)?)
}

fn pure(bench: &Bench<'_>, case: &Case) -> Judgement {
    let attempt: Attempt = case.read()?;
    let Stage { scene, tool, role } = stage(bench, &attempt)?;
    let mut client = callers::open(bench, &scene, role)?;
    for _ in 0..3 {
        let told = callers::call(bench, &mut client, tool, &attempt.request)?;
        ensure_named(&attempt, &told)?;
    }
    client.close()?;
    scene.put("another.md", "# Another\n")?;
    scene.commit_all("another")?;
    let members: Map<_, _> = attempt.request.as_object().cloned().unwrap_or_default();
    let reversed: Map<_, _> = members.into_iter().rev().collect();
    let mut client = callers::open(bench, &scene, role)?;
    let told = callers::call(bench, &mut client, tool, &reversed.into())?;
    ensure_named(&attempt, &told)?;
    Ok(client.close()?)
}

fn written(bench: &Bench<'_>, case: &Case) -> Judgement {
    let attempt: Attempt = case.read()?;
    let Stage { scene, tool, role } = stage(bench, &attempt)?;
    let mut client = callers::open(bench, &scene, role)?;
    let before = scene.view()?;
    let told = callers::call(bench, &mut client, tool, &attempt.request)?;
    before.same(&scene.view()?, "a call with violations")?;
    ensure(told.is_refused, || format!("the call was not refused: {}", told.text))?;
    Ok(client.close()?)
}
