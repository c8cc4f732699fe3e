//! What a tool says that its calls do must be possible, and at most one effect may hold for a request.
//!
//! Which pointers each kind needs is said in `meta/tool.schema.json`; here is where they lead.

use std::collections::BTreeMap;

use tabellion_runtime::{EffectKind, schema::compile};

use super::pointers::leads_to;
use crate::{
    contract::{Contract, Effect, Side, Tool, When},
    problem::Problem,
    views,
};

/// Checks the effects of one tool.
pub(super) fn tool(contract: &Contract, tool: &Tool, problems: &mut Vec<Problem>) {
    let effects = &tool.spec.effects;
    if !effects.is_empty() && tool.spec.path.is_none() && !contract.spec.document {
        problems.push(tool.document.problem(
            "/effects",
            "nothing says which document the effects are about",
            "add `\"path\"`, a JSON pointer to the document's path in the request",
        ));
    }
    for (i, effect) in effects.iter().enumerate() {
        let at = format!("/effects/{i}");
        kind(tool, effect, &at, problems);
        texts(tool, effect, &at, problems);
        if let Some(when) = &effect.when {
            self::when(tool, when, &at, problems);
        }
    }
    told_apart(tool, problems);
}

fn kind(tool: &Tool, effect: &Effect, at: &str, problems: &mut Vec<Problem>) {
    let reads = effect.kind.reads();
    if reads != tool.spec.mutating {
        return;
    }
    let word = effect.kind;
    let message = if reads {
        format!("`{word}` is no effect of a tool that makes a commit")
    } else {
        format!("`{word}` is no effect of a tool that changes nothing")
    };
    problems.push(tool.document.problem(
        format!("{at}/effect"),
        message,
        "correct the effect, or the tool's `mutating`",
    ));
}

fn texts(tool: &Tool, effect: &Effect, at: &str, problems: &mut Vec<Problem>) {
    let side = if effect.kind.reads() {
        Side::Output
    } else {
        Side::Input
    };
    if let Some(content) = &effect.content {
        let at = format!("{at}/content");
        let kind = if effect.kind == EffectKind::AppendLine {
            "object"
        } else {
            "string"
        };
        let found = leads_to(tool.schema(side), content, kind, &tool.document, &at, problems);
        if side == Side::Output && found.is_some_and(|found| !found.always_there) {
            problems.push(tool.document.problem(
                at,
                format!("a response may lack `{content}`"),
                "make the property required, all the way down to it",
            ));
        }
    }
    for (key, pointer, kind) in [
        ("target", &effect.target, "string"),
        ("section", &effect.section, "string"),
        ("position", &effect.position, "integer"),
    ] {
        if let Some(pointer) = pointer {
            let (input, at) = (tool.schema(Side::Input), format!("{at}/{key}"));
            leads_to(input, pointer, kind, &tool.document, &at, problems);
        }
    }
}

fn when(tool: &Tool, when: &When, at: &str, problems: &mut Vec<Problem>) {
    let input = tool.schema(Side::Input);
    let at_at = format!("{at}/when/at");
    let Some(found) = leads_to(input, &when.at, "string", &tool.document, &at_at, problems) else {
        return;
    };
    let possible = compile(&views::enforced(found.schema))
        .map_or(true, |validator| validator.is_valid(&when.is.as_str().into()));
    if !possible {
        problems.push(tool.document.problem(
            format!("{at}/when/is"),
            format!("`{}` is never `{}`", when.at, when.is),
            "name a value that the schema has there",
        ));
    }
}

/// Beside others, an effect has its own value at a place that all of them have.
fn told_apart(tool: &Tool, problems: &mut Vec<Problem>) {
    let effects = &tool.spec.effects;
    if effects.len() < 2 {
        return;
    }
    let place = effects.iter().find_map(|effect| effect.when.as_ref());
    let mut values = BTreeMap::new();
    for (i, effect) in effects.iter().enumerate() {
        let (at, message) = match (&effect.when, place) {
            (Some(when), Some(place)) if when.at != place.at => (
                format!("/effects/{i}/when/at"),
                format!("another effect of the tool looks at `{}`", place.at),
            ),
            (Some(when), _) => match values.insert(&when.is, i) {
                None => continue,
                Some(first) => (
                    format!("/effects/{i}/when/is"),
                    format!("`{}` is the value of `/effects/{first}` too", when.is),
                ),
            },
            (None, _) => (
                format!("/effects/{i}"),
                "this effect holds for every request, and others with it".into(),
            ),
        };
        let help = "tell effects apart by `when`: the same `at`, each with a value of its own";
        problems.push(tool.document.problem(at, message, help));
    }
}
