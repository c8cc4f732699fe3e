//! Keys: the content of the file, valid keys, and their permissions.

use std::{fs, sync::Arc};

use tempfile::TempDir;

use tabellion_runtime::Identity;

use super::*;

/// Returns a file of keys in a folder of its own.
fn file() -> (TempDir, KeyFile) {
    let dir = TempDir::new().unwrap();
    let file = KeyFile::new(dir.path().join("keys.json"));
    (dir, file)
}

fn scopes(texts: &[&str]) -> Vec<Scope> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

#[test]
fn a_key_is_valid_until_it_is_revoked() {
    let (_dir, file) = file();
    let first = file.create("Ada", None, scopes(&["write"])).unwrap();
    let ring = KeyRing::new(file.clone()).unwrap();
    let second = file.create("Bert", Some("bert@example.org"), scopes(&["read"])).unwrap();
    let name = |secret: &ApiKey| ring.principal(&secret.reveal()).map(|principal| principal.name.clone());
    assert_eq!((name(&first).as_deref(), name(&second).as_deref()), (Some("Ada"), Some("Bert")));
    assert_eq!(ring.principal(&second.reveal()).unwrap().email, "bert@example.org");
    file.revoke(first.id()).unwrap();
    assert_eq!((name(&first), name(&second).as_deref()), (None, Some("Bert")));
    assert!(matches!(file.revoke(first.id()), Err(KeyFileError::UnknownKey(_))));
    fs::remove_file(file.path()).unwrap();
    assert_eq!(name(&second), None);
}

#[test]
fn a_changed_key_is_invalid() {
    let (_dir, file) = file();
    let key = file.create("Ada", None, scopes(&["write"])).unwrap().reveal();
    let other = file.create("Bert", None, scopes(&["write"])).unwrap().reveal();
    let ring = KeyRing::new(file).unwrap();
    assert!(ring.principal(&key).is_some());
    let parts: Vec<_> = key.split('_').collect();
    let others: Vec<_> = other.split('_').collect();
    let swapped = format!("tbl_{}_{}", parts[1], others[2]);
    let last = if key.ends_with('0') { '1' } else { '0' };
    let changed = format!("{}{last}", &key[..key.len() - 1]);
    let digest = ApiKey::parse(&key).unwrap().digest();
    let by_digest = format!("tbl_{}_{digest}", parts[1]);
    for text in [
        "",
        "tbl",
        "tbl__",
        parts[2],
        &swapped,
        &changed,
        &by_digest,
        &key.to_uppercase(),
        &format!("{key} "),
        &format!(" {key}"),
        &key[..key.len() - 1],
        &format!("{key}0"),
    ] {
        assert!(ring.principal(text).is_none(), "{text}");
    }
}

#[test]
fn the_file_holds_no_secret_and_only_its_owner_may_read_it() {
    let (dir, file) = file();
    let secret = file.create("Ada", None, scopes(&["write"])).unwrap();
    let (key, text) = (secret.reveal(), fs::read_to_string(file.path()).unwrap());
    assert!(!text.contains(key.rsplit('_').next().unwrap()), "{text}");
    assert!(!format!("{secret:?}").contains(key.rsplit('_').next().unwrap()));
    let mut left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["keys.json", "keys.json.lock"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;

        let mode = fs::metadata(file.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        for mode in [0o604, 0o640, 0o620, 0o602] {
            fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
            assert!(matches!(KeyRing::new(file.clone()), Err(KeyFileError::Permissions(_))), "{mode:o}");
        }
        // A file with corrected permissions is used at once, although its time is unchanged.
        let own = fs::Permissions::from_mode(0o600);
        fs::set_permissions(file.path(), own.clone()).unwrap();
        let ring = KeyRing::new(file.clone()).unwrap();
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o604)).unwrap();
        assert!(ring.principal(&key).is_none());
        fs::set_permissions(file.path(), own).unwrap();
        assert!(ring.principal(&key).is_some());
    }
}

#[test]
fn creating_a_key_leaves_a_file_of_something_else_unchanged() {
    for text in ["", "[]", "{}", r#"{"keys":[{}]}"#, r#"{"keys":[],"more":1}"#] {
        let (_dir, file) = file();
        file.create("Ada", None, vec![]).unwrap();
        fs::write(file.path(), text).unwrap();
        assert!(matches!(file.create("Bert", None, vec![]), Err(KeyFileError::Json { .. })), "{text}");
        assert_eq!(fs::read_to_string(file.path()).unwrap(), text);
    }
}

