//! Exports, read again.

use std::{
    collections::BTreeMap,
    fs::File,
    io::Read as _,
    time::{Duration, UNIX_EPOCH},
};

use chrono::DateTime;
use proptest::{collection::vec, prelude::*};
use serde_json::Value;
use uuid::Uuid;
use zip::ZipArchive;

use super::{
    folder::Folder,
    values::{content, metadata},
};
use crate::{Export, Exported, Format, Metadata, Note, Selection, derived_id, render};

fn exported(folder: &Folder, format: Format, parts: [bool; 2], selection: Selection) -> Exported {
    let export = Export {
        id: Uuid::from_u128(7),
        created_at: DateTime::UNIX_EPOCH,
        format,
        selection,
        include_content: parts[0],
        include_links: parts[1],
    };
    let file = File::create(folder.beside("export")).unwrap();
    let version = |entry: &crate::Entry| entry.metadata.current_version(None);
    let outcome = folder.catalogue.read(|notes| Ok(crate::export(notes, &export, &version, file)));
    outcome.unwrap().unwrap()
}

fn json(folder: &Folder) -> Value {
    serde_json::from_reader(File::open(folder.beside("export")).unwrap()).unwrap()
}

fn zip(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    let mut zip = ZipArchive::new(File::open(folder.beside("export")).unwrap()).unwrap();
    let names: Vec<String> =
        (0..zip.len()).map(|n| zip.by_index(n).unwrap().name().unwrap().into_owned()).collect();
    let read = |name: String| {
        let mut bytes = vec![];
        zip.by_name(&name).unwrap().read_to_end(&mut bytes).unwrap();
        (name, bytes)
    };
    names.into_iter().map(read).collect()
}

const BOTH: [bool; 2] = [true, true];

fn vault() -> Folder {
    let to = |path: &str, relation: &str| format!("{{to: {}, relation: {relation}}}", derived_id(path));
    let links = [to("b.md", "cites"), to("c.md", "cites"), to("gone.md", "cites")].join(", ");
    let text = format!("---\ntitle: Plan\ntags: [a b]\nlinks: [{links}]\ncreated_at: 2026-01-01\n---\nText");
    Folder::with_files(&[
        ("a.md", text.as_str()),
        ("b.md", "---\ntitle: 'PLAN'\ntags: [x]\ncreated_at: 2026-01-02\n---\n"),
        ("c.md", "---\ntitle: 'a/b: [c]'\ncreated_at: 2026-01-03\n---\n"),
    ])
}

#[test]
fn links_count_with_both_ends_in_the_export() {
    let folder = vault();
    for (parts, tags, counts) in
        [(BOTH, None, (3, 2)), ([false, false], None, (3, 2)), (BOTH, Some("x"), (1, 0))]
    {
        let selection =
            || Selection { tags: tags.into_iter().map(String::from).collect(), ..Selection::default() };
        for format in [Format::Json, Format::Markdown, Format::Obsidian] {
            let outcome = exported(&folder, format, parts, selection());
            let size = std::fs::metadata(folder.beside("export")).unwrap().len();
            assert_eq!((outcome.notes, outcome.links, outcome.bytes), (counts.0, counts.1, size));
        }
        exported(&folder, Format::Json, parts, selection());
        let json = json(&folder);
        assert_eq!(json.get("links").is_some(), parts[1]);
        assert_eq!(json["notes"][0].get("content").is_some(), parts[0]);
        assert_eq!(json["notes"].as_array().unwrap().len(), counts.0);
    }
}

/// Returns the text of a note with an id, and the name that a tool gives its file.
fn made(number: u128, title: &str, content: &str) -> (String, String) {
    let id = Uuid::from_u128(number << 96);
    let text = format!("---\nid: {id}\ntitle: '{title}'\ntags: [a b]\n---\n{content}");
    (crate::file_name(title, id), text)
}

