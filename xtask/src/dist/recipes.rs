//! Files for other packagers: a Homebrew formula, a Scoop manifest, and the context of a container image.

use serde_json::json;

use super::{
    product::Product,
    release::{Release, licences},
};
use xtask::Outcome;

const FORMULA: &str = include_str!("../../packages/tabellion.rb");
const CONTAINERFILE: &str = include_str!("../../packages/Containerfile");

/// Returns the path and the bytes of each file.
pub(super) fn all(product: &Product, releases: &[Release]) -> Outcome<Vec<(String, Vec<u8>)>> {
    let mut files = vec![(format!("{}.rb", product.name), formula(product, releases)?.into_bytes())];
    if let Some(release) = releases.iter().find(|release| release.target.is_windows()) {
        files.push((format!("{}.json", product.name), scoop(product, release)?.into_bytes()));
    }
    files.extend(container(product, releases)?);
    Ok(files)
}

fn formula(product: &Product, releases: &[Release]) -> Outcome<String> {
    let mut blocks = Vec::new();
    for release in releases {
        let Some((system, architecture)) = release.target.homebrew else {
            continue;
        };
        let (url, digest) = (product.url(&release.archive), &release.digest);
        blocks.push(format!(
            "  on_{system} do\n    on_{architecture} do\n      url \"{url}\"\n      sha256 \"{digest}\"\n    end\n  end"
        ));
    }
    product.fill(FORMULA, &[("downloads", &blocks.join("\n"))])
}

fn scoop(product: &Product, release: &Release) -> Outcome<String> {
    let stem = release.target.stem(&product.name, &product.version);
    // Scoop replaces `$version` in the texts that it searches next time.
    let next = |text: &str| text.replace(&product.version, "$version");
    let url = product.url(&release.archive);
    let manifest = json!({
        "version": product.version,
        "description": product.description,
        "homepage": product.repository,
        "license": product.license.replace(" OR ", "|"),
        "architecture": { "64bit": { "url": url, "hash": release.digest, "extract_dir": stem } },
        "bin": release.target.program(&product.name),
        "suggest": { "git": "git" },
        "checkver": { "url": format!("{}/releases/latest", product.repository), "regex": "/tag/v([\\d.]+)" },
        "autoupdate": { "architecture": { "64bit": { "url": next(&url), "extract_dir": next(&stem) } } },
    });
    Ok(serde_json::to_string_pretty(&manifest)? + "\n")
}

/// Returns the context for building an image: `podman build DIR`.
fn container(product: &Product, releases: &[Release]) -> Outcome<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    for release in releases {
        let Some(architecture) = release.target.container else {
            continue;
        };
        let path = format!("container/{architecture}/{}", product.name);
        files.push((path, release.program.clone()));
    }
    if files.is_empty() {
        return Ok(files);
    }
    files.extend(
        licences()?.into_iter().map(|licence| (format!("container/{}", licence.path), licence.bytes)),
    );
    let recipe = product.fill(CONTAINERFILE, &[])?;
    files.push(("container/Containerfile".into(), recipe.into_bytes()));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_formula_has_the_digest_of_every_archive_that_homebrew_can_use() {
        let product = Product::example("https://example.com/owner/tool");
        let releases = Release::examples();
        let formula = formula(&product, &releases).unwrap();
        for release in &releases {
            let expected = format!(
                "url \"https://example.com/owner/tool/releases/download/v1.2.3/{}\"\n      sha256 \"{}\"",
                release.archive, release.digest
            );
            assert_eq!(formula.contains(&expected), release.target.homebrew.is_some());
        }
    }

    #[test]
    fn scoop_finds_the_next_version() {
        let product = Product::example("https://example.com/owner/tool");
        let releases = Release::examples();
        let release = releases.iter().find(|it| it.target.is_windows()).unwrap();
        let manifest: Value = serde_json::from_str(&scoop(&product, release).unwrap()).unwrap();
        let now = &manifest["architecture"]["64bit"];
        let next = &manifest["autoupdate"]["architecture"]["64bit"];
        for key in ["url", "extract_dir"] {
            let replaced = next[key].as_str().unwrap().replace("$version", "1.2.3");
            assert_eq!(now[key], replaced);
            assert_ne!(now[key], next[key]);
        }
    }
}
