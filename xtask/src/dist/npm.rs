//! npm packages: one with the program for each platform, and one that depends on them all and runs the installed one. No script runs at
//! installation: many people forbid them.

use serde_json::{Map, Value, json};

use super::{
    archive::{self, Entry},
    product::{Kind, Product},
    release::{Release, licences},
    targets::{Format, Target},
};
use xtask::Outcome;

const LAUNCHER: &str = include_str!("../../packages/launch.js");
/// Minimum version of Node.
const NODE: &str = ">=18";

/// Returns the path and the bytes of each package, in the form of `npm publish`.
pub(super) fn packages(product: &Product, releases: &[Release]) -> Outcome<Vec<(String, Vec<u8>)>> {
    let mut packages = Vec::new();
    for release in releases {
        let (system, architecture) = release.target.node;
        let program = Entry::program(release.target.program(&product.name), &*release.program);
        packages.push((
            format!("npm/{}-{system}-{architecture}-{}.tgz", product.name, product.version),
            package(&for_platform(product, &release.target), vec![program])?,
        ));
    }
    let launcher = Entry::program(format!("{}.js", product.name), product.fill(LAUNCHER, &[])?);
    let readme = Entry::file("README.md", product.fill(product.readme, &[])?);
    packages.push((
        format!("npm/{}-{}.tgz", product.name, product.version),
        package(&wrapper(product, releases), vec![launcher, readme])?,
    ));
    Ok(packages)
}

/// Returns a package with its manifest and the licences.
fn package(manifest: &Value, mut entries: Vec<Entry>) -> Outcome<Vec<u8>> {
    entries.insert(0, Entry::file("package.json", serde_json::to_string_pretty(manifest)?));
    entries.extend(licences()?);
    for entry in &mut entries {
        entry.path.insert_str(0, "package/");
    }
    archive::pack(Format::TarGz, &entries)
}

/// Returns the name of the package with the program. Only the scope's owner can publish under it.
fn name(product: &Product, target: &Target) -> String {
    let (system, architecture) = target.node;
    format!("{}{system}-{architecture}", product.npm_prefix())
}

/// Returns the common part of the manifests.
fn manifest(product: &Product, name: &str) -> Map<String, Value> {
    let mut manifest = Map::new();
    for (key, value) in [
        ("name", json!(name)),
        ("version", json!(product.version)),
        ("description", json!(product.description)),
        ("license", json!(product.license)),
        ("repository", json!({ "type": "git", "url": format!("git+{}.git", product.repository) })),
        ("homepage", json!(product.repository)),
        ("publishConfig", json!({ "access": "public" })),
    ] {
        manifest.insert(key.into(), value);
    }
    manifest
}

/// A static program needs no `libc` of the platform.
fn for_platform(product: &Product, target: &Target) -> Value {
    let (system, architecture) = target.node;
    let mut manifest = manifest(product, &name(product, target));
    manifest.insert("os".into(), json!([system]));
    manifest.insert("cpu".into(), json!([architecture]));
    manifest.insert("preferUnplugged".into(), json!(true));
    manifest.into()
}

fn wrapper(product: &Product, releases: &[Release]) -> Value {
    let packages: Map<_, _> =
        releases.iter().map(|release| (name(product, &release.target), json!(product.version))).collect();
    let mut manifest = manifest(product, &product.name);
    let launcher = format!("{}.js", product.name);
    manifest.insert("keywords".into(), json!(product.keywords));
    if product.kind == Kind::Server {
        manifest.insert("mcpName".into(), json!(product.registry_name()));
    }
    manifest.insert("bin".into(), json!({ (&*product.name): launcher }));
    manifest.insert("engines".into(), json!({ "node": NODE }));
    manifest.insert("optionalDependencies".into(), packages.into());
    manifest.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wrapper_depends_on_exactly_the_packages_with_programs() {
        let product = Product::example("https://github.com/owner/tool");
        let releases = Release::examples();
        let mut packages = packages(&product, &releases).unwrap();
        let manifest = |bytes: &[u8]| -> Value {
            let text = archive::unpack(Format::TarGz, bytes, "package/package.json").unwrap();
            serde_json::from_slice(&text).unwrap()
        };
        let (_, wrapper) = packages.pop().unwrap();
        let wrapper = manifest(&wrapper);
        let mut found = Map::new();
        for ((_, bytes), release) in packages.iter().zip(&releases) {
            let package = manifest(bytes);
            let (system, architecture) = release.target.node;
            assert_eq!((&package["os"], &package["cpu"]), (&json!([system]), &json!([architecture])));
            let program = format!("package/{}", release.target.program("tool"));
            let program = archive::unpack(Format::TarGz, bytes, &program).unwrap();
            assert_eq!(program, release.program);
            // The name that the wrapper's script requires.
            assert_eq!(package["name"], json!(format!("@tool/{system}-{architecture}")));
            found.insert(package["name"].as_str().unwrap().into(), package["version"].clone());
        }
        assert_eq!(wrapper["optionalDependencies"], Value::from(found));
        assert_eq!(wrapper["mcpName"], "io.github.owner/tool");
        assert!(wrapper.get("scripts").is_none());
    }
}
