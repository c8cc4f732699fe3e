//! Searching code: filters apply before the cut, scores measure how well a chunk matches, and a chunk is one hit.

use std::collections::BTreeSet;

use super::{
    hit::{Hit, hits},
    question::Question,
    server::{ALL, CODE, SHOP, Server},
    tree::{self, COMMON, Source, Tree, word},
};
use tabellion_conformance::checks::prelude::*;

pub(super) const FILTERS: Check = Check {
    id: "search/filters",
    guarantees: &["filters-hold"],
    states: "A search of code has hits that pass all filters, and all of them, however few there are among many others; only `limit` cuts.",
    explains: "Indexes a tree into two collections and searches a word that all functions have: without filters, and then with each \
               language, kind, symbol, path, extension and collection, alone and together, with and without a limit. The hits must be \
               those of the first search that pass. A server that ranks first, cuts and then filters misses what is there.",
    cases: |bench| trees(bench, "filters"),
    ..Check::must(|bench, case| filters(bench, &case.read()?))
};

pub(super) const SCORES: Check = Check {
    id: "search/scores",
    guarantees: &["scores-descend"],
    states: "Scores of code are from 0 to 1 and descend, and what is below `min_score` is neither answered nor counted.",
    explains: "Searches a tree for several words. Then it searches again with scores between two hits as the lowest: just those above must \
               be there.",
    cases: |bench| trees(bench, "scores"),
    ..Check::must(|bench, case| scores(bench, &case.read()?))
};

pub(super) const ONE_HIT: Check = Check {
    id: "search/one-hit-a-chunk",
    guarantees: &["one-hit-a-chunk"],
    states: "Each chunk is at most one hit, whatever it matches by and however often its file was indexed.",
    explains: "Indexes the same tree several times, with a change and a restart between, and searches several words at once: no two hits \
               may have lines of a file in common. A server that adds chunks at each run, or has a hit for each word, crowds out all else.",
    cases: |bench| trees(bench, "one hit"),
    ..Check::must(|bench, case| one_hit(bench, &case.read()?))
};

fn trees(bench: &Bench<'_>, what: &str) -> Result<Vec<Case>, Stop> {
    let mut dice = bench.dice(what);
    let cases = 1..=bench.pick(1, 6);
    let case = |number| Case::new(format!("tree {number}"), tree::random(&mut dice, 20));
    Ok(cases.map(case).collect())
}

fn questions(all: &[Hit]) -> Vec<Question> {
    let values = |member: &'static str| -> BTreeSet<String> {
        let values = all.iter().filter_map(|hit| hit.all[member].as_str());
        values.map(str::to_owned).collect()
    };
    let mut questions = Vec::new();
    for member in ["language", "kind", "collection"] {
        questions.extend(values(member).iter().map(|value| Question::member(member, value)));
    }
    let paths = ["**/*.py", "src/**", "**/file_3.*"];
    questions.extend(paths.map(Question::paths));
    questions.extend([&["rs"][..], &[".go", "md"]].map(Question::extensions));
    questions.push(Question {
        arguments: json!({ "collection": SHOP }),
        passes: Box::new(|hit| hit.all["collection"] == SHOP),
    });
    questions.push(Question::member("language", "rust").and(Question::member("collection", "other")));
    questions.push(Question::member("language", "python").and(Question::paths("src/**")));
    questions.push(Question::extensions(&["py"]).and(Question::member("language", "rust")));
    questions
}

fn filters(bench: &Bench<'_>, files: &Tree) -> Judgement {
    let mut server = Server::start(bench)?;
    server.put_tree(files)?;
    server.index(&json!({}))?;
    server.index(&json!({ "collection": "other", "extensions": ["rs", "py"] }))?;
    let all = server.search(COMMON, &json!({}))?;
    let in_shop = all.iter().filter(|hit| hit.all["collection"] == SHOP).count();
    ensure(in_shop >= files.len() && all.len() > in_shop, || {
        format!("`{COMMON}`, which all {} files have, finds {} chunks", files.len(), all.len())
    })?;
    for question in questions(&all) {
        question.holds(&mut server, COMMON, &all)?;
    }
    by_symbol(&mut server, files)
}

