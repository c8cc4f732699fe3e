//! Wheels for PyPI: one for each platform, with the program as a script, so that `uvx NAME` runs it.

use std::fmt::Write as _;

use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest as _, Sha256};

use super::{
    archive::{self, Entry},
    product::Product,
    release::{Release, licences},
    targets::Format,
};
use xtask::Outcome;

/// Returns the path and the bytes of each wheel, in the form of `twine upload`.
pub(super) fn all(product: &Product, releases: &[Release]) -> Outcome<Vec<(String, Vec<u8>)>> {
    releases.iter().map(|release| wheel(product, release)).collect()
}

fn wheel(product: &Product, release: &Release) -> Outcome<(String, Vec<u8>)> {
    // In file names, a hyphen is a separator.
    let stem = format!("{}-{}", product.name.replace('-', "_"), product.version);
    let info = format!("{stem}.dist-info");
    let program = release.target.program(&product.name);
    let mut entries = vec![
        Entry::program(format!("{stem}.data/scripts/{program}"), &*release.program),
        Entry::file(format!("{info}/METADATA"), metadata(product)?),
        Entry::file(format!("{info}/WHEEL"), description(release.target.wheel)),
    ];
    let licences = licences()?.into_iter();
    entries.extend(licences.map(|entry| Entry { path: format!("{info}/licenses/{}", entry.path), ..entry }));
    let record = format!("{info}/RECORD");
    let listed = entries.iter().fold(String::new(), |mut listed, entry| {
        let digest = BASE64URL_NOPAD.encode(&Sha256::digest(&entry.bytes));
        let _ = writeln!(listed, "{},sha256={digest},{}", entry.path, entry.bytes.len());
        listed
    });
    entries.push(Entry::file(&*record, format!("{listed}{record},,\n")));
    let name = format!("wheels/{stem}-py3-none-{}.whl", release.target.wheel.join("."));
    Ok((name, archive::pack(Format::Zip, &entries)?))
}

/// Returns the core metadata, version 2.4, with the readme as its body.
fn metadata(product: &Product) -> Outcome<String> {
    let head = "Metadata-Version: 2.4\nName: {{name}}\nVersion: {{version}}\nSummary: {{description}}\n\
                License-Expression: {{license}}\nLicense-File: LICENSE-APACHE\nLicense-File: LICENSE-MIT\n\
                Project-URL: Repository, {{repository}}\nRequires-Python: >=3.8\n\
                Description-Content-Type: text/markdown\n\n";
    product.fill(&[head, product.readme].concat(), &[])
}

/// Returns the file `WHEEL`: not a library, for these platforms.
fn description(platforms: &[&str]) -> String {
    let head = "Wheel-Version: 1.0\nGenerator: xtask\nRoot-Is-Purelib: false\n".to_owned();
    platforms.iter().fold(head, |text, platform| format!("{text}Tag: py3-none-{platform}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wheel_records_all_of_its_files() {
        let product = Product::example("https://example.com/owner/tool");
        for (path, bytes) in all(&product, &Release::examples()).unwrap() {
            let read = |name: &str| archive::unpack(Format::Zip, &bytes, name);
            let record = read("tool-1.2.3.dist-info/RECORD").unwrap();
            let record = String::from_utf8(record).unwrap();
            let files: Vec<_> = record.lines().map(|line| line.split(',').collect::<Vec<_>>()).collect();
            assert_eq!(files.len(), 6, "{record}");
            for file in &files[..5] {
                let bytes = read(file[0]).unwrap();
                let digest = BASE64URL_NOPAD.encode(&Sha256::digest(&bytes));
                assert_eq!(file[1..], [format!("sha256={digest}"), bytes.len().to_string()], "{path}");
            }
            let platforms = path.rsplit_once("-none-").unwrap().1.trim_end_matches(".whl");
            let wheel = String::from_utf8(read("tool-1.2.3.dist-info/WHEEL").unwrap()).unwrap();
            let tags: Vec<_> = wheel.lines().filter_map(|line| line.strip_prefix("Tag: py3-none-")).collect();
            assert_eq!(tags.join("."), platforms);
        }
    }
}
