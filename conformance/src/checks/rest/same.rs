//! `rest/same-answers`: a call has the same outcome over REST as over MCP.

use tabellion_runtime::spec::RestOperation;

use super::{
    alike::Ids,
    faces::{Face, Faces, endpoint},
    outcome::Outcome,
    program::{self, Memory, Program, Ran},
};
use crate::checks::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "rest/same-answers",
    guarantees: &["rest-is-mcp"],
    states: "A call over REST has the result, the refusal and the changes that it has over MCP.",
    explains: "Makes the same calls over MCP and over REST, each on a library of its own with equal documents: the contract's examples as a \
               caller of each role, those that break clauses, and changes with `tabellion/ifBase` and `If-Match`. But for ids, times and \
               sizes, results, errors and violations must be equal, as must the commits of each call and the documents in the end. On one \
               library, a call with an idempotency key is repeated over the other: it must have the same answer, and change nothing. The \
               lists of tools must agree.",
    cases,
    ..Check::must(judge)
};

/// The subject of a comparison.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Attempt {
    /// The lists of tools.
    Tools {
        role: Option<String>,
    },
    Calls(Program),
    /// A call that is repeated over the other face: the last of a program.
    Repeated {
        program: Program,
        first: Face,
    },
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    endpoint(bench, RestOperation::ToolExecute)?;
    let role = program::writer(bench).map(|role| role.name.to_owned());
    let mut cases = Vec::new();
    if endpoint(bench, RestOperation::ToolList).is_ok() {
        cases.push(Case::new("the tools", Attempt::Tools { role: role.clone() }));
    }
    for (name, program) in program::all(bench) {
        cases.push(Case::new(name, Attempt::Calls(program)));
    }
    for (tool, mut steps) in program::prefixes(bench) {
        // A repeated call would be its own preparation: it needs another than itself, or none.
        let Some(last) = program::example(tool) else {
            continue;
        };
        steps.retain(|step| !step.is_of(tool));
        steps.push(last);
        for first in Face::ALL {
            let program = Program { role: role.clone(), documents: Default::default(), steps: steps.clone() };
            let name =
                format!("`{}` over {}, and again over {}", tool.label(), first.name(), first.other().name());
            cases.push(Case::new(name, Attempt::Repeated { program, first }));
        }
    }
    Ok(cases)
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    match case.read()? {
        Attempt::Tools { role } => tools(bench, role.as_deref()),
        Attempt::Calls(program) => calls(bench, &program),
        Attempt::Repeated { program, first } => repeated(bench, &program, first),
    }
}

fn tools(bench: &Bench<'_>, role: Option<&str>) -> Judgement {
    let endpoint = endpoint(bench, RestOperation::ToolList)?;
    let mut faces = Faces::open(bench, role, [])?;
    let answer = faces.get(endpoint)?;
    ensure(answer.status == 200, || format!("the list of tools was answered with {}", answer.shown()))?;
    answer.ensure_json()?;
    let schema = |tool: &Value, over_mcp: &str, over_rest: &str| {
        let schema = tool.get(over_mcp).or_else(|| tool.get(over_rest));
        schema.cloned().unwrap_or_default()
    };
    let plain = |tools: &[Value]| -> Vec<Value> {
        let plain = tools.iter().map(|tool| {
            json!({
                "name": tool["name"],
                "description": tool["description"],
                "input": schema(tool, "inputSchema", "input_schema"),
                "output": schema(tool, "outputSchema", "output_schema"),
            })
        });
        plain.collect()
    };
    let over_mcp = plain(&faces.tools()?);
    let over_rest = plain(answer.body["tools"].as_array().map_or(&[], Vec::as_slice));
    ensure(over_mcp == over_rest, || {
        format!("over REST, the tools are {}, and over MCP {}", Value::from(over_rest), Value::from(over_mcp))
    })?;
    faces.close()
}

/// Makes the calls of a program over one face; returns their outcomes, and the documents in the end.
fn made(bench: &Bench<'_>, program: &Program, face: Face) -> Result<(Vec<Ran>, Vec<String>), Stop> {
    let mut faces = Faces::open(bench, program.role.as_deref(), &program.documents)?;
    let mut memory = Memory::default();
    let mut ran = Vec::new();
    for step in &program.steps {
        ran.push(program::run(&mut faces, face, step, &mut memory, None)?);
    }
    let documents = faces.scene.files()?;
    let documents = documents.values().map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned());
    let documents = documents.collect();
    faces.close()?;
    Ok((ran, documents))
}