/// Checks that a filter by the name of a function leaves only its chunk.
fn by_symbol(server: &mut Server<'_, '_>, files: &Tree) -> Judgement {
    let rust = files.iter().find(|(_, source)| source.kind == 0);
    let Some((path, source)) = rust else { return Ok(()) };
    let name = source.function();
    let asked = json!({ "collection": SHOP, "filters": [format!("symbol:{name}")] });
    let found = server.search(COMMON, &asked)?;
    ensure(
        !found.is_empty() && found.iter().all(|hit| hit.is_in(path) && hit.content.contains(&name)),
        || format!("`symbol:{name}` finds {found:?}, but it is in `{path}` only"),
    )
}

fn scores(bench: &Bench<'_>, files: &Tree) -> Judgement {
    let mut server = Server::start(bench)?;
    server.put_tree(files)?;
    server.index(&json!({}))?;
    let own = files.values().next().map_or(0, |source| source.word);
    let queries = [
        COMMON.to_owned(),
        format!("count the {COMMON} of {}", word(own)),
        "how is amount counted?".to_owned(),
        format!("count_{}", word(own)),
    ];
    for query in queries {
        let found = server.search(&query, &json!({}))?;
        let scores: Vec<_> = found.iter().map(|hit| hit.score).collect();
        ensure(scores.iter().all(|score| (0.0..=1.0).contains(score)), || {
            format!("scores for `{query}` are not from 0 to 1: {scores:?}")
        })?;
        ensure(scores.is_sorted_by(|one, next| one >= next), || {
            format!("scores for `{query}` do not descend: {scores:?}")
        })?;
        let pairs = scores.windows(2).enumerate();
        let gaps = pairs.filter(|(_, pair)| pair[0] - pair[1] > 1e-6);
        for (place, pair) in gaps.take(5) {
            let lowest = f64::midpoint(pair[0], pair[1]);
            let asked = json!({ "query": query, "limit": ALL, "min_score": lowest });
            let answer = server.must(CODE, &asked)?;
            let (many, cut) = (place + 1, hits(&answer));
            ensure(cut.len() == many && answer["total"] == many, || {
                format!(
                    "with the lowest score {lowest}, `{query}` has {} hits of {}, but {many} of {} have it",
                    cut.len(),
                    answer["total"],
                    found.len()
                )
            })?;
        }
    }
    best_first(&mut server, files)
}

/// Checks that a chunk with the query's rare word comes before those with its common word alone.
fn best_first(server: &mut Server<'_, '_>, files: &Tree) -> Judgement {
    for (path, source) in files {
        let query = format!("{} {COMMON}", word(source.word));
        let found = server.search(&query, &json!({}))?;
        ensure(found.first().is_some_and(|hit| hit.is_in(path)), || {
            let first = found.first().map(|hit| &hit.file_path);
            format!("`{query}` finds {first:?} first, but only `{path}` has both words")
        })?;
    }
    Ok(())
}

fn one_hit(bench: &Bench<'_>, files: &Tree) -> Judgement {
    let mut server = Server::start(bench)?;
    let mut files = files.clone();
    server.put_tree(&files)?;
    server.index(&json!({}))?;
    for time in 0..3_usize {
        let own = files.values().next().map_or(0, |source| source.word);
        let query = format!("count {} in the {COMMON} amount {COMMON}", word(own));
        let found = server.search(&query, &json!({}))?;
        for (number, hit) in found.iter().enumerate() {
            // A chunk may end within a line.
            let meets = |other: &&Hit| {
                let may_share = other.end == hit.start || hit.end == other.start;
                other.file_path == hit.file_path
                    && other.start <= hit.end
                    && hit.start <= other.end
                    && (!may_share || other.place() == hit.place())
            };
            let twice = found[..number].iter().find(meets);
            ensure(twice.is_none(), || {
                format!("`{query}` finds lines {} to {} of `{}` twice", hit.start, hit.end, hit.file_path)
            })?;
        }
        if time == 0 {
            server = server.restarted()?;
        } else if let Some((path, source)) = files.iter_mut().next() {
            let functions = source.functions + 1;
            *source = Source { functions, ..source.clone() };
            server.put(&format!("{SHOP}/{path}"), source.text())?;
        }
        server.index(&json!({}))?;
    }
    Ok(())
}
