//! Check of a document that is read in parts.

use crate::{adapter::offer, checks::prelude::*, semantics};

pub(super) const PAGES: Check = Check {
    id: "bytes/pages",
    guarantees: &[],
    states: "The parts in which a long document is read join to the document, whatever its letters are.",
    explains: "If the tool that reads has arguments for a part (`offset` and `limit`, `start_line` and `end_line`, `page`, …), a document in \
               ASCII is read in parts to see how they count: lines or characters, from 0 or from 1, with or without the end. Parts of \
               a document with letters of 2 to 4 bytes, that count in the same way, must join to it.",
    ..Check::must(judge)
};

const PATH: &str = "notes/long.md";
/// Names of the argument for where a part begins, and of that for its size or end.
const STARTS: [&str; 16] = [
    "offset",
    "start",
    "start_line",
    "startLine",
    "line_start",
    "lineStart",
    "from_line",
    "fromLine",
    "begin",
    "start_byte",
    "start_char",
    "startIndex",
    "start_index",
    "position",
    "page",
    "page_number",
];
const SIZES: [&str; 20] = [
    "limit",
    "length",
    "count",
    "size",
    "max_lines",
    "maxLines",
    "num_lines",
    "numLines",
    "line_count",
    "lineCount",
    "max_length",
    "maxLength",
    "max_chars",
    "maxChars",
    "max_bytes",
    "maxBytes",
    "page_size",
    "pageSize",
    "per_page",
    "lines",
];
const ENDS: [&str; 10] = [
    "end",
    "end_line",
    "endLine",
    "line_end",
    "lineEnd",
    "to_line",
    "toLine",
    "end_index",
    "endIndex",
    "stop",
];
/// Sizes of parts: few lines, and characters that end amid letters.
const PART_SIZES: [usize; 2] = [7, 501];
/// Number of parts after which no more are read.
const MAX_PARTS: usize = 60;
/// Number of lines of a document.
const LINES: usize = 60;

/// A server's way of counting parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counting<'a> {
    start: &'a str,
    second: &'a str,
    second_is: Second,
    /// The number of the first line, character or page.
    first: usize,
    size: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Second {
    Size,
    /// The end of the part, which belongs to it or not.
    End {
        is_in: bool,
    },
}

impl Counting<'_> {
    /// Returns the arguments for a part.
    fn part(&self, number: usize) -> [(String, Value); 2] {
        let is_page = self.start.starts_with("page");
        let start = self.first + number * if is_page { 1 } else { self.size };
        let second = match self.second_is {
            Second::Size => self.size,
            Second::End { is_in } => start + self.size - usize::from(is_in),
        };
        [(self.start.to_owned(), json!(start)), (self.second.to_owned(), json!(second))]
    }
}

/// The tool that reads, as the server has it.
struct Reading<'a, 'b> {
    bench: &'b Bench<'a>,
    client: Client<'a>,
    params: Value,
}

impl Reading<'_, '_> {
    /// Reads a part; `None` if it is refused.
    fn part(&mut self, arguments: impl IntoIterator<Item = (String, Value)>) -> Result<Option<String>, Stop> {
        let mut params = self.params.clone();
        for (name, value) in arguments {
            params["arguments"][name] = value;
        }
        let answer = self.client.request("tools/call", params)?;
        let Some((tool, effect)) = self.bench.subject.tool_with(EffectKind::Read) else {
            return Ok(None);
        };
        match self.bench.subject.adapter.reply(tool, &answer) {
            Reply::Done(done) => Ok(semantics::content_read(effect, &done.response).ok().map(str::to_owned)),
            Reply::Refused(_) => Ok(None),
        }
    }

    /// Reads the parts of a document until all of it is read, there are no more, or one is not of the document.
    fn parts(&mut self, counting: &Counting<'_>, document: &str) -> Result<Vec<String>, Stop> {
        let (mut parts, mut bytes) = (Vec::new(), 0);
        while bytes < document.len() && parts.len() < MAX_PARTS {
            let Some(part) = self.part(counting.part(parts.len()))?.filter(|part| !part.is_empty()) else {
                break;
            };
            bytes += part.len();
            let is_its = document.contains(part.trim_end_matches('\n'));
            parts.push(part);
            if !is_its {
                break;
            }
        }
        Ok(parts)
    }
}

