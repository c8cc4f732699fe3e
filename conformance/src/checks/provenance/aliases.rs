//! The names under which calls give their provenance.

use tabellion_runtime::{provenance::PROVENANCE, spec::ProvenanceField};

use super::said::{self, Kept};
use crate::checks::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "provenance/aliases",
    guarantees: &["provenance-required"],
    states: "A field of provenance is taken from each of its keys in `_meta` and, over HTTP, each of its headers; the first counts.",
    explains: "Says each field of a change under each of its names alone, with a value that no other call has, and under several at once \
               with different values: members of `tabellion/provenance` go before the keys of `_meta`, each in the contract's order, \
               and these before headers. The value that is kept with the change, on the disk, must be the one of the first.",
    cases,
    ..Check::must(judge)
};

/// The place of a field in a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FieldLocation {
    /// A member of `tabellion/provenance`.
    Own(String),
    /// A key of `_meta`.
    Meta(String),
    Header(String),
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let fields = said::spec(bench)?.fields.iter();
    Ok(fields.map(|field| Case::new(field.name, field.name)).collect())
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let name: String = case.read()?;
    let spec = said::spec(bench)?;
    let Some(field) = spec.field(&name) else {
        return Err(not_applicable(format!("the contract has no `{name}`")));
    };
    let scene = said::scene(bench)?;
    let mut client = scene.start()?;
    client.provenance.clear();
    let (tool, arguments) = said::repeatable(bench, &mut client, spec)?;
    for (number, places) in ways(field, bench.subject.launch.is_http()).into_iter().enumerate() {
        // Far from the numbers of the calls before.
        let number = 100 + 10 * number;
        let mut others = said::complete(spec, number);
        others.shift_remove(field.name);
        let mut meta = said::meta(spec, &others);
        let (mut own, mut headers) = (Map::new(), Vec::new());
        for (at, place) in places.iter().enumerate() {
            let value = value(field, number + at, at);
            match place {
                FieldLocation::Own(key) => drop(own.insert(key.clone(), value)),
                FieldLocation::Meta(key) => drop(meta.insert(key.clone(), value)),
                FieldLocation::Header(name) => headers.push((name.clone(), text(&value))),
            }
        }
        if !own.is_empty() {
            meta.insert(PROVENANCE.to_owned(), own.into());
        }
        client.target.set_headers(headers);
        let what = format!("a call with {}", shown(&places));
        match client.call_with(tool, &arguments, meta)? {
            Reply::Done(_) => {}
            // The call was refused for lacking the field, although it contains it in this place.
            Reply::Refused(refusal) if said::follows(spec.missing.message, &refusal.message) => {
                let why = format!("{what} was refused: {}", refusal.message);
                return Err(crate::judgement::fail(why));
            }
            Reply::Refused(refusal) => return Err(refused(what, &refusal)),
        }
        Kept::of_last(&scene)?.must_have(field.name, &value(field, number, 0), &what)?;
    }
    Ok(client.close()?)
}

/// Returns the value that a place has: the first another than later ones.
fn value(field: &ProvenanceField, number: usize, at: usize) -> Value {
    match said::value(field, number) {
        Value::Bool(first) => Value::Bool(first != (at > 0)),
        other => other,
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the places of each call, those that count first.
fn ways(field: &ProvenanceField, over_http: bool) -> Vec<Vec<FieldLocation>> {
    let keys = || field.keys.iter().map(|key| (*key).to_owned());
    let own: Vec<_> = keys().map(FieldLocation::Own).collect();
    let meta: Vec<_> = keys().map(FieldLocation::Meta).collect();
    let headers = field.headers.iter().filter(|_| over_http);
    let headers: Vec<_> = headers.map(|name| FieldLocation::Header((*name).to_owned())).collect();
    let all = [&own[..], &meta, &headers].concat();
    let mut ways: Vec<_> = all.iter().map(|place| vec![place.clone()]).collect();
    let orders = [meta.clone(), own.clone(), headers.clone()];
    ways.extend(orders.into_iter().filter(|places| places.len() > 1));
    let one_of_each = [&own, &meta, &headers].map(|places| places.first().cloned());
    let one_of_each: Vec<_> = one_of_each.into_iter().flatten().collect();
    ways.push(one_of_each.clone());
    // The last spelling of a place goes before the first of the next.
    if let (Some(last), Some(first)) = (own.last(), meta.first()) {
        ways.push(vec![last.clone(), first.clone()]);
    }
    if let (Some(last), Some(first)) = (meta.last(), headers.first()) {
        ways.push(vec![last.clone(), first.clone()]);
    }
    ways
}

fn shown(places: &[FieldLocation]) -> String {
    let one = |place: &FieldLocation| match place {
        FieldLocation::Own(key) => format!("`{key}` in `{PROVENANCE}`"),
        FieldLocation::Meta(key) => format!("`{key}` in `_meta`"),
        FieldLocation::Header(name) => format!("the header `{name}`"),
    };
    let all: Vec<_> = places.iter().map(one).collect();
    all.join(" and ")
}
