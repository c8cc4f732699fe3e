//! Hits as they are shown: a chunk's symbols that match the query, with their lines.

use std::mem;

use super::Search;
use crate::{
    CodeError, CodeHit,
    content::{bytes_of, content, lines_of},
    facts::{ChunkFacts, Lines, SymbolFacts},
    names,
    parts::{Searched, Valued},
    terms,
};

impl Search<'_> {
    /// Returns the symbols of a chunk that match the query, each with its lines; none if the hit is the whole chunk. Adjacent overloads
    /// are merged into one.
    fn meant<'f>(
        &self,
        hit: &Valued,
        facts: &'f ChunkFacts,
        text: &str,
        modules: &[String],
    ) -> Vec<(&'f SymbolFacts, Lines)> {
        let alone =
            |symbol: Option<&'f SymbolFacts>| symbol.map(|one| (one, one.lines())).into_iter().collect();
        if let Some(at) = hit.symbol {
            return alone(facts.symbols.get(at));
        }
        let filters = &self.query.filters;
        let all = || facts.symbols.iter().filter(|symbol| filters.symbol(symbol, modules));
        let spelled = &self.cut.spelled;
        let fits =
            |symbol: &SymbolFacts| self.cut.symbol.as_ref().is_some_and(|name| name.fits(symbol, modules));
        let is_named = |symbol: &&SymbolFacts| {
            let name = terms::whole(&symbol.name);
            fits(symbol) || spelled.iter().any(|spelled| terms::whole(spelled) == name)
        };
        // A qualified name is that of the member, although it has the type's name too.
        let rank = |symbol: &SymbolFacts| (fits(symbol), symbol.has_body, spelled.contains(&symbol.name));
        let mut named: Vec<(&SymbolFacts, Lines)> = vec![];
        for symbol in all().filter(is_named) {
            let lines = symbol.lines();
            let is_apart =
                |end| facts.symbols.iter().any(|other| (end + 1..lines.0).contains(&other.start_line));
            match named.last_mut() {
                // A constructor has its type's name.
                Some((outer, around)) if around.1 >= lines.1 && outer.name == symbol.name => {}
                Some((first, around)) if first.is_overload(symbol) && !is_apart(around.1) => {
                    around.1 = lines.1;
                    if rank(symbol) > rank(first) {
                        *first = symbol;
                    }
                }
                _ => named.push((symbol, lines)),
            }
        }
        if let Some(best) = named.iter().map(|(symbol, _)| rank(symbol)).max() {
            named.retain(|(symbol, _)| rank(symbol) == best);
            // An implementation comes after its type; a sentence asks for one place in a chunk.
            let is_name = self.cut.is_name || best.0;
            let mut is_first = true;
            named.retain(|(symbol, _)| mem::take(&mut is_first) || (is_name && symbol.kind != "impl"));
            return named;
        }
        if !filters.is_on_chunks() {
            return vec![];
        }
        let has = |symbol: &&SymbolFacts| {
            let lines = lines_of(facts, text, symbol.lines()).to_lowercase();
            self.cut.words.iter().filter(|word| lines.contains(word.as_str())).count()
        };
        alone(all().rev().max_by_key(has))
    }

    /// Returns a hit for each symbol of a chunk that matches the query, or one for the whole chunk.
    pub(super) fn told(&self, hit: &Valued, score: f64) -> Result<Vec<CodeHit>, CodeError> {
        let Searched { key, columns, first, .. } = &self.parts.files[hit.file as usize];
        let (text, chunks) = content(self.connection, columns.number)?;
        let sql = "SELECT blob FROM file WHERE number = ?";
        let blob = self.connection.prepare_cached(sql)?.query_row([columns.number], |row| row.get(0))?;
        let chunk = hit.chunk as usize - first;
        let within = bytes_of(&chunks, chunk);
        let facts = chunks.get(chunk).ok_or(rusqlite::Error::QueryReturnedNoRows)?;
        let modules = names::modules(&columns.path, chunks.iter().flat_map(|chunk| &chunk.symbols));
        let text = text.get(within).unwrap_or_default();
        let meant = self.meant(hit, facts, text, &modules);
        let hit = |named: Option<&SymbolFacts>, lines: Lines, content: &str| CodeHit {
            collection: (*key).to_owned(),
            branch: columns.branch.to_string(),
            path: columns.path.to_string(),
            start_line: lines.0,
            end_line: lines.1,
            language: columns.language.to_string(),
            kind: named.map_or(&facts.kind, |symbol| &symbol.kind).clone(),
            symbol: named.map(|symbol| symbol.path.clone()),
            blob,
            content: content.to_owned(),
            score,
        };
        if meant.is_empty() {
            return Ok(vec![hit(facts.about(), (facts.start_line, facts.end_line), text)]);
        }
        let each = meant.into_iter();
        Ok(each.map(|(symbol, lines)| hit(Some(symbol), lines, lines_of(facts, text, lines))).collect())
    }
}