#[test]
fn a_vault_has_files_where_they_are_and_made_ones_named_by_titles() {
    let plan = made(1, "Plan", "Text");
    let link = |number: u128| format!("{{to: {}, relation: cites}}", Uuid::from_u128(number << 96));
    let links = format!("links: [{}, {}, {}]\n---\n", link(2), link(3), link(4));
    let plan = (plan.0, plan.1.replacen("---\nText", &(links + "Text"), 1));
    let other = made(2, "PLAN", "");
    let odd = made(3, "a/b: [c]", "");
    let mentioned = made(4, "Mentioned", "");
    let hand =
        format!("See [[Target]], [](deep/Target.md) and [[{}]].", &mentioned.0[6..mentioned.0.len() - 3]);
    let folder = Folder::with_files(&[
        (&plan.0, plan.1.as_str()),
        (&other.0, &other.1),
        (&odd.0, &odd.1),
        (&mentioned.0, &mentioned.1),
        ("Source.md", &hand),
        ("deep/Target.md", "# Another title\n"),
        ("deep/plan.markdown", ""),
        ("aux.md", ""),
        ("What is X?.md", "---\ntitle: Q3: plan\n---\nText"),
        ("Cafe\u{301}/nul.txt.md", ""),
    ]);
    exported(&folder, Format::Obsidian, BOTH, Selection::default());
    let files = zip(&folder);
    assert_eq!(
        files.keys().collect::<Vec<_>>(),
        [
            "Caf\u{e9}/_nul.txt.md",
            "PLAN (2).md",
            "Plan.md",
            "Source.md",
            "What is X_.md",
            "_aux.md",
            "a b c.md",
            "deep/Target.md",
            "deep/plan.md",
            mentioned.0.as_str(),
        ]
    );
    let text = |name: &str| String::from_utf8(files[name].clone()).unwrap();
    let links =
        "---\nText\n\n## Links\n\n### cites\n\n- [[PLAN (2)]]\n- [[a b c]]\n- [[mentioned-00000004]]\n";
    assert!(text("Plan.md").ends_with(links), "{}", text("Plan.md"));
    assert!(text("Plan.md").contains("tags:\n  - a-b\n"), "{}", text("Plan.md"));
    assert!(text("a b c.md").contains("aliases:\n  - \"a/b: [c]\"\n"), "{}", text("a b c.md"));
    assert!(text("deep/Target.md").contains("aliases:\n  - Another title\n"));
    assert!(text("Source.md").ends_with(&hand));
    assert_eq!(text("What is X_.md"), "---\ntitle: Q3: plan\n---\nText");

    exported(&folder, Format::Markdown, BOTH, Selection::default());
    let files = zip(&folder);
    assert_eq!(files["Source.md"], hand.as_bytes());
    for name in ["_aux.md", "What is X_.md", "deep/plan.markdown", plan.0.as_str(), "links.json"] {
        assert!(files.contains_key(name), "{name} in {:?}", files.keys());
    }
}

#[test]
fn links_lead_to_files_with_other_names() {
    let [same, moved] = [
        "[t](../Target.md#a) ![i](../i.png) [[../Target|T]] ![[../i.png]] <img src='../i.png'> [[/Target]]",
        "[t](Target.md#a) ![i](i.png) [[Target|T]] ![[i.png]] <img src='i.png'> [[/Target]]",
    ];
    let made = made(1, "Plan", &format!("{same} [[aux]]\n"));
    let folder = Folder::with_files(&[
        (&made.0, made.1.as_str()),
        ("aux.md", ""),
        ("_aux.md", ""),
        ("con/in.md", "[t](../Target.md) [a](../aux.md) [s](in.md)\n\n[l]: ../a%20b%3F.md\n"),
        ("a b?.md", ""),
        (
            "Target.md",
            "[x](aux.md#y) [y](_aux.md) [[aux|a]] [[_aux]] `[x](aux.md)`\r\n[z](con/in.md 't') [[con/in]] [[in]]",
        ),
    ]);
    let target = "[x](_aux%20(2).md#y) [y](_aux.md) [[_aux (2)|a]] [[_aux]] `[x](aux.md)`\r\n[z](_con/in.md 't') [[_con/in]] [[in]]";
    let target = target.replace("(2).md", "%282%29.md");
    let inside = "[t](../Target.md) [a](../_aux%20%282%29.md) [s](in.md)\n\n[l]: ../a%20b_.md\n";
    for format in [Format::Markdown, Format::Obsidian] {
        exported(&folder, format, BOTH, Selection::default());
        let files = zip(&folder);
        let text = |name: &str| String::from_utf8(files[name].clone()).unwrap();
        assert!(text("Target.md").ends_with(&target), "{}", text("Target.md"));
        assert!(text("_con/in.md").ends_with(inside), "{}", text("_con/in.md"));
        let (name, links) = match format {
            Format::Obsidian => ("Plan.md", moved),
            _ => (&*made.0, same),
        };
        assert!(text(name).ends_with(&format!("{links} [[_aux (2)]]\n")), "{}", text(name));
    }
}

