//! A program's data for all packages, read from the manifests alone.

use std::fs;

use toml::Table;

use super::targets::Target;
use xtask::{Outcome, root};

/// Maximum length of a description, in characters: Homebrew's. The MCP registry takes 100.
const MAX_DESCRIPTION: usize = 80;

/// A program as its packages describe it.
#[derive(Debug, Clone)]
pub(super) struct Product {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) version: String,
    pub(super) description: String,
    pub(super) license: String,
    /// URL without a slash at its end.
    pub(super) repository: String,
    /// Template of the readme in packages.
    pub(super) readme: &'static str,
    pub(super) keywords: &'static [&'static str],
}

/// One of the released programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// For owners of notes: all packages.
    Server,
    /// For authors of servers, on systems that it runs on: packages that run without installation.
    Suite,
}

impl Kind {
    pub(super) const ALL: [Self; 2] = [Self::Server, Self::Suite];

    /// Returns the crate's folder.
    fn folder(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Suite => "conformance",
        }
    }
}

impl Product {
    /// Reads the manifests of the workspace and of the program.
    ///
    /// # Errors
    /// If a key is missing, or the description is too long for a registry.
    pub(super) fn read(kind: Kind) -> Outcome<Self> {
        let manifest = format!("{}/Cargo.toml", kind.folder());
        let workspace: Table = toml::from_str(&fs::read_to_string(root().join("Cargo.toml"))?)?;
        let program: Table = toml::from_str(&fs::read_to_string(root().join(&manifest))?)?;
        let key = |table: &Table, path: &[&str]| -> Outcome<String> {
            let (last, folders) = path.split_last().ok_or("a path has a key")?;
            let table = folders.iter().try_fold(table, |table, name| table.get(*name)?.as_table());
            let value = table.and_then(|table| table.get(*last)?.as_str());
            Ok(value.ok_or(format!("`{}` is missing", path.join(".")))?.into())
        };
        let shared = |name| key(&workspace, &["workspace", "package", name]);
        let own = |name| key(&program, &["package", name]);
        let product = Self {
            kind,
            name: own("name")?,
            version: shared("version")?,
            description: own("description")?,
            license: shared("license")?,
            repository: shared("repository")?.trim_end_matches('/').into(),
            readme: match kind {
                Kind::Server => include_str!("../../packages/npm.md"),
                Kind::Suite => include_str!("../../packages/suite.md"),
            },
            keywords: match kind {
                Kind::Server => &["mcp", "mcp-server", "markdown", "obsidian", "git"],
                Kind::Suite => &["mcp", "mcp-server", "conformance", "testing"],
            },
        };
        let length = product.description.chars().count();
        if length > MAX_DESCRIPTION {
            return Err(format!(
                "the description in `{manifest}` has {length} characters; packagers take {MAX_DESCRIPTION}"
            )
            .into());
        }
        Ok(product)
    }

    /// Returns true if the program is released for a target.
    pub(super) fn is_for(&self, target: &Target) -> bool {
        self.kind == Kind::Server || !target.is_windows()
    }

    /// Returns the names of npm's packages with the program, up to the platform's: `@tabellion/` and `@tabellion/conformance-`.
    pub(super) fn npm_prefix(&self) -> String {
        match self.name.split_once('-') {
            Some((scope, name)) => format!("@{scope}/{name}-"),
            None => format!("@{}/", self.name),
        }
    }

    /// Returns the URL at which the repository's release of this version has `file`.
    pub(super) fn url(&self, file: &str) -> String {
        format!("{}/releases/download/v{}/{file}", self.repository, self.version)
    }

    /// Returns the host and the path of the repository.
    fn location(&self) -> (&str, &str) {
        let rest = self.repository.split_once("://").map_or("", |(_, rest)| rest);
        rest.split_once('/').unwrap_or((rest, ""))
    }

    /// Returns the name in the MCP registry: an account of GitHub as `io.github.ACCOUNT/NAME`, any other host reversed.
    pub(super) fn registry_name(&self) -> String {
        let (host, path) = self.location();
        let owner = path.split('/').next().unwrap_or_default();
        let space = if host == "github.com" {
            format!("io.github.{owner}")
        } else {
            host.rsplit('.').collect::<Vec<_>>().join(".")
        };
        format!("{space}/{}", self.name)
    }

    /// Returns the registry's word for the repository's host.
    pub(super) fn host(&self) -> &str {
        let (host, _) = self.location();
        host.strip_suffix(".com").filter(|name| ["github", "gitlab"].contains(name)).unwrap_or(host)
    }

    /// Returns true if the repository is an example (RFC 2606), so that nothing can be published yet.
    pub(super) fn is_example(&self) -> bool {
        let (host, _) = self.location();
        ["example.com", "example.net", "example.org"].contains(&host)
    }

    /// Replaces each `{{key}}` of a template.
    ///
    /// # Errors
    /// If the template has a key that is neither the product's nor one of `more`.
    pub(super) fn fill(&self, template: &str, more: &[(&str, &str)]) -> Outcome<String> {
        let (registry_name, npm_prefix) = (self.registry_name(), self.npm_prefix());
        let own = [
            ("name", &*self.name),
            ("version", &self.version),
            ("description", &self.description),
            ("license", &self.license),
            ("repository", &self.repository),
            ("registry_name", &registry_name),
            ("npm_prefix", &npm_prefix),
        ];
        let mut filled = template.to_owned();
        for (key, value) in own.iter().chain(more) {
            filled = filled.replace(&format!("{{{{{key}}}}}"), value);
        }
        match filled.split_once("{{").and_then(|(_, rest)| rest.split_once("}}")) {
            None => Ok(filled),
            Some((key, _)) => Err(format!("a template has the unknown key `{key}`").into()),
        }
    }
}

#[cfg(test)]
impl Product {
    pub(super) fn example(repository: &str) -> Self {
        Self {
            kind: Kind::Server,
            name: "tool".into(),
            version: "1.2.3".into(),
            description: "A tool".into(),
            license: "MIT".into(),
            repository: repository.into(),
            readme: "{{name}}\n",
            keywords: &["mcp"],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifests_name_the_product() {
        for (kind, name, npm) in [
            (Kind::Server, "tabellion", "@tabellion/"),
            (Kind::Suite, "tabellion-conformance", "@tabellion/conformance-"),
        ] {
            let product = Product::read(kind).unwrap();
            assert_eq!((&*product.name, &*product.npm_prefix()), (name, npm));
            assert_eq!(product.version, env!("CARGO_PKG_VERSION"));
            assert!(product.repository.starts_with("https://"));
        }
    }

    #[test]
    fn the_repository_names_the_server_in_the_registry() {
        for (repository, name, host) in [
            ("https://github.com/owner/tool", "io.github.owner/tool", "github"),
            ("https://gitlab.com/group/tool", "com.gitlab/tool", "gitlab"),
            ("https://git.example.org/tool", "org.example.git/tool", "git.example.org"),
        ] {
            let product = Product::example(repository);
            assert_eq!((&*product.registry_name(), product.host()), (name, host));
        }
    }

    #[test]
    fn a_template_is_filled_or_refused() {
        let product = Product::example("https://example.com/tool");
        for (template, expected) in [
            ("{{name}} {{version}}\n", Some("tool 1.2.3\n")),
            ("#{bin}/{{more}} ${x}", Some("#{bin}/added ${x}")),
            ("{{nmae}}", None),
        ] {
            let filled = product.fill(template, &[("more", "added")]).ok();
            assert_eq!(filled.as_deref(), expected, "{template}");
        }
        assert!(product.is_example());
    }
}
