//! `effects`: the effects of a tool's calls on a document. Conformance checks compare them with the document.
//!
//! `meta/tool.schema.json` declares the pointers of each kind of effect; the lints here check their targets.

use std::collections::BTreeMap;

use tabellion_runtime::{
    schema::compile,
    spec::{self, Effect, EffectKind, When},
};

use super::{Key, ToolOf};
use crate::{
    changes::Changes,
    contract::{Contract, Side, Tool},
    leak::list,
    lint::pointers::{always_leads_to, leads_to},
    problem::Problem,
    views,
};

pub(super) struct Effects;

impl Key for Effects {
    fn lint_with_schemas(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        for tool in contract.operations() {
            self::tool(contract, tool, problems);
        }
    }

    /// Compares effects: a request must keep its effect.
    fn compare_tool(&self, changes: &mut Changes<'_>, old: ToolOf<'_>, new: ToolOf<'_>) {
        let (old, new) = (&old.tool.spec.effects, &new.tool.spec.effects);
        for before in old.iter().filter(|before| !new.contains(before)) {
            changes.breaking(format!("its effect {} was removed or changed", words(before)));
        }
        for after in new.iter().filter(|after| !old.contains(after)) {
            changes.compatible(format!("it declares effect {}", words(after)));
        }
    }

    fn fill_tool(&self, tool: &Tool, entry: &mut spec::ToolSpec) {
        entry.effects = list(tool.spec.effects.iter().copied());
    }
}

/// Checks the effects of one tool.
fn tool(contract: &Contract, tool: &Tool, problems: &mut Vec<Problem>) {
    let effects = &tool.spec.effects;
    if !effects.is_empty() && tool.spec.path.is_none() && !contract.spec.document {
        problems.push(tool.document.problem(
            "/effects",
            "the effects have no document",
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
        format!("`{word}` is not an effect of a mutating tool")
    } else {
        format!("`{word}` is not an effect of a tool that changes nothing")
    };
    problems.push(tool.document.problem(
        format!("{at}/effect"),
        message,
        "correct the effect, or the tool's `mutating`",
    ));
}

fn texts(tool: &Tool, effect: &Effect, at: &str, problems: &mut Vec<Problem>) {
    let side = if effect.kind.reads() { Side::Output } else { Side::Input };
    if let Some(content) = effect.content {
        let at = format!("{at}/content");
        let kind = if effect.kind == EffectKind::AppendLine { "object" } else { "string" };
        let leads_to = match side {
            Side::Input => leads_to,
            Side::Output => always_leads_to,
        };
        leads_to(tool.schema(side), content, kind, &tool.document, &at, problems);
    }
    for (key, pointer, kind) in [
        ("target", effect.target, "string"),
        ("section", effect.section, "string"),
        ("position", effect.position, "integer"),
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
    let Some(found) = leads_to(input, when.at, "string", &tool.document, &at_at, problems) else {
        return;
    };
    let possible =
        compile(&views::enforced(found.schema)).map_or(true, |validator| validator.is_valid(&when.is.into()));
    if !possible {
        problems.push(tool.document.problem(
            format!("{at}/when/is"),
            format!("`{}` is never `{}`", when.at, when.is),
            "use a value that the schema permits there",
        ));
    }
}

/// Each of several effects must have its own value at one common place.
fn told_apart(tool: &Tool, problems: &mut Vec<Problem>) {
    let effects = &tool.spec.effects;
    if effects.len() < 2 {
        return;
    }
    let place = effects.iter().find_map(|effect| effect.when.as_ref());
    let mut values = BTreeMap::new();
    for (i, effect) in effects.iter().enumerate() {
        let (at, message) = match (&effect.when, place) {
            (Some(when), Some(place)) if when.at != place.at => {
                (format!("/effects/{i}/when/at"), format!("another effect of the tool tests `{}`", place.at))
            }
            (Some(when), _) => match values.insert(when.is, i) {
                None => continue,
                Some(first) => (
                    format!("/effects/{i}/when/is"),
                    format!("`{}` is also the value of `/effects/{first}`", when.is),
                ),
            },
            (None, _) => {
                (format!("/effects/{i}"), "this effect applies to every request, and so do others".into())
            }
        };
        let help = "distinguish effects by `when`: the same `at`, each with a different value";
        problems.push(tool.document.problem(at, message, help));
    }
}

/// Returns an effect in the words of a change.
fn words(effect: &Effect) -> String {
    let pointer = |name: &str, pointer: Option<&str>| {
        pointer.map_or_else(String::new, |pointer| format!(", {name} `{pointer}`"))
    };
    let when = effect
        .when
        .as_ref()
        .map_or_else(String::new, |when| format!(" where `{}` is `{}`", when.at, when.is));
    let content = pointer("content", effect.content);
    let target = pointer("target", effect.target);
    let section = pointer("section", effect.section);
    let position = pointer("position", effect.position);
    format!("`{}`{when}{content}{target}{section}{position}", effect.kind)
}