#[test]
fn a_new_name_takes_no_links_of_another_note() {
    let made = made(1, "Foo", "");
    let folder = Folder::with_files(&[
        (&*made.0, &*made.1),
        ("Sub/Foo.md", ""),
        ("Sub/b.md", "[[Foo]] [[foo]] [[Sub/Foo]] [[./Foo]]"),
        ("mdx.mdx", ""),
        ("a/_mdx.md", ""),
        ("a/mdx.md", "[[mdx]]"),
    ]);
    for (format, b) in [
        (Format::Markdown, "[[Foo]] [[foo]] [[Sub/Foo]] [[./Foo]]"),
        (Format::Obsidian, "[[Sub/Foo]] [[Sub/Foo]] [[Sub/Foo]] [[./Foo]]"),
    ] {
        exported(&folder, format, BOTH, Selection::default());
        let text = |name: &str| String::from_utf8(zip(&folder)[name].clone()).unwrap();
        assert!(text("Sub/b.md").ends_with(b), "{}", text("Sub/b.md"));
        assert!(text("a/mdx.md").ends_with("[[mdx]]"), "{}", text("a/mdx.md"));
    }
}

#[test]
fn names_that_differ_in_composition_alone_are_two_files() {
    let [composed, decomposed] = ["Caf\u{e9}", "Cafe\u{301}"];
    let text = |name: &str| format!("[[{name}]] [x]({name}.md)");
    let folder = Folder::with_files(&[
        (&*format!("{composed}.md"), "one"),
        (&*format!("{decomposed}.md"), "two"),
        ("U\u{308}ber.md", ""),
        ("a.md", &text(composed)),
        ("b.md", &text(decomposed)),
        ("c.md", &text("U\u{308}ber")),
        ("d.md", &text("\u{dc}ber")),
    ]);
    for format in [Format::Markdown, Format::Obsidian] {
        exported(&folder, format, BOTH, Selection::default());
        let files = zip(&folder);
        for (name, expected) in [
            ("Caf\u{e9}.md", "one"),
            ("Caf\u{e9} (2).md", "two"),
            ("a.md", "[[Caf\u{e9}]] [x](Caf\u{e9}.md)"),
            ("b.md", "[[Caf\u{e9} (2)]] [x](Caf\u{e9}%20%282%29.md)"),
            ("c.md", "[[\u{dc}ber]] [x](\u{dc}ber.md)"),
            ("d.md", "[[\u{dc}ber]] [x](\u{dc}ber.md)"),
        ] {
            let found = String::from_utf8_lossy(&files[name]);
            assert!(found.ends_with(expected), "{name}: {found}");
        }
    }
}

#[test]
fn files_in_a_zip_have_the_times_of_their_notes() {
    let folder = Folder::with_files(&[("a.md", "")]);
    for (seconds, expected) in [
        (0, (1980, 1, 1, 0, 0, 0)),
        (1_709_210_096, (2024, 2, 29, 12, 34, 56)),
        (4_294_967_294, (2106, 2, 7, 6, 28, 14)),
    ] {
        let file = File::options().append(true).open(folder.path("a.md")).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
        folder.follow();
        for format in [Format::Markdown, Format::Obsidian] {
            exported(&folder, format, BOTH, Selection::default());
            let mut zip = ZipArchive::new(File::open(folder.beside("export")).unwrap()).unwrap();
            let time = zip.by_name("a.md").unwrap().last_modified().unwrap();
            let (hour, minute, second) = (time.hour(), time.minute(), time.second());
            assert_eq!((time.year(), time.month(), time.day(), hour, minute, second), expected);
        }
    }
}

