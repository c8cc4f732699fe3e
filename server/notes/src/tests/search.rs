//! Search: hits, their order, and excerpts.

use std::cell::RefCell;

use proptest::{collection::vec, prelude::*};

use super::folder::Folder;
use crate::{
    MAX_EXCERPT_CHARS, Note, NoteHits, NoteIndex, NoteQuery, Selection,
    search::{MAX_CHUNK_BYTES, chunks},
};

fn search(folder: &Folder, text: &str, selection: Selection, limit: usize) -> NoteHits {
    let index = NoteIndex::open(&folder.beside("words.db")).unwrap();
    let query = NoteQuery { text: text.into(), selection, limit, excerpts: true, sensitive: false };
    index.search(&folder.catalogue, folder.follow().sequence, &query, None, &|_| ()).unwrap()
}

fn paths(hits: &NoteHits) -> Vec<&str> {
    hits.hits.iter().map(|hit| hit.entry.path.as_str()).collect()
}

#[test]
fn titles_tags_headings_and_text_count_in_this_order() {
    let filler = "Something else is said here at some length.";
    let files = [
        ("text.md", format!("# One\n\n{filler} A parser.")),
        ("heading.md", format!("# One\n\n## A parser\n\n{filler}")),
        ("tag.md", format!("---\ntags: [parser]\n---\n# One\n\n{filler}")),
        ("title.md", format!("# A parser\n\n{filler}")),
        ("none.md", format!("# One\n\n{filler}")),
        ("alias.md", format!("---\naliases: [Lexer]\n---\n# One\n\n{filler}")),
    ];
    let folder = Folder::with_files(&files.each_ref().map(|(path, text)| (*path, text.as_str())));
    let hits = search(&folder, "parser", Selection::default(), 10);
    assert_eq!(paths(&hits), ["title.md", "tag.md", "heading.md", "text.md"]);
    assert!(hits.hits.iter().all(|hit| (0.0..=1.0).contains(&hit.score)));
    let one = search(&folder, "parser", Selection::default(), 1);
    assert_eq!((paths(&one), one.total), (vec!["title.md"], 4));
    assert_eq!(paths(&search(&folder, "lexer", Selection::default(), 10)), ["alias.md"]);
}

#[test]
fn sensitive_notes_change_no_other_search() {
    let open = ("open.md", "# One\n\nA parser.");
    let secret = ("secret.md", "---\nsensitive: true\n---\n# Two\n\nA parser, another parser.");
    let scores = |files: &[_]| {
        let hits = search(&Folder::with_files(files), "parser", Selection::default(), 10);
        (hits.total, hits.hits.iter().map(|hit| hit.score).collect::<Vec<_>>())
    };
    let both = Folder::with_files(&[open, secret]);
    assert_eq!(scores(&[open, secret]), scores(&[open]));
    let index = NoteIndex::open(&both.beside("words.db")).unwrap();
    let query = NoteQuery { text: "parser".into(), limit: 10, sensitive: true, ..NoteQuery::default() };
    let hits = index.search(&both.catalogue, both.follow().sequence, &query, None, &|_| ()).unwrap();
    assert_eq!(hits.total, 2);
}

#[test]
fn a_search_reports_how_far_it_has_indexed() {
    let files: Vec<_> = (0..1500).map(|n| (format!("{n}.md"), "A parser.")).collect();
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let folder = Folder::with_files(&files);
    let index = NoteIndex::open(&folder.beside("words.db")).unwrap();
    let (query, needed) =
        (NoteQuery { text: "parser".into(), limit: 1, ..NoteQuery::default() }, folder.follow().sequence);
    for expected in [vec![0, 1000], vec![]] {
        let reports = RefCell::new(vec![]);
        let report = |at| reports.borrow_mut().push(at);
        assert_eq!(index.search(&folder.catalogue, needed, &query, None, &report).unwrap().total, 1500);
        assert_eq!(reports.into_inner(), expected);
    }
}