/// Returns an outcome as JSON, without the values that differ between two runs.
fn plain(ids: &mut Ids, outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Done(done) => json!({
            "result": ids.value(&done.result),
            "gates": ids.value(&done.gates),
            "says a commit": done.commit.is_some(),
            "says a base": done.base.is_some(),
            "says an execution": done.execution.is_some(),
        }),
        Outcome::Refused(refused) => json!({
            "error": refused.name,
            "message": ids.text(&refused.message),
            "details": ids.value(&refused.details.clone().into()),
            "violations": ids.value(&refused.violations),
        }),
    }
}

fn calls(bench: &Bench<'_>, program: &Program) -> Judgement {
    let (over_mcp, mcp_documents) = made(bench, program, Face::Mcp)?;
    let (over_rest, rest_documents) = made(bench, program, Face::Rest)?;
    let [mut mcp_ids, mut rest_ids] = [Ids::default(), Ids::default()];
    for (mcp, rest) in over_mcp.iter().zip(&over_rest) {
        let expected = plain(&mut mcp_ids, &mcp.outcome);
        let found = plain(&mut rest_ids, &rest.outcome);
        ensure(expected == found, || {
            let (expected, found) = differing(&expected, &found);
            format!("{} over REST came to {found}, and over MCP to {expected}", rest.what)
        })?;
        ensure(mcp.changes == rest.changes && rest.changes <= 1, || {
            format!(
                "{} was recorded as {} changes over REST, and as {} over MCP",
                rest.what, rest.changes, mcp.changes
            )
        })?;
        if let Outcome::Done(done) = &rest.outcome {
            let is_last = done.commit.is_none() || rest.changes == 0 || done.commit == rest.head;
            ensure(is_last, || {
                format!(
                    "{} over REST says the commit {:?}, but it made {:?}",
                    rest.what, done.commit, rest.head
                )
            })?;
        }
    }
    let sorted = |mut ids: Ids, documents: &[String]| {
        let mut plain: Vec<_> = documents.iter().map(|text| ids.text(text)).collect();
        plain.sort();
        plain
    };
    // Numbers of ids depend on the order of the files, which ids can decide.
    let (mcp, rest) = (sorted(Ids::all_alike(), &mcp_documents), sorted(Ids::all_alike(), &rest_documents));
    ensure(mcp == rest, || {
        let other = rest.iter().find(|text| !mcp.contains(text));
        let other = other.or_else(|| mcp.iter().find(|text| !rest.contains(text)));
        format!(
            "after the same calls, the documents are not the same: one library alone has {:?}",
            other.map_or("one more", String::as_str)
        )
    })
}

/// Returns the members of two outcomes that differ.
fn differing(expected: &Value, found: &Value) -> (Value, Value) {
    let of = |one: &Value, other: &Value| -> Value {
        let members = one.as_object().into_iter().flatten();
        let differ = members.filter(|(name, value)| other.get(*name) != Some(value));
        let differ: Map<_, _> = differ.map(|(name, value)| (name.clone(), value.clone())).collect();
        differ.into()
    };
    (of(expected, found), of(found, expected))
}

fn repeated(bench: &Bench<'_>, program: &Program, first: Face) -> Judgement {
    let mut faces = Faces::open(bench, program.role.as_deref(), &program.documents)?;
    let Some((step, before)) = program.steps.split_last() else {
        return Ok(());
    };
    let mut memory = Memory::default();
    for step in before {
        program::run(&mut faces, first, step, &mut memory, None)?;
    }
    let key = Some("said-once");
    let mut again = memory.clone();
    let made = program::run(&mut faces, first, step, &mut memory, key)?;
    let Outcome::Done(done) = &made.outcome else {
        let Outcome::Refused(why) = made.outcome else {
            return Ok(());
        };
        let refusal = Refusal { code: None, message: why.message };
        return Err(refused(made.what, &refusal));
    };
    let view = faces.scene.view()?;
    let second = program::run(&mut faces, first.other(), step, &mut again, key)?;
    let over = first.other().name();
    view.same(
        &faces.scene.view()?,
        &format!("a call that was repeated over {over} with its idempotency key"),
    )?;
    let is_same = match &second.outcome {
        Outcome::Done(other) => other.result == done.result && other.commit == done.commit,
        Outcome::Refused(_) => false,
    };
    ensure(is_same, || {
        format!(
            "{} was repeated over {over} with its idempotency key, and came to {:?} instead of {:?}",
            made.what, second.outcome, made.outcome
        )
    })?;
    faces.close()
}
