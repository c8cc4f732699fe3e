use std::fs;

use super::*;

const fn field(
    name: &'static str,
    kind: ProvenanceType,
    from: &'static [ProvenancePlace],
) -> ProvenanceField {
    ProvenanceField { name, kind, keys: &[], headers: &[], from, discover: None, default: None }
}

const CONFIG: &[ProvenancePlace] = &[ProvenancePlace::Config];
static FIELDS: [ProvenanceField; 4] = [
    field("model_id", ProvenanceType::String, CONFIG),
    field("project_id", ProvenanceType::String, CONFIG),
    field("level", ProvenanceType::Integer, CONFIG),
    field("delegated", ProvenanceType::Boolean, &[]),
];

/// Reads files of these texts, by path, from the workspace `work/tree/deep` and the server's folder `data`.
fn read(files: &[(&str, &str)]) -> Result<Value, String> {
    let folder = tempfile::tempdir().expect("a folder");
    for path in ["work/tree/.git", "work/tree/deep", "data"] {
        fs::create_dir_all(folder.path().join(path)).expect("folders");
    }
    for (path, text) in files {
        fs::write(folder.path().join(path).join(FILE), text).expect("written");
    }
    let fields: Vec<_> = FIELDS.iter().collect();
    let config = Config::read(&folder.path().join("work/tree/deep"), &[folder.path().join("data")], &fields);
    let root = folder.path().display().to_string();
    config.map(|config| Value::Object(config.0)).map_err(|error| error.to_string().replace(&root, ""))
}

#[test]
fn the_workspaces_file_comes_before_the_servers() {
    for (files, expected) in [
        (&[][..], serde_json::json!({})),
        (
            &[("data", "[provenance]\nmodel_id = \"d\"\nlevel = 3")],
            serde_json::json!({ "model_id": "d", "level": 3 }),
        ),
        (
            &[
                ("work/tree", "[git]\ndepth = 50\n[provenance]\nproject_id = \"t\""),
                ("data", "[provenance]\nproject_id = \"d\"\nmodel_id = \"d\""),
            ],
            serde_json::json!({ "project_id": "t", "model_id": "d" }),
        ),
        (
            &[("work/tree/deep", "[git]"), ("work/tree", "[provenance]\nproject_id = \"t\"")],
            serde_json::json!({}),
        ),
        (&[("work", "[provenance]\nproject_id = \"outside\"")], serde_json::json!({})),
    ] {
        assert_eq!(read(files), Ok(expected), "{files:?}");
    }
}

#[test]
fn a_wrong_configuration_is_refused_with_its_file() {
    for (text, expected) in [
        ("[provenance", "`/data/.mcp-context.toml` is not TOML: "),
        ("provenance = 3", "`provenance` in `[provenance]` of `/data/.mcp-context.toml` must be a table"),
        (
            "[provenance]\nmodel = \"x\"",
            "`model` in `[provenance]` of `/data/.mcp-context.toml` can't be configured; these can: model_id, project_id, level",
        ),
        (
            "[provenance]\ndelegated = true",
            "`delegated` in `[provenance]` of `/data/.mcp-context.toml` can't be configured; these can: model_id, project_id, level",
        ),
        (
            "[provenance]\nmodel_id = 7",
            "`model_id` in `[provenance]` of `/data/.mcp-context.toml` is of type `integer`; write a value of type `string`",
        ),
    ] {
        let error = read(&[("data", text)]).expect_err(text);
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

/// A clone may contain any file as its configuration: the server neither waits for it, nor reads it without bound, nor
/// repeats it in errors.
#[cfg(unix)]
#[test]
fn only_a_regular_file_of_the_folder_itself_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let outside = folder.path().join("outside");
    fs::write(&outside, "secret line").expect("a file");
    let path = folder.path().join("ws").join(FILE);
    fs::create_dir_all(folder.path().join("ws/.git")).expect("folders");
    let link = |target: &Path| std::os::unix::fs::symlink(target, &path).expect("a link");
    for kind in ["pipe", "device", "outside", "large"] {
        match kind {
            "pipe" => {
                assert!(std::process::Command::new("mkfifo").arg(&path).status().expect("it runs").success())
            }
            "device" => link(Path::new("/dev/zero")),
            "outside" => link(&outside),
            _ => fs::File::create(&path)
                .and_then(|file| file.set_len(6_000_000_000))
                .expect("a file with holes"),
        }
        let fields: Vec<_> = FIELDS.iter().collect();
        let error = Config::read(&folder.path().join("ws"), &[], &fields).expect_err(kind).to_string();
        assert!(error.contains(FILE) && !error.contains("secret"), "{kind}: {error}");
        fs::remove_file(&path).expect("removed");
    }
}