#[test]
fn a_note_is_found_once_and_filters_go_first() {
    let many = (0..20).map(|n| format!("## Part {n}\n\nparser {n}\n\n")).collect::<String>();
    let folder = Folder::with_files(&[
        ("many.md", &many),
        ("b.md", "---\ntype: essay\ntags: [x, y]\ncreated_at: 2026-01-02\n---\n# parser"),
        ("a.md", "---\ntype: essay\ntags: [x, z]\ncreated_at: 2026-01-02\n---\n# parser"),
        ("old.md", "---\ntags: [x, y]\ncreated_at: 2025-01-02\n---\n# parser"),
    ]);
    let all = search(&folder, "parser", Selection::default(), 10);
    assert_eq!((all.hits.len(), all.total), (4, 4));
    let of = |selection: Selection| search(&folder, "parser", selection, 10);
    let tags = |tags: &[&str]| Selection {
        tags: tags.iter().map(|tag| tag.to_string()).collect(),
        ..Selection::default()
    };
    assert_eq!(paths(&of(tags(&["x", "y"]))), ["b.md", "old.md"], "newer first, where scores are equal");
    let ids = Some(vec![all.hits[0].entry.id]);
    assert_eq!(of(Selection { ids, ..Selection::default() }).total, 1);
    let of_type = |kind: &str| of(Selection { note_type: Some(kind.into()), ..Selection::default() });
    assert_eq!(of_type("permanent").total, 2, "a file without a type is permanent");
    let essays = of_type("essay");
    let mut by_id = essays.hits.iter().map(|hit| hit.entry.id).collect::<Vec<_>>();
    assert_eq!(essays.hits[0].score, essays.hits[1].score);
    by_id.sort();
    assert_eq!(essays.hits.iter().map(|hit| hit.entry.id).collect::<Vec<_>>(), by_id);
    folder.write("b.md", "nothing");
    assert_eq!(paths(&of(tags(&["x", "y"]))), ["old.md"], "a hand edit is seen");
}

#[test]
fn excerpts_are_around_the_best_passage() {
    let text = format!("{}the parser was renamed{}", "word ".repeat(150), " more".repeat(30));
    let folder = Folder::with_files(&[("a.md", &text), ("b.md", &"猫が好き".repeat(300))]);
    let hits = search(&folder, "when was the parser renamed?", Selection::default(), 10);
    let excerpt = hits.hits[0].excerpt.clone().unwrap();
    assert!(excerpt.contains("parser was renamed"), "{excerpt}");
    let hits = search(&folder, "猫", Selection::default(), 10);
    assert!(hits.hits[0].excerpt.clone().unwrap().chars().count() > 400);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn chunks_are_all_of_a_note(parts in vec("[a-z猫 .]{0,300}\n{0,2}(#{1,3} [a-z]{1,5}\n)?", 0..20)) {
        let text = parts.concat();
        let note = Note::parse("a.md", text.as_bytes());
        let chunks = chunks(&note);
        let mut end = 0;
        for chunk in &chunks {
            prop_assert!(chunk.text.len() <= MAX_CHUNK_BYTES && chunk.text.start >= end);
            end = chunk.text.end;
        }
        let cut: String = chunks.iter().flat_map(|chunk| text[chunk.text.clone()].chars()).collect();
        let letters = |text: &str| text.chars().filter(|c| *c == '猫').count();
        prop_assert_eq!(letters(&cut), letters(&text));
    }

    #[test]
    fn excerpts_are_parts_of_the_content_cut_between_words(words in vec("[a-z]{1,30}[ \n]{1,2}", 1..200), at in any::<prop::sample::Index>()) {
        let text = words.concat();
        let folder = Folder::with_files(&[("a.md", &text)]);
        let wanted = words[at.index(words.len())].trim();
        let hits = search(&folder, wanted, Selection::default(), 1);
        let excerpt = hits.hits[0].excerpt.as_deref().unwrap();
        prop_assert!(excerpt.chars().count() <= MAX_EXCERPT_CHARS);
        let around = format!(" {} ", text.replace('\n', " "));
        let excerpt = format!(" {} ", excerpt.replace('\n', " "));
        prop_assert!(around.contains(&excerpt), "{:?}", excerpt);
    }
}

#[test]
fn tags_are_found_in_any_case_and_by_those_that_they_are_nested_in() {
    let folder = Folder::with_files(&[
        ("a.md", "---\ntags: [Work/Urgent]\n---\n# parser"),
        ("b.md", "# parser\n\nto be done for #work\n"),
        ("c.md", "# parser\n\nwritten as `#work`\n"),
    ]);
    for (tag, expected) in [
        ("work", &["a.md", "b.md"][..]),
        ("#WORK", &["a.md", "b.md"]),
        ("work/urgent", &["a.md"]),
        ("urgent", &[]),
    ] {
        let selection = Selection { tags: vec![tag.into()], ..Selection::default() };
        let mut listed = folder.paths(&selection);
        listed.sort();
        assert_eq!(listed, expected, "{tag}");
        let found = search(&folder, "parser", selection, 10);
        let mut found = paths(&found);
        found.sort_unstable();
        assert_eq!(found, expected, "{tag}");
    }
}

#[test]
fn a_note_without_a_title_is_found_by_its_files_name() {
    let folder = Folder::with_files(&[("Yard.md", "Cut the grass."), ("b.md", "Trim the hedge.")]);
    let found = search(&folder, "yard", Selection::default(), 10);
    assert_eq!(paths(&found), ["Yard.md"]);
    assert_eq!(found.hits[0].entry.title, "Yard");
}