/// Joins parts with the separator `between`. The end of the last line is not judged: some servers return lines.
fn joined(parts: &[String], between: &str) -> String {
    parts.join(between).trim_end_matches('\n').to_owned()
}

fn judge(bench: &Bench<'_>, _: &Case) -> Judgement {
    let read = bench.subject.tool_with(EffectKind::Read);
    let with = With { path: PATH, ..With::default() };
    let (Some((tool, _)), Some(call)) = (read, bench.subject.request(EffectKind::Read, with)) else {
        return Err(not_applicable("no tool reads documents of any name"));
    };
    if bench.subject.adapter.follows_pages(tool) {
        return Err(not_applicable("the adapter joins the parts"));
    }
    let [ascii, others] = ["abcdefghij", "aéß世界🎉"].map(document);
    let scene: Scene<'_> = bench.scene(&[(PATH, &ascii)])?;
    let mut client = scene.start()?;
    let params = client.params(call.tool, &call.arguments, Map::new())?;
    let offered = offer::ask(&mut client).map_err(fail)?;
    let listed = params["name"].as_str().and_then(|name| offered.get(name));
    let listed = listed.map(|listed| &listed["inputSchema"]["properties"]);
    let names = |names: &'static [&str]| {
        let is_number = |name: &&&str| listed.is_some_and(|all| is_number(&all[**name]));
        names.iter().copied().filter(move |name| is_number(&name)).collect::<Vec<_>>()
    };
    let (starts, sizes, ends) = (names(&STARTS), names(&SIZES), names(&ENDS));
    let mut reading = Reading { bench, client, params };
    let seconds = sizes.iter().map(|name| (*name, Second::Size));
    let ends = ends.iter().flat_map(|name| [true, false].map(|is_in| (*name, Second::End { is_in })));
    let seconds: Vec<_> = seconds.chain(ends).collect();
    let all = seconds.iter().flat_map(|second| PART_SIZES.map(|size| (second, size)));
    let all = all.flat_map(|(second, size)| [1, 0].map(|first| (second, size, first)));
    let countings = all.flat_map(|(&(second, second_is), size, first)| {
        let counting = move |start| Counting { start, second, second_is, first, size };
        starts.iter().map(move |start| counting(*start))
    });
    for counting in countings {
        let parts = reading.parts(&counting, &ascii)?;
        let is_whole = |between: &&str| joined(&parts, between) == ascii.trim_end();
        let Some(between) = ["", "\n"].into_iter().find(is_whole) else {
            continue;
        };
        scene.put(PATH, &others)?;
        let found = joined(&reading.parts(&counting, &others)?, between);
        if found == others.trim_end() {
            return Ok(());
        }
        let Counting { start, second, size, .. } = counting;
        let what =
            format!("parts of {size}, by `{start}` and `{second}`, join to the document only if it is ASCII");
        return Err(fail(what).showing(PATH, Some(others.as_bytes()), Some(found.as_bytes())));
    }
    Err(not_applicable("the tool that reads has no arguments for a part that join"))
}

fn is_number(schema: &Value) -> bool {
    let kinds = [&schema["type"], &schema["anyOf"][0]["type"], &schema["type"][0]];
    kinds.iter().any(|kind| *kind == "integer" || *kind == "number")
}

/// Returns a document whose lines consist of these letters, each line of another length.
fn document(letters: &str) -> String {
    let letters: Vec<_> = letters.chars().collect();
    let line = |number: usize| -> String {
        let length = 20 + number * 7 % 31;
        (0..length).map(|at| letters[(at + number) % letters.len()]).collect()
    };
    (0..LINES).map(|number| format!("{number} {}\n", line(number))).collect()
}
