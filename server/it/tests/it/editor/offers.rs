//! Resources, prompts and completions.

use super::*;

fn read(session: &mut EditorSession, name: &str) -> Value {
    let resources = session.ask("resources/list", json!({}));
    let resources = resources["resources"].as_array().cloned().expect("resources");
    let found = resources.iter().find(|resource| resource["name"] == name);
    let uri = found.unwrap_or_else(|| panic!("no resource {name}"))["uri"].clone();
    let read = session.ask("resources/read", json!({ "uri": uri }));
    let contents = &read["contents"][0];
    assert_eq!(contents["mimeType"], "application/json");
    serde_json::from_str(contents["text"].as_str().expect("text")).expect("JSON")
}

#[test]
fn the_resources_describe_the_document_and_its_history() {
    let mut session = EditorSession::with(TREE);
    assert_eq!(read(&mut session, "document"), json!({ "document": TREE }));
    assert_eq!(read(&mut session, "history"), json!({ "history": [] }));
    let metadata = read(&mut session, "metadata");
    assert_eq!(metadata["title"], "A");
    assert_eq!(metadata["created"], metadata["modified"]);

    session.edit("insert_section", insert("X", "x", 1));
    session.edit("undo", json!({}));
    session.restart();
    let history = read(&mut session, "history");
    let history = history["history"].as_array().expect("a history");
    let tools: Vec<_> = history.iter().map(|entry| entry["operation"].as_str().expect("a tool")).collect();
    assert_eq!(tools, ["insert_section", "undo"]);
    assert_eq!(history[0]["details"]["heading"], "X");
    assert_eq!(history[1]["details"]["undoes"], history[0]["details"]["commit"]);
    let metadata = read(&mut session, "metadata");
    assert_eq!(metadata["modified"], history[1]["timestamp"]);

    let front_matter = "---\ntitle: The plan\nauthor: A. B.\ncreated: 2020-01-02\n---\n\n# A\n";
    session.library.put(PATH, front_matter);
    let metadata = read(&mut session, "metadata");
    assert_eq!(
        (&metadata["title"], &metadata["author"], &metadata["created"]),
        (&json!("The plan"), &json!("A. B."), &json!("2020-01-02T00:00:00Z"))
    );
}

#[test]
fn prompts_contain_the_section_with_its_subsections() {
    let mut session = EditorSession::with(TREE);
    let id = session.id("B");
    for (name, arguments, text) in [
        (
            "summarize_section",
            json!({ "section": id }),
            "Summarize the following section:\nb\n\n### C\n\nc".to_owned(),
        ),
        ("summarize_section", json!({ "section": "C" }), "Summarize the following section:\nc".into()),
        (
            "rewrite_section",
            json!({ "section": "## B" }),
            "Rewrite the following section for clarity and conciseness:\nb\n\n### C\n\nc".into(),
        ),
        ("generate_outline", json!({}), format!("Generate an outline for the following document:\n{TREE}")),
    ] {
        let prompt = session.ask("prompts/get", json!({ "name": name, "arguments": arguments }));
        assert_eq!(prompt["messages"][0]["content"]["text"], text, "{name}");
    }
}

#[test]
fn completion_offers_headings_and_ids_that_name_one_section() {
    let mut session = EditorSession::with("# Plan\n\n## Notes\n\n## Places\n\n# Other\n\n## Notes\n");
    let list = session.list();
    let id = |position: usize| list[position].0.clone();
    for (value, expected) in [
        ("pl", vec!["Plan".into(), "Places".into(), id(0), id(2)]),
        ("Notes", vec![id(1), id(4)]),
        (&id(3), vec![id(3)]),
        ("nothing", vec![]),
    ] {
        let params = json!({
            "ref": { "type": "ref/prompt", "name": "summarize_section" },
            "argument": { "name": "section", "value": value },
        });
        let completion = session.ask("completion/complete", params);
        assert_eq!(completion["completion"]["values"], json!(expected), "{value}");
    }
}

/// A prompt finds each offered name: a heading that two sections have as their text is none, nor one that looks like an id.
#[test]
fn completion_offers_no_heading_that_a_prompt_refuses() {
    let mut session = EditorSession::with("# **Bold**\n\n# Bold\n\n# s-0000000000000000\n");
    let params = json!({
        "ref": { "type": "ref/prompt", "name": "summarize_section" },
        "argument": { "name": "section", "value": "" },
    });
    let offered = session.ask("completion/complete", params)["completion"]["values"].clone();
    let ids = session.list().into_iter().map(|(id, _)| id);
    assert_eq!(offered, json!(std::iter::once("**Bold**".to_owned()).chain(ids).collect::<Vec<_>>()));
}
