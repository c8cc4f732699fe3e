//! The bundle (`.mcpb`) that Claude Desktop and other clients install when it is opened: programs and a manifest.
//!
//! A manifest can distinguish systems, but not architectures. So one bundle contains all programs, and outside of Windows a script chooses.

use std::path::Path;

use serde_json::{Value, json};

use super::{
    archive::{self, Entry},
    product::Product,
    release::{Release, licences},
    targets::Format,
};
use xtask::{
    Outcome,
    foreign::{Missing, Node},
};

/// Version of the manifest's format.
const FORMAT: &str = "0.3";
/// The npm package that validates manifests.
const TOOL: (&str, &str) = ("@anthropic-ai/mcpb", "2.1.2");
const LAUNCHER: &str = include_str!("../../packages/launch.sh");

/// Returns the bundle's file name.
pub(super) fn file_name(product: &Product) -> String {
    format!("{}-{}.mcpb", product.name, product.version)
}

/// Returns the bundle.
pub(super) fn pack(product: &Product, releases: &[Release]) -> Outcome<Vec<u8>> {
    let manifest = serde_json::to_string_pretty(&manifest(product, releases))?;
    let mut entries = vec![Entry::file("manifest.json", manifest)];
    entries.extend(licences()?);
    entries.push(Entry::program(format!("server/{}", product.name), LAUNCHER));
    for release in releases {
        let name = release.target.program(&product.name);
        let path = match release.target.uname {
            Some(system) => format!("server/{system}/{name}"),
            None => format!("server/{name}"),
        };
        entries.push(Entry::program(path, &*release.program));
    }
    archive::pack(Format::Zip, &entries)
}

fn manifest(product: &Product, releases: &[Release]) -> Value {
    let mut platforms: Vec<_> = releases.iter().map(|release| release.target.node.0).collect();
    platforms.sort_unstable();
    platforms.dedup();
    let program = format!("${{__dirname}}/server/{}", product.name);
    json!({
        "manifest_version": FORMAT,
        "name": product.name,
        "display_name": "Tabellion",
        "version": product.version,
        "description": product.description,
        "author": { "name": "The Tabellion contributors" },
        "repository": { "type": "git", "url": product.repository },
        "license": product.license,
        "keywords": ["markdown", "notes", "obsidian", "git"],
        "server": {
            "type": "binary",
            "entry_point": format!("server/{}", product.name),
            "mcp_config": {
                "command": program,
                "args": ["serve", "--library", "${user_config.library}"],
                "env": {},
                "platform_overrides": { "win32": { "command": format!("{program}.exe") } },
            },
        },
        "tools_generated": true,
        "compatibility": { "platforms": platforms },
        "user_config": {
            "library": {
                "type": "directory",
                "title": "Folder of notes",
                "description": "The folder with your Markdown files. A git repository is created in it if there is none.",
                "required": true,
                // Over standard input and output, a server serves one library.
                "multiple": false,
            },
        },
    })
}

/// Has the format's own tool validate the manifest of a bundle.
///
/// # Errors
/// With [`Missing`] if the tool can't be installed.
pub(super) fn validate(bundle: &Path) -> Outcome {
    let (package, version) = TOOL;
    let node = Node::find()?;
    let tool = node.package("mcpb", package, version)?.join("dist/cli/cli.js");
    if !tool.is_file() {
        return Err(Missing::boxed(format!("{package} {version} has no `dist/cli/cli.js`")));
    }
    let unpacked = tempfile::tempdir()?;
    for arguments in [
        vec!["unpack".as_ref(), bundle.as_os_str(), unpacked.path().as_os_str()],
        vec!["validate".as_ref(), unpacked.path().join("manifest.json").as_os_str()],
    ] {
        let output = node.run(&tool).args(arguments).output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stdout);
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(format!("the bundle is not valid:\n{said}{errors}").into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_has_every_program_that_its_manifest_or_its_script_names() {
        let product = Product::example("https://example.com/tool");
        let releases = Release::examples();
        let bundle = pack(&product, &releases).unwrap();
        let read = |path: &str| archive::unpack(Format::Zip, &bundle, path).unwrap();
        let manifest: Value = serde_json::from_slice(&read("manifest.json")).unwrap();
        let config = &manifest["server"]["mcp_config"];
        for (command, expected) in [
            (&config["command"], LAUNCHER),
            (&config["platform_overrides"]["win32"]["command"], "x86_64-pc-windows-gnu"),
        ] {
            let path = command.as_str().unwrap().strip_prefix("${__dirname}/").unwrap();
            assert_eq!(read(path), expected.as_bytes());
        }
        for release in releases {
            let Some(system) = release.target.uname else {
                continue;
            };
            assert_eq!(read(&format!("server/{system}/tool")), release.program);
        }
        assert_eq!(manifest["compatibility"]["platforms"], json!(["darwin", "linux", "win32"]));
    }
}