#[test]
fn front_matter_of_a_vault_leads_where_it_led() {
    let plan = made(1, "Plan", "");
    let mentioned = made(4, "Mentioned", "");
    let [plan_name, name] = [&plan.0, &mentioned.0].map(|path| path[6..path.len() - 3].to_owned());
    let links = ["C# a.md", "Plan.md"].map(|path| format!("{{to: {}, relation: cites}}", derived_id(path)));
    let up = format!("up: \"[[{name}]]\"\n");
    let moved = "also:\n  - \"[[aux|a]]\"\n";
    let folder = Folder::with_files(&[
        (&plan.0, plan.1.as_str()),
        (&mentioned.0, &mentioned.1),
        ("aux.md", "---\naliases: John Doe\n---\n"),
        ("b.md", "---\nAliases: [Jo, 'a #b']\n---\n# Other\n"),
        ("Source.md", &format!("---\n{up}{moved}links: [{}]\n---\n{plan_name}", links[0])),
        ("C# a.md", ""),
    ]);
    for format in [Format::Markdown, Format::Obsidian] {
        exported(&folder, format, BOTH, Selection::default());
        let files = zip(&folder);
        let text = |name: &str| String::from_utf8(files[name].clone()).unwrap();
        let source = text("Source.md");
        assert!(source.contains(&up) && source.contains(&moved.replace("aux", "_aux")), "{source}");
        assert!(files.contains_key(&mentioned.0), "{:?}", files.keys());
        if format == Format::Obsidian {
            assert!(source.ends_with("- [C# a](C%23%20a.md)\n"), "{source}");
            assert!(text("_aux.md").contains("aliases:\n  - aux\n  - John Doe\n"), "{}", text("_aux.md"));
            let b = text("b.md");
            assert!(
                b.contains("Aliases:\n  - Other\n  - Jo\n  - \"a #b\"\n") && !b.contains("aliases"),
                "{b}"
            );
        }
    }
}

#[test]
fn what_is_not_understood_is_exported() {
    let link = |rest: &str| format!("{{to: {}, relation: cites{rest}}}", derived_id("b.md"));
    let links = format!("links: [{}, {}, '[[b]]']", link(""), link(", why: w, metadata: {x: 1}"));
    let text = format!("---\n{links}\ntags: [a, {{b: c}}]\nagent: {{name: n, model: m}}\n---\n");
    let folder = Folder::with_files(&[("a.md", text.as_str()), ("b.md", ""), ("c.md", "c")]);
    folder.write("c.md", b"caf\xe9");
    folder.follow();
    exported(&folder, Format::Json, BOTH, Selection::default());
    let json = json(&folder);
    let a = json["notes"].as_array().unwrap().iter().find(|note| note["title"] == "a").unwrap();
    let others = serde_json::json!({ "links": ["[[b]]"], "tags": [{ "b": "c" }], "agent": { "name": "n", "model": "m" } });
    assert_eq!((&a["metadata"], &a["path"]), (&others, &"a.md".into()));
    assert_eq!(json["links"][1]["why"], "w", "{json}");
    exported(&folder, Format::Obsidian, BOTH, Selection::default());
    let files = zip(&folder);
    assert_eq!(files["c.md"], b"caf\xe9");
    let note = Note::parse("a.md", &files["a.md"]);
    let mut expected = Note::parse("a.md", text.as_bytes()).metadata;
    expected.links.remove(0);
    assert_eq!((note.metadata.links, note.metadata.tags), (expected.links, expected.tags));
    assert_eq!(note.metadata.others, expected.others);
}

