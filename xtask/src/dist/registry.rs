//! `server.json`, the MCP registry's description of the server and its packages.

use serde_json::json;

use super::{bundle, product::Product};
use xtask::Outcome;

const SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

/// Returns the file's text. `bundle_digest` is the SHA-256 digest of the bundle, which clients compare.
pub(super) fn server(product: &Product, bundle_digest: &str) -> Outcome<String> {
    let stdio = json!({ "type": "stdio" });
    let server = json!({
        "$schema": SCHEMA,
        "name": product.registry_name(),
        "title": "Tabellion",
        "description": product.description,
        "version": product.version,
        "repository": { "url": product.repository, "source": product.host() },
        "packages": [
            {
                "registryType": "npm",
                "identifier": product.name,
                "version": product.version,
                "runtimeHint": "npx",
                "transport": stdio,
                "packageArguments": [
                    { "type": "positional", "value": "serve" },
                    {
                        "type": "named",
                        "name": "--library",
                        "description": "The folder with your Markdown files",
                        "format": "filepath",
                        "isRequired": true,
                    },
                ],
            },
            {
                "registryType": "mcpb",
                "identifier": product.url(&bundle::file_name(product)),
                "fileSha256": bundle_digest,
                "transport": stdio,
            },
        ],
    });
    Ok(serde_json::to_string_pretty(&server)? + "\n")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::dist::{Kind, archive};

    /// The demands of the registry's schema on the members that are used here; the schema has more.
    fn rules() -> Value {
        let input = json!({ "format": { "enum": ["string", "number", "boolean", "filepath"] } });
        json!({
            "required": ["name", "description", "version"],
            "properties": {
                "name": { "pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", "minLength": 3, "maxLength": 200 },
                "title": { "minLength": 1, "maxLength": 100 },
                "description": { "minLength": 1, "maxLength": 100 },
                "version": { "pattern": "^\\d+\\.\\d+\\.\\d+(-[0-9A-Za-z.-]+)?$" },
                "repository": { "required": ["url", "source"] },
                "packages": { "items": {
                    "required": ["registryType", "identifier", "transport"],
                    "properties": {
                        "transport": { "const": { "type": "stdio" } },
                        "fileSha256": { "pattern": "^[a-f0-9]{64}$" },
                        "packageArguments": { "items": {
                            "properties": input,
                            "oneOf": [
                                { "properties": { "type": { "const": "named" } }, "required": ["type", "name"] },
                                {
                                    "properties": { "type": { "const": "positional" } },
                                    "required": ["type"],
                                    "anyOf": [{ "required": ["value"] }, { "required": ["valueHint"] }],
                                },
                            ],
                        } },
                    },
                    // The registry itself: a bundle has a digest, and its URL contains `mcp`.
                    "if": { "properties": { "registryType": { "const": "mcpb" } } },
                    "then": { "required": ["fileSha256"], "properties": { "identifier": { "pattern": "^https://.*mcp" } } },
                } },
            },
        })
    }

    #[test]
    fn the_registry_accepts_the_server() {
        let validator = jsonschema::validator_for(&rules()).unwrap();
        let product = Product::read(Kind::Server).unwrap();
        let server: Value = serde_json::from_str(&server(&product, &archive::digest(b"")).unwrap()).unwrap();
        let problems: Vec<_> = validator.iter_errors(&server).map(|error| error.to_string()).collect();
        assert_eq!(problems, Vec::<String>::new());
        for (pointer, bad) in [
            ("/name", json!("tabellion")),
            ("/description", json!("x".repeat(101))),
            ("/packages/0/packageArguments/0", json!({ "type": "positional" })),
            ("/packages/1/fileSha256", json!("ABC")),
        ] {
            let mut server = server.clone();
            *server.pointer_mut(pointer).unwrap() = bad;
            assert!(!validator.is_valid(&server), "{pointer}");
        }
    }
}
