//! The targets for which programs are released, and each packager's name for them.

/// The format of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    TarGz,
    Zip,
}

/// A system and architecture.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    /// Rust's name.
    pub(super) triple: &'static str,
    /// Node's `process.platform` and `process.arch`; npm's `os` and `cpu`.
    pub(super) node: (&'static str, &'static str),
    /// `uname -s` and `uname -m`, joined by a hyphen; `None` on Windows.
    pub(super) uname: Option<&'static str>,
    /// The name in `TARGETARCH` of container images, for Linux.
    pub(super) container: Option<&'static str>,
    /// The platforms of wheels.
    pub(super) wheel: &'static [&'static str],
    /// Homebrew's blocks, as in `on_macos` and `on_arm`.
    pub(super) homebrew: Option<(&'static str, &'static str)>,
}

/// Linux has one program for all distributions: it is linked statically, so it needs neither glibc nor musl.
pub(super) const TARGETS: [Target; 5] = [
    Target {
        triple: "x86_64-unknown-linux-musl",
        wheel: &["manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"],
        node: ("linux", "x64"),
        uname: Some("Linux-x86_64"),
        container: Some("amd64"),
        homebrew: Some(("linux", "intel")),
    },
    Target {
        triple: "aarch64-unknown-linux-musl",
        wheel: &["manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"],
        node: ("linux", "arm64"),
        uname: Some("Linux-aarch64"),
        container: Some("arm64"),
        homebrew: Some(("linux", "arm")),
    },
    Target {
        triple: "x86_64-pc-windows-gnu",
        wheel: &["win_amd64"],
        node: ("win32", "x64"),
        uname: None,
        container: None,
        homebrew: None,
    },
    Target {
        triple: "aarch64-apple-darwin",
        wheel: &["macosx_11_0_arm64"],
        node: ("darwin", "arm64"),
        uname: Some("Darwin-arm64"),
        container: None,
        homebrew: Some(("macos", "arm")),
    },
    Target {
        triple: "x86_64-apple-darwin",
        wheel: &["macosx_10_12_x86_64"],
        node: ("darwin", "x64"),
        uname: Some("Darwin-x86_64"),
        container: None,
        homebrew: Some(("macos", "intel")),
    },
];

impl Target {
    pub(super) fn is_windows(&self) -> bool {
        self.node.0 == "win32"
    }

    pub(super) fn is_macos(&self) -> bool {
        self.node.0 == "darwin"
    }

    pub(super) fn format(&self) -> Format {
        if self.is_windows() { Format::Zip } else { Format::TarGz }
    }

    /// Returns the file name of the program `name`.
    pub(super) fn program(&self, name: &str) -> String {
        if self.is_windows() { format!("{name}.exe") } else { name.into() }
    }

    /// Returns the archive's name without its extension, which is also its only folder.
    pub(super) fn stem(&self, name: &str, version: &str) -> String {
        format!("{name}-{version}-{}", self.triple)
    }

    /// Returns the archive's file name.
    pub(super) fn archive(&self, name: &str, version: &str) -> String {
        let extension = match self.format() {
            Format::TarGz => "tar.gz",
            Format::Zip => "zip",
        };
        format!("{}.{extension}", self.stem(name, version))
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, fs};

    use toml::Table;

    use super::*;
    use xtask::root;

    use crate::dist::product::{Kind, Product};

    #[test]
    fn no_two_targets_share_a_name() {
        let names = |of: fn(&Target) -> String| TARGETS.iter().map(of).collect::<HashSet<_>>().len();
        assert_eq!(names(|target| target.triple.into()), TARGETS.len());
        assert_eq!(names(|target| format!("{:?}", target.node)), TARGETS.len());
        assert_eq!(names(|target| format!("{:?}", target.uname)), TARGETS.len());
    }

    /// `cargo binstall` fills `pkg-url` and `bin-dir` itself.
    #[test]
    fn binstall_finds_every_archive() {
        let product = Product::read(Kind::Server).unwrap();
        let manifest = fs::read_to_string(root().join("server/Cargo.toml")).unwrap();
        let manifest: Table = toml::from_str(&manifest).unwrap();
        let binstall = &manifest["package"]["metadata"]["binstall"];
        for target in TARGETS {
            // On Windows, binstall uses msvc's triple.
            let (asked, keys) = if target.is_windows() {
                let asked = target.triple.replace("-gnu", "-msvc");
                let keys = &binstall["overrides"][&*asked];
                (asked, keys)
            } else {
                (target.triple.into(), binstall)
            };
            let (format, suffix) = match target.format() {
                Format::TarGz => ("tgz", ""),
                Format::Zip => ("zip", ".exe"),
            };
            let fill = |key: &str| {
                [
                    ("{ repo }", &*product.repository),
                    ("{ name }", &product.name),
                    ("{ bin }", &product.name),
                    ("{ version }", &product.version),
                    ("{ target }", &asked),
                    ("{ binary-ext }", suffix),
                ]
                .iter()
                .fold(keys[key].as_str().unwrap().to_owned(), |text, (key, value)| text.replace(key, value))
            };
            let (name, version) = (&product.name, &product.version);
            assert_eq!(fill("pkg-url"), product.url(&target.archive(name, version)));
            assert_eq!(fill("pkg-fmt"), format);
            let program = format!("{}/{}", target.stem(name, version), target.program(name));
            assert_eq!(fill("bin-dir"), program);
        }
    }
}