#[test]
fn only_names_and_addresses_that_fit_a_commit_are_accepted() {
    let (_dir, file) = file();
    for name in ["", " ", " Ada", "Ada <x>", "Ada\nBert", "Ada\u{202e}", &"a".repeat(65)] {
        assert!(matches!(file.create(name, None, vec![]), Err(KeyFileError::Name(_))), "{name:?}");
    }
    for email in ["", "ada", "a@b c", "<a@b>", "a@b\n"] {
        let made = file.create("Ada", Some(email), vec![]);
        assert!(matches!(made, Err(KeyFileError::Email(_))), "{email:?}");
    }
    assert!(!file.path().exists());
    file.create("Ada Überall", Some("ada@example.org"), vec![]).unwrap();
}

#[test]
fn an_agents_key_names_it_and_permits_no_review() {
    let (_dir, file) = file();
    let bound = || Bound { agent: Agent::parse("helper@1.2"), ..Bound::default() };
    for texts in [&["review"][..], &["write", "review:a@x"]] {
        let made = file.create_bound("Ada", None, scopes(texts), bound());
        assert!(matches!(made, Err(KeyFileError::AgentReviews(_))), "{texts:?}");
    }
    let agent = file.create_bound("Ada", None, scopes(&["write:a"]), bound()).unwrap();
    let person = file.create("Ada", None, scopes(&["write:a", "review", "read:b"])).unwrap();
    assert!(fs::read_to_string(file.path()).unwrap().contains("\"agent\": \"helper@1.2\""));
    let ring = KeyRing::new(file).unwrap();
    let grant = |key: &ApiKey| {
        let principal = ring.principal(&key.reveal()).unwrap();
        principal.grant_at("", Validity::Until(SystemTime::now())).unwrap()
    };
    assert_eq!(grant(&agent).agent(), Agent::parse("helper@1.2"));
    assert_eq!(grant(&person).agent(), None);
    use ScopeWord::{Read, Review, Write};
    for (key, contract, expected) in [
        (&agent, "a", &[Write][..]),
        (&agent, "b", &[]),
        (&person, "a", &[Write, Review]),
        (&person, "b", &[Review, Read]),
    ] {
        assert_eq!(grant(key).scopes(contract), expected, "{contract}");
    }
}

#[test]
fn scopes_permit_what_they_name() {
    use Access::{Read, Write};

    for (scope, library, contract, access, allowed) in [
        ("read", "", "a", Read, true),
        ("read", "x", "a", Read, true),
        ("read", "", "a", Write, false),
        ("write", "", "a", Write, true),
        ("write", "", "a", Read, true),
        ("review", "", "a", Read, true),
        ("review", "", "a", Write, false),
        ("review:a@x", "x", "a", Read, true),
        ("review:a@x", "x", "b", Read, false),
        ("write:a", "", "a", Write, true),
        ("write:a", "", "b", Read, false),
        ("write@x", "x", "a", Write, true),
        ("write@x", "y", "a", Read, false),
        ("write@x", "", "a", Read, false),
        ("read:a@x", "x", "a", Read, true),
        ("read:a@x", "x", "b", Read, false),
        ("read:a@x", "y", "a", Read, false),
    ] {
        let principal = Arc::new(Principal {
            identity: Identity::key("1"),
            name: "Ada".into(),
            email: "a@b".into(),
            scopes: scopes(&[scope]),
            bound: Bound::default(),
        });
        let grant = principal.grant_at(library, Validity::Until(SystemTime::now()));
        let found = grant.is_some_and(|grant| grant.allows(contract, access));
        assert_eq!(found, allowed, "{scope}: {access:?} of {contract} in {library}");
        assert_eq!(scope.parse::<Scope>().unwrap().to_string(), scope);
    }
    for text in ["", "admin", "read:", "read@", "read:a:b", "read@a@b", "read@a:b", "READ", "write a"] {
        assert!(text.parse::<Scope>().is_err(), "{text}");
    }
}
