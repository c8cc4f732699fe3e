//! URLs of exports: access and expiry.

use std::io::Read as _;

use tabellion_platform as platform;

use std::fs;

use super::*;

const ENDPOINT: &str = "https://notes.example/mcp";

fn open(exports: &Exports, url: &str) -> Option<String> {
    let below = url.strip_prefix(ENDPOINT)?.strip_prefix("/exports/")?;
    let (id, query) = below.split_once('?')?;
    let mut text = String::new();
    let Opened::File(mut download) = exports.open(id, query).unwrap() else {
        return None;
    };
    download.file.read_to_string(&mut text).unwrap();
    Some(format!("{}: {text}", download.media_type))
}

#[test]
fn a_url_leads_to_its_export_until_it_expires_and_no_other_does() {
    leads_to_its_export(None);
    leads_to_its_export(Some(&Identity::local("ada")));
}

#[test]
fn the_url_of_a_caller_with_a_key_names_the_key() {
    leads_to_its_export(Some(&Identity::key("0123456789abcdef")));
}

fn leads_to_its_export(by: Option<&Identity>) {
    let folder = tempfile::tempdir().unwrap();
    let exports =
        Exports { folder: folder.path().join("exports"), key: SecretFile::new(folder.path().join(KEY)) };
    fs::create_dir(&exports.folder).unwrap();
    let (id, other) = (Uuid::new_v4(), Uuid::new_v4());
    for (id, text) in [(id, "{}"), (other, "[]")] {
        fs::write(exports.folder.join(format!("{id}.json")), text).unwrap();
    }
    let soon = Utc::now() + chrono::TimeDelta::minutes(5);
    let url = exports.url(ENDPOINT, id, soon, by).unwrap();
    assert_eq!(open(&exports, &url).unwrap(), "application/json: {}");
    assert_eq!(url, exports.url(ENDPOINT, id, soon, by).unwrap(), "the key stays");
    #[cfg(unix)]
    assert!(!platform::is_for_others(&fs::metadata(exports.key.path()).unwrap()));

    // Any other character at any place invalidates the URL.
    for (at, is) in url.char_indices().skip(ENDPOINT.len() + "/exports/".len()) {
        for put in ["0", "1", "a", "A", "%30", ""] {
            let changed = format!("{}{put}{}", &url[..at], &url[at + is.len_utf8()..]);
            let is_same = put.chars().eq([is]);
            assert_eq!(open(&exports, &changed).is_some(), is_same, "{changed}");
        }
    }
    let moved = url.replace(&id.to_string(), &other.to_string());
    let later = url.replace(&soon.timestamp().to_string(), &(soon.timestamp() + 1).to_string());
    let past = exports.url(ENDPOINT, id, Utc::now(), by).unwrap();
    let twice = format!("{url}&signature=00");
    for wrong in [moved, later, past, twice, url[..url.find('?').unwrap() + 1].to_owned()] {
        assert_eq!(open(&exports, &wrong), None, "{wrong}");
    }
    let out = exports.open("../exports.key", "expires=99999999999&signature=00");
    assert!(matches!(out.unwrap(), Opened::Unsigned));

    // Another key is another library's.
    fs::remove_file(exports.key.path()).unwrap();
    assert_eq!(open(&exports, &url), None);
    let new = exports.url(ENDPOINT, id, soon, by).unwrap();
    assert_ne!(new, url);
    assert!(open(&exports, &new).is_some() && open(&exports, &url).is_none());
    fs::remove_file(exports.folder.join(format!("{id}.json"))).unwrap();
    assert_eq!(open(&exports, &new), None);
    fs::write(exports.key.path(), "short").unwrap();
    assert!(exports.url(ENDPOINT, id, soon, by).unwrap_err().to_string().contains("is no key"));
}
