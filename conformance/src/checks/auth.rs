//! Callers: a contract with roles rejects unknown callers, and permits each caller only the operations of its roles.

use tabellion_runtime::spec::{AuthSpec, ScopeWord};

use crate::{callers, checks::prelude::*};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "auth/unknown",
        guarantees: &["auth-required"],
        states: "Without credentials, or with a role that the contract does not have, no call is made.",
        explains: "Over HTTP, calls each operation with its first example and without a header that says who calls. Over standard input and \
                   output, starts the server with a role that does not exist; it may refuse to start. What is called must be refused, and \
                   must change nothing.",
        cases: unknown_cases,
        ..Check::must(unknown)
    },
    Check {
        id: "auth/roles",
        guarantees: &["auth-required"],
        states: "A call is refused because of the caller's role exactly if the operation is not for a role of the caller.",
        explains: "Calls each operation with its first example as a caller of each role, who has no more than the role takes. A refusal \
                   must give the reason `role`, and what is needed, and must change nothing. What is allowed may be refused for something \
                   else.",
        cases: roles_cases,
        ..Check::must(roles)
    },
];

/// A role that no contract has.
const NO_ROLE: &str = "no-such-role";
/// Documents of each library.
const DOCUMENTS: &[(&str, &str)] = &[("page.md", "# Page\n\nText.\n")];

/// A call of an operation, by its label, as a caller of a role.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Attempt {
    operation: String,
    role: String,
}

fn auth(bench: &Bench<'_>) -> Result<&'static AuthSpec, Stop> {
    let auth = bench.subject.contract.auth;
    auth.ok_or_else(|| not_applicable("the contract has no roles"))
}

fn unknown_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    auth(bench)?;
    let launch = &bench.subject.launch;
    if !launch.is_http() && launch.role_argument(NO_ROLE).is_none() {
        let why = "over standard input and output, the person who starts the server is known";
        return Err(not_applicable(why));
    }
    let all = bench.subject.operations().filter(|tool| !tool.roles.is_empty());
    Ok(all.map(|tool| Case::new(tool.label(), tool.label())).collect())
}

fn unknown(bench: &Bench<'_>, case: &Case) -> Judgement {
    let label: String = case.read()?;
    let (tool, arguments) = bench.example(&label)?;
    let launch = &bench.subject.launch;
    let scene = Scene::in_memory(bench.subject, &bench.trace, DOCUMENTS)?;
    let before = scene.view()?;
    let target = match launch.role_argument(NO_ROLE).filter(|_| !launch.is_http()) {
        Some(argument) => scene.connect_by(|command| {
            command.arg(argument);
        }),
        None => scene.connect(),
    };
    // A server that does not start, or does not answer, lets no one in.
    let Ok(target) = target else { return Ok(()) };
    target.set_headers(Vec::new());
    let client = crate::client::Client::open(bench.subject, target, scene.library());
    if let Ok(mut client) = client
        && let Ok(told) = callers::call(bench, &mut client, tool, &arguments)
    {
        ensure(told.is_refused, || format!("`{label}` was called by no one who is known: {}", told.text))?;
    }
    before.same(&scene.view()?, "a call of no one who is known")
}

fn roles_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let auth = auth(bench)?;
    let all = bench.subject.operations().filter(|tool| !tool.roles.is_empty());
    let cases = all.flat_map(|tool| {
        auth.roles.iter().map(|role| {
            let attempt = Attempt { operation: tool.label().into(), role: role.name.into() };
            Case::new(format!("`{}` as {}", tool.label(), role.name), &attempt)
        })
    });
    Ok(cases.collect())
}

fn roles(bench: &Bench<'_>, case: &Case) -> Judgement {
    let Attempt { operation, role } = case.read()?;
    let auth = auth(bench)?;
    let role = auth.role(&role).ok_or_else(|| fail("no such role"))?;
    let (tool, arguments) = bench.example(&operation)?;
    let caller = callers::caller(auth, role);
    let scene = Scene::in_memory(bench.subject, &bench.trace, DOCUMENTS)?;
    let mut client = callers::open(bench, &scene, Some(role))?;
    let before = scene.view()?;
    let told = callers::call(bench, &mut client, tool, &arguments)?;
    let is_for = caller.roles.iter().any(|role| tool.roles.contains(role));
    let needed = if tool.mutating { ScopeWord::Write } else { ScopeWord::Read };
    let may = caller.scopes.iter().any(|scope| scope.includes(needed));
    if is_for {
        let is_of_caller = told.reason.as_deref().is_some_and(|reason| reason != "scope" || may);
        ensure(!is_of_caller, || {
            format!("`{operation}` is for {}, but was refused: {}", role.name, told.text)
        })?;
    } else {
        ensure(told.is_refused, || {
            format!("`{operation}` is not for {}, but was called: {}", role.name, told.text)
        })?;
        ensure(told.reason.as_deref() == Some("role"), || {
            format!("the refusal does not give the reason `role`: {}", told.text)
        })?;
        before.same(&scene.view()?, "a call that its caller may not make")?;
    }
    Ok(client.close()?)
}