#[test]
fn wiki_links_follow_names_with_any_character() {
    for character in [':', '*', '?', '"', '<', '>'] {
        let text = |name: &str| format!("[[{name}]] ![[{name}#H?]] [[{name}|q?]] [[in/{name}]]");
        let name = format!("x{character}y");
        let [path, below] = [format!("{name}.md"), format!("in/{name}.md")];
        let folder = Folder::with_files(&[(&*path, ""), (&below, ""), ("other.md", &text(&name))]);
        for format in [Format::Markdown, Format::Obsidian] {
            exported(&folder, format, BOTH, Selection::default());
            let other = String::from_utf8(zip(&folder)["other.md"].clone()).unwrap();
            assert!(other.ends_with(&text("x_y")), "{character:?}: {other}");
        }
    }
}

#[test]
fn a_vault_has_the_line_endings_of_its_files() {
    let link = format!("links: [{{to: {}, relation: cites}}]", derived_id("b.md"));
    let text = format!("---\ntitle: Plan\n{link}\n---\nText\n");
    let crlf = text.replace('\n', "\r\n");
    let folder = Folder::with_files(&[("a.md", crlf.as_str()), ("b.md", "One\r\n"), ("c.md", &text)]);
    for parts in [BOTH, [false, true]] {
        exported(&folder, Format::Obsidian, parts, Selection::default());
        for (name, bytes) in zip(&folder) {
            let text = String::from_utf8(bytes).unwrap();
            let returns = text.matches("\r\n").count();
            assert_eq!(returns, if name == "c.md" { 0 } else { text.matches('\n').count() }, "{text:?}");
        }
    }
}

#[test]
fn without_content_the_files_are_front_matter_alone() {
    let folder = vault();
    exported(&folder, Format::Markdown, [false, true], Selection::default());
    let files = zip(&folder);
    assert_eq!(files.len(), 4);
    assert!(
        files.iter().filter(|(name, _)| name.ends_with(".md")).all(|(_, bytes)| bytes.ends_with(b"\n---\n"))
    );
    let empty = Folder::with_files(&[]);
    exported(&empty, Format::Json, BOTH, Selection::default());
    assert_eq!(
        (json(&empty)["notes"].clone(), json(&empty)["links"].clone()),
        (Value::Array(vec![]), Value::Array(vec![]))
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn what_is_exported_reads_back_equal(notes in vec((metadata(), content()), 1..6)) {
        let folder = Folder::new();
        for (number, (metadata, content)) in notes.iter().enumerate() {
            let metadata = Metadata { id: Some(Uuid::from_u128(number as u128)), ..metadata.clone() };
            folder.write(&format!("{number}.md"), render(&metadata, content).unwrap());
        }
        folder.follow();
        let entries = folder.list(&Selection::default());
        exported(&folder, Format::Json, BOTH, Selection::default());
        for (entry, found) in entries.iter().zip(json(&folder)["notes"].as_array().unwrap()) {
            let number: usize = entry.path.trim_end_matches(".md").parse().unwrap();
            prop_assert_eq!(&found["id"], &Value::from(entry.id.to_string()));
            prop_assert_eq!(found["content"].as_str(), Some(notes[number].1.as_str()));
            for (key, value) in &notes[number].0.others {
                prop_assert_eq!(&found["metadata"][key], value);
            }
        }
        exported(&folder, Format::Markdown, [true, false], Selection::default());
        let files = zip(&folder);
        prop_assert_eq!(files.len(), notes.len());
        for bytes in files.values() {
            let path = format!("{}.md", Note::parse("", bytes).metadata.id.unwrap().as_u128());
            prop_assert_eq!(bytes, &std::fs::read(folder.path(&path)).unwrap());
        }
        exported(&folder, Format::Obsidian, [true, false], Selection::default());
        let files = zip(&folder);
        prop_assert_eq!(files.len(), notes.len());
        for bytes in files.values() {
            let note = Note::parse("", bytes);
            let number = note.metadata.id.unwrap().as_u128() as usize;
            prop_assert_eq!(note.content(), &notes[number].1);
        }
    }
}
