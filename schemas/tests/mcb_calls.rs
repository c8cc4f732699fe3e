//! mcb's modes and provenance match two tables of its source document.

use std::{collections::BTreeMap, fs, path::Path};

use tabellion_contracts::mcb::{CONTRACT, MODES, PROVENANCE};
use tabellion_runtime::spec::{ProvenanceType, ProvenanceUse};

/// Returns the cells of the first table after a heading, without backticks, with the header row first.
fn table(heading: &str) -> Vec<Vec<String>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("mcb/source.md");
    let source = fs::read_to_string(source).expect("the source document");
    let (_, after) = source.split_once(heading).expect("the heading");
    let lines = after.lines().skip_while(|line| !line.starts_with('|'));
    let lines = lines.take_while(|line| line.starts_with('|'));
    let cells = |line: &str| -> Vec<_> {
        let cells = line.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().replace(['`', '*'], "")).collect()
    };
    let is_rule = |line: &&str| line.chars().all(|it| "|-: ".contains(it));
    lines.filter(|line| !is_rule(line)).map(cells).collect()
}

#[test]
fn each_tool_may_be_called_in_the_modes_of_the_matrix() {
    let table = table("## Operation Mode Matrix");
    let names = &table[0][1..];
    assert_eq!(MODES.names, names);
    let matrix: BTreeMap<_, _> = table[1..]
        .iter()
        .map(|row| {
            let allowed = names.iter().zip(&row[1..]).filter(|(_, cell)| *cell == "✅");
            (row[0].as_str(), allowed.map(|(name, _)| name.as_str()).collect::<Vec<_>>())
        })
        .collect();
    assert_eq!(matrix.len() * names.len(), 27, "nine tools in three modes");
    assert!(!CONTRACT.tools.is_empty());
    for tool in CONTRACT.tools {
        assert_eq!(tool.modes, matrix[tool.name], "{}", tool.name);
    }
}

#[test]
fn the_required_fields_are_those_of_the_table_in_its_order() {
    let table = table("## Provenance Requirements");
    let required: Vec<_> = table[1..].iter().map(|row| row[0].as_str()).collect();
    assert_eq!(PROVENANCE.required, required);
    for row in &table[1..] {
        let field = PROVENANCE.field(&row[0]).expect("a field");
        assert_eq!((field.kind.to_string(), row[2].as_str()), (row[1].clone(), "yes"), "{}", row[0]);
    }
    let [also] = PROVENANCE.also_if else {
        panic!("there is one condition");
    };
    assert_eq!((also.field, also.then), ("delegated", &["parent_session_id"][..]));
    for tool in CONTRACT.tools {
        let used = match tool.name {
            "index" | "search" | "memory" => Some(ProvenanceUse::Required),
            _ => Some(ProvenanceUse::Kept),
        };
        assert_eq!(tool.provenance, used, "{}", tool.name);
    }
}

/// Returns a different spelling of a name: `sessionId`, or with other separators.
fn spelt(name: &str, separator: &str) -> String {
    let mut words = name.split('_');
    if separator != "aA" {
        return words.collect::<Vec<_>>().join(separator);
    }
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |text, word| text + &word[..1].to_uppercase() + &word[1..])
}

#[test]
fn fields_have_keys_and_headers_in_the_usual_spellings() {
    for field in PROVENANCE.fields {
        let name = field.name;
        let mut keys = vec![name.to_owned(), spelt(name, "aA")];
        keys.extend([spelt(&format!("x_{name}"), "-"), format!("x_{name}")]);
        let mut headers = vec![format!("X-{}", spelt(name, "-")).to_lowercase()];
        // The exceptions.
        match name {
            "agent_program" => keys.insert(2, "ide".into()),
            "model_id" => keys.insert(1, "model".into()),
            "delegated" => {
                keys = ["delegated", "is_delegated", "isDelegated", "x-delegated"].map(String::from).into();
            }
            "repo_path" => headers.push("x-workspace-root".into()),
            "timestamp" => (keys, headers) = (vec!["timestamp".into()], vec![]),
            _ => {}
        }
        assert_eq!(field.keys, keys, "{name}");
        let found: Vec<_> = field.headers.iter().map(|header| header.to_lowercase()).collect();
        assert_eq!(found, headers, "{name}");
        assert!(field.kind == ProvenanceType::String || field.discover.is_none(), "{name}");
    }
}
