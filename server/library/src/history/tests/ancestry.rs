//! Ancestry with wrong clocks and merges.

use gix::ObjectId;

use super::reaches;
use crate::tests::support::Bench;

#[test]
fn ancestors_are_found_and_others_are_not() {
    let bench = Bench::new();
    let at = |name: &str| ObjectId::from_hex(bench.git(&["rev-parse", name]).as_bytes()).unwrap();
    let commit = |message: &str| bench.git(&["commit", "-q", "--allow-empty", "-m", message]);
    commit("base");
    commit("target");
    bench.git(&["tag", "target"]);
    for number in 0..5 {
        commit(&number.to_string());
    }
    bench.git(&["switch", "-q", "-c", "side", "target~1"]);
    commit("side");
    let git = gix::open(bench.path("")).unwrap();
    let base = Some(at("target~1"));
    assert!(reaches(&git, at("main"), at("target"), base).unwrap());
    assert!(reaches(&git, at("target"), at("target"), base).unwrap());
    assert!(!reaches(&git, at("side"), at("target"), base).unwrap());
    assert!(!reaches(&git, at("target~1"), at("target"), base).unwrap());
    bench.git(&["merge", "-q", "-m", "merge", "main"]);
    assert!(reaches(&git, at("side"), at("target"), base).unwrap());
    assert!(!reaches(&git, at("side"), ObjectId::null(gix::hash::Kind::Sha1), base).unwrap());
}
