//! Target files: only the files of the contract can be appended to, under any name or link.

use std::os::unix::fs::symlink;

use super::effect::{AppendEffect, ensure_refused};
use crate::{attacks, check::each_alone, checks::prelude::*, layout::SECRET, request::put};

pub(super) const NAMES: Check = Check {
    id: "append/other-files",
    guarantees: &["target-files-only"],
    states: "A file that the contract does not list is refused under every name, and nothing changes.",
    explains: "A listed file's name is replaced in calls: by names of existing and missing files, by the listed \
               names in capitals or with an added path, extension or blank, and by all attacks on paths of the \
               table. Each call must be refused, whatever else the request contains, and no byte may change.",
    cases: name_cases,
    shrink: |case| each_alone(case, |targets: &mut TargetNames| &mut targets.names, |_, _| case.name.clone()),
    ..Check::must(names)
};

pub(super) const LINKS: Check = Check {
    id: "append/linked-file",
    guarantees: &["target-files-only"],
    states: "If a listed file, or its folder, is a link, nothing is written to the link's target.",
    explains: "A listed file is a symbolic link to a file outside of the library or to another file in it, or its \
               folder is a link to another folder. The call must be refused or must replace the link by a file; the \
               link's target must not change.",
    cases: link_cases,
    ..Check::must(links)
};

/// Names to replace a listed file's name with.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct TargetNames {
    #[serde(rename = "way")]
    effect: AppendEffect,
    names: Vec<String>,
}

fn name_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    for effect in AppendEffect::all(bench.subject)? {
        let call = effect.call_with_word(bench.subject, "x")?;
        let listed = call.tool.path.and_then(|at| call.arguments.pointer(at)?.as_str());
        let is_listed = call.tool.effects.iter().any(|effect| effect.when.is_some());
        let Some(listed) = listed.filter(|_| is_listed) else {
            continue;
        };
        let path = call.path();
        let folder = path.strip_suffix(listed).unwrap_or_default();
        let stem = listed.rsplit_once('.').map_or(listed, |(stem, _)| stem);
        let mut names = vec![
            String::new(),
            listed.to_uppercase(),
            format!("{listed} "),
            format!(" {listed}"),
            format!("{listed}/"),
            format!("./{listed}"),
            format!("{listed}\0"),
            format!("{listed}\n"),
            format!("{listed}.bak"),
            stem.to_owned(),
            format!("{stem}.md"),
            format!("{stem}.json"),
            path.clone(),
            format!("../../{path}"),
            format!("{folder}../{listed}"),
            "notes/plan.md".into(),
            "../../README.md".into(),
            "../../../outside/secret.md".into(),
            ".git/config".into(),
            "../../.git/config".into(),
        ];
        names.extend(attacks::all().iter().map(|attack| attack.path.clone()));
        let others = call.tool.effects.iter().filter_map(|effect| Some(effect.when?.is));
        let others: Vec<_> = others.collect();
        names.retain(|name| !others.contains(&name.as_str()));
        for (number, names) in names.chunks(30).enumerate() {
            let names = names.to_vec();
            cases.push(Case::new(format!("instead of {listed}, {number}"), TargetNames { effect, names }));
        }
    }
    Ok(cases)
}

fn names(bench: &Bench<'_>, case: &Case) -> Judgement {
    let TargetNames { effect, names } = case.read()?;
    let scene = bench.scene(&[("notes/plan.md", "# Plan\n"), ("README.md", "# Library\n")])?;
    let mut client = scene.start()?;
    let before = Moment::capture(&scene)?;
    for name in names {
        let mut call = effect.call_with_word(bench.subject, "x")?;
        let at = call.tool.path.unwrap_or_default();
        put(&mut call.arguments, at, name.as_str().into());
        if let Some(message) = client.attempt(call.tool, &call.arguments)? {
            let reply = bench.subject.adapter.reply(call.tool, &message);
            ensure_refused(&reply, &format!("`{}`", name.escape_debug()))?;
        }
    }
    before.same(&Moment::capture(&scene)?)
}

/// Kinds of link targets.
const LINK_TARGETS: [&str; 4] = ["outside", "inside", "nowhere", "another folder"];

fn link_cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = Vec::new();
    for effect in AppendEffect::all(bench.subject)? {
        let path = effect.call_with_word(bench.subject, "x")?.path();
        for to in LINK_TARGETS {
            cases.push(Case::new(format!("{path}: {to}"), json!([effect, to])));
        }
    }
    Ok(cases)
}

fn links(bench: &Bench<'_>, case: &Case) -> Judgement {
    let (effect, to): (AppendEffect, String) = case.read()?;
    let call = effect.call_with_word(bench.subject, "x")?;
    let path = call.path();
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let up = "../".repeat(folder.split('/').filter(|part| !part.is_empty()).count());
    let inside = format!("elsewhere/{name}");
    let scene = bench.scene(&[(&*inside, "{}\n"), ("README.md", "# Library\n")])?;
    let (link, target) = match &*to {
        "outside" => (path.clone(), format!("{up}../outside/secret.md")),
        "inside" => (path.clone(), format!("{up}{inside}")),
        "nowhere" => (path.clone(), format!("{up}../outside/new.md")),
        _ if folder.is_empty() => return Ok(()),
        _ => (folder.to_owned(), format!("{}elsewhere", &up[3..])),
    };
    scene.trace(format!("a person links `{link}` to `{target}`"));
    let link = scene.path(&link);
    std::fs::create_dir_all(link.parent().unwrap_or(&link))?;
    symlink(&target, &link)?;
    scene.commit_all("a link")?;
    let mut client = scene.start()?;
    let before = Moment::capture(&scene)?;
    let reply = client.make(&call)?;
    let after = Moment::capture(&scene)?;
    before.same_around(&after)?;
    if let Reply::Refused(_) = reply {
        return before.same(&after);
    }
    let held = scene.read(&inside);
    ensure(held.as_deref() == Some(b"{}\n"), || {
        format!("`{path}` is a link, and its target `{inside}` was changed")
    })?;
    let secret = scene.read("../outside/secret.md");
    ensure(secret.as_deref() == Some(SECRET.as_bytes()), || {
        "a file outside of the library was changed".into()
    })?;
    ensure(!Value::is_null(&super::effect::appended_value(&call)) && !link.is_symlink(), || {
        format!("the call was acknowledged, but `{path}` is still a link and its target is unchanged")
    })
}
