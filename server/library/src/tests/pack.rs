//! Git reads the written packs, alone and gathered, and finds every object in them intact.

use std::fs;

use gix::objs::Kind;
use proptest::prelude::*;

use super::{OpenPack, PackObject, write};
use crate::{objects::content_id, tests::support::Bench};

/// A text, and the earlier one that it follows, if any.
type Text = (Vec<u8>, Option<prop::sample::Index>);

/// Texts of which many share much with another, like states of one document.
fn texts() -> impl Strategy<Value = Vec<Text>> {
    let piece = prop_oneof![
        "[a-d]{0,5}".prop_map(String::into_bytes),
        Just(vec![b'-'; 300]),
        // Longer than one instruction copies, and hard to compress.
        any::<u8>().prop_map(|seed| {
            let bytes = (0..70_000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8 ^ seed);
            bytes.collect()
        }),
    ];
    let text = prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat());
    prop::collection::vec((text, prop::option::of(any::<prop::sample::Index>())), 1..40)
}

/// Writes a pack of `texts` to the repository, and returns its path.
fn placed(bench: &Bench, texts: &[Text]) -> std::path::PathBuf {
    let ids: Vec<gix::ObjectId> =
        texts.iter().map(|(text, _)| content_id(text).unwrap().parse().unwrap()).collect();
    let objects = texts.iter().zip(&ids).map(|((text, base), id)| PackObject {
        id: *id,
        kind: Kind::Blob,
        data: text,
        base: base.map(|base| ids[base.index(ids.len())]),
    });
    let mut objects: Vec<_> = objects.collect();
    let mut seen = std::collections::HashSet::new();
    objects.retain(|object| seen.insert(object.id));
    let mut pack = Vec::new();
    let written = write(&objects, &mut pack).unwrap();
    let path = bench.path(".git/objects/pack").join(written.name).with_extension("pack");
    fs::write(&path, pack).unwrap();
    fs::write(path.with_extension("idx"), written.index).unwrap();
    path
}

fn assert_has(bench: &Bench, path: &std::path::Path, texts: &[Text]) {
    let listed = bench.git(&["verify-pack", "-v", path.to_str().unwrap()]);
    // Git makes the same index of it.
    let again = bench.path("again.idx");
    bench.git(&["index-pack", "--strict", "-o", again.to_str().unwrap(), path.to_str().unwrap()]);
    assert!(fs::read(again).unwrap() == fs::read(path.with_extension("idx")).unwrap(), "git's index differs");
    for (text, _) in texts {
        let id = content_id(text).unwrap();
        assert!(listed.contains(&id), "{id} is missing");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn git_reads_packs_and_what_is_gathered_of_them(packs in prop::collection::vec(texts(), 1..4)) {
        let bench = Bench::unborn();
        let mut paths = Vec::new();
        for texts in &packs {
            let path = placed(&bench, texts);
            assert_has(&bench, &path, texts);
            paths.push(path);
        }
        let open: Vec<_> = paths.iter().map(|path| OpenPack::open(path).unwrap()).collect();
        let mut pack = Vec::new();
        let written = super::gather(&open, &mut pack).unwrap();
        let path = bench.path(".git/objects/pack").join(&written.name).with_extension("pack");
        fs::write(&path, pack).unwrap();
        fs::write(path.with_extension("idx"), written.index).unwrap();
        for old in paths.iter().filter(|old| **old != path) {
            fs::remove_file(old).unwrap();
            fs::remove_file(old.with_extension("idx")).unwrap();
        }
        assert_has(&bench, &path, &packs.concat());
        prop_assert!(super::is_ours(&path));
    }
}
