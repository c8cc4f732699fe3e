//! `rest/openapi`: the description is complete and contains nothing else.

use std::collections::BTreeSet;

use tabellion_runtime::spec::RestOperation;

use super::{
    bad::Bad,
    description::{Description, expanded},
    faces::{Faces, endpoint, method},
    program::{self, Memory, Program, writer},
};
use crate::checks::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "rest/openapi",
    guarantees: &["rest-is-mcp"],
    states: "The description is OpenAPI 3.1, names the tools with their schemas, and describes every answer.",
    explains: "Clients are generated from the description. It is fetched without credentials, and must have what OpenAPI 3.1 requires, \
               references that lead somewhere and schemas that are schemas. At the endpoint that calls tools, it must have one path for each \
               tool of `tools/list` and no other; what goes in must be the tool's input schema, with or without the rules of the contract, and \
               what comes out its output schema. The answers to the requests of the other checks of this family, successes and refusals, \
               must be described with their status, and be valid against their schema.",
    cases,
    ..Check::must(judge)
};

/// The subject of a case.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Look {
    /// The description itself, and the tools in it.
    Tools,
    /// The answers to the requests without a body.
    Lists,
    /// The answers to the calls of a program.
    Calls(Program),
    /// The answer to a request that must be refused.
    Refusal(Bad),
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    endpoint(bench, RestOperation::OpenApi)?;
    let mut cases = vec![Case::new("the tools", Look::Tools), Case::new("the lists", Look::Lists)];
    if bench.subject.contract.endpoint(RestOperation::ToolExecute).is_some() {
        let programs = program::all(bench).into_iter();
        cases.extend(programs.map(|(name, program)| Case::new(name, Look::Calls(program))));
    }
    let bad = Bad::cases(bench).into_iter();
    // The description has the paths of tools that exist.
    let bad = bad.filter(|(_, bad)| !matches!(bad, Bad::UnknownTool(_)));
    cases.extend(bad.map(|(name, bad)| Case::new(format!("refused: {name}"), Look::Refusal(bad))));
    Ok(cases)
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    match case.read()? {
        Look::Tools => tools(bench),
        Look::Lists => lists(bench),
        Look::Calls(program) => calls(bench, &program),
        Look::Refusal(bad) => refusal(bench, &bad),
    }
}

/// Fetches the description, without credentials.
fn description(faces: &Faces<'_, '_>) -> Result<Description, Stop> {
    let endpoint = endpoint(faces.bench, RestOperation::OpenApi)?;
    let request = faces.anonymous(faces.request(method(endpoint), None));
    Description::read(&faces.send(endpoint.path, &request)?)
}

/// Starts a server for the caller whose role permits the most operations.
fn open<'b, 'a>(bench: &'b Bench<'a>) -> Result<Faces<'b, 'a>, Stop> {
    Faces::open(bench, writer(bench).map(|role| role.name), [])
}

fn tools(bench: &Bench<'_>) -> Judgement {
    let mut faces = open(bench)?;
    let description = description(&faces)?;
    for endpoint in bench.subject.contract.rest {
        let is_tested = matches!(endpoint.is, RestOperation::ToolList | RestOperation::OpenApi);
        let operation = description.operation(endpoint.path, method(endpoint));
        ensure(!is_tested || operation.is_some(), || {
            format!("the description lacks `{} {}`", method(endpoint), endpoint.path)
        })?;
    }
    let Ok(execute) = endpoint(bench, RestOperation::ToolExecute) else {
        return faces.close();
    };
    let listed = faces.tools()?;
    let names = listed.iter().filter_map(|tool| tool["name"].as_str());
    let names: BTreeSet<_> = names.collect();
    let paths = description.paths();
    let described: BTreeSet<_> =
        paths.filter_map(|(path, _)| execute.variables_of(path)?.first().copied()).collect();
    ensure(names == described, || {
        format!("`tools/list` has the tools {names:?}, and the description {described:?}")
    })?;
    for tool in &listed {
        let name = tool["name"].as_str().unwrap_or_default();
        let path = execute.path_with(&[name]);
        let operation = description.operation(&path, method(execute));
        let operation =
            operation.ok_or_else(|| fail(format!("the description lacks `{} {path}`", method(execute))))?;
        let whole = |schema: &Value| expanded(schema, schema);
        let input = whole(&tool["inputSchema"]);
        let with_rules = bench.subject.contract.tool(name);
        let with_rules = with_rules.map(|tool| tool.input.enforced());
        let described = description.request_schema(operation).unwrap_or_default();
        ensure(described == input || Some(&described) == with_rules.as_ref().map(whole).as_ref(), || {
            format!("`{name}` takes {input}, but the description says {described}")
        })?;
        let output = whole(&tool["outputSchema"]);
        let described = description.result_schema(operation).unwrap_or_default();
        ensure(described == output, || {
            format!("`{name}` answers {output}, but the description says {described}")
        })?;
    }
    faces.close()
}

fn lists(bench: &Bench<'_>) -> Judgement {
    let faces = open(bench)?;
    let description = description(&faces)?;
    for is in [RestOperation::ToolList, RestOperation::OpenApi] {
        let Ok(endpoint) = endpoint(bench, is) else {
            continue;
        };
        let answer = faces.get(endpoint)?;
        description.ensure_describes(endpoint.path, method(endpoint), &answer)?;
    }
    faces.close()
}

fn calls(bench: &Bench<'_>, program: &Program) -> Judgement {
    let execute = endpoint(bench, RestOperation::ToolExecute)?;
    let faces = Faces::open(bench, program.role.as_deref(), &program.documents)?;
    let description = description(&faces)?;
    let mut memory = Memory::default();
    for step in &program.steps {
        let tool = step.tool(bench)?;
        let answer = step.send(&faces, &mut memory)?;
        let path = execute.path_with(&[tool.name]);
        description.ensure_describes(&path, method(execute), &answer)?;
    }
    faces.close()
}

fn refusal(bench: &Bench<'_>, bad: &Bad) -> Judgement {
    let mut faces = Faces::open(bench, bad.role(bench).as_deref(), &bad.documents())?;
    let description = description(&faces)?;
    bad.prepare(&mut faces)?;
    let sent = bad.send(&faces)?;
    description.ensure_describes(&sent.path, sent.method, &sent.answer)?;
    faces.close()
}
