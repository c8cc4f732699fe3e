//! The page in the browser, over real libraries: signing in, deciding in part, undoing.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::{Map, Value, json};
use tabellion_conformance::{
    Target,
    http::{Request, Url},
};
use tabellion_contracts::brainforge::{CONTRACT, tool};

use crate::support::{Library, TABELLION};

const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
const NOTE: &str = "---\nid: 00000000-0000-4000-8000-00000000000a\nversion: 1\n---\n# Backups\n\nkept for a week\n\n## Drill\n\nnow and then\n";
const ID: &str = "00000000-0000-4000-8000-00000000000a";

/// A process that serves the page, and what it says on standard error.
struct Served {
    child: Child,
    /// Scheme and authority.
    base: String,
    /// Path and query of the link that signs in, if it prints one.
    link: Option<String>,
}

impl Served {
    fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(TABELLION);
        let child = command
            .args(arguments)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.expect("it starts");
        let mut lines = BufReader::new(child.stderr.take().expect("standard error")).lines();
        let url = loop {
            let line = lines.next().expect("a line with the page").expect("text");
            if line.contains("/page") {
                break line.split_once("http://").expect("a URL").1.trim().to_owned();
            }
        };
        // What else it says is read, so that it never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        let (authority, rest) = url.split_at(url.find('/').expect("a path"));
        Self {
            child,
            base: format!("http://{authority}"),
            link: rest.contains("link=").then(|| rest.to_owned()),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A browser, as far as the page needs one.
struct Browser<'s> {
    served: &'s Served,
    cookie: String,
}

impl<'s> Browser<'s> {
    fn new(served: &'s Served) -> Self {
        Self {
            served,
            cookie: String::new(),
        }
    }

    /// Returns the status, the place that it leads to, and the text.
    fn send(&mut self, method: &'static str, place: &str, body: &str) -> (u16, String, String) {
        let url = Url::parse(&format!("{}{place}", self.served.base)).expect("a URL");
        let mut request = Request::new(method).with("Cookie", &self.cookie);
        if method == "POST" {
            request = request.with("Origin", &self.served.base);
            request.body = body.as_bytes().to_vec();
        }
        let mut response = request.send(&url, ANSWER_TIMEOUT).expect("an answer");
        if let Some(cookie) = response.header("Set-Cookie") {
            self.cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        }
        let place = response.header("Location").unwrap_or_default().to_owned();
        let text = String::from_utf8(response.bytes().expect("a body")).expect("text");
        (response.status, place, text)
    }

    fn get(&mut self, place: &str) -> String {
        let (status, _, text) = self.send("GET", place, "");
        assert_eq!(status, 200, "{place}: {text}");
        text
    }

    /// Sends the form that a page has for `place`, with its hidden fields and these; returns where it leads.
    fn submit(&mut self, page: &str, place: &str, fields: &[(&str, &str)]) -> (u16, String, String) {
        let form = page
            .split("<form")
            .find(|form| form.contains(&format!("action=\"{place}\"")));
        let form = form.unwrap_or_else(|| panic!("no form for {place}: {page}"));
        let form = form.split("</form>").next().unwrap_or_default();
        let hidden = form.split("type=\"hidden\" name=\"").skip(1).map(|field| {
            let (name, rest) = field.split_once('"').expect("a name");
            let value = rest
                .split_once("value=\"")
                .filter(|(before, _)| !before.contains('>'));
            (
                name,
                value.map_or("", |(_, value)| value.split('"').next().unwrap_or_default()),
            )
        });
        let all: Vec<_> = hidden
            .chain(fields.iter().copied())
            .map(|(name, value)| format!("{name}={}", value.replace(' ', "+")))
            .collect();
        self.send("POST", place, &all.join("&"))
    }

    fn follow_link(&mut self) {
        let link = self.served.link.clone().expect("a link");
        let page = self.get(&link);
        let (status, place, text) = self.submit(&page, "/page/login", &[]);
        assert_eq!((status, place.as_str()), (303, "/page"), "{text}");
    }
}

/// An agent proposes a change of the note.
fn propose(library: &Library, content: &str, version: u64) {
    let mut command = Command::new(TABELLION);
    command
        .args(["serve", "--contract", CONTRACT.id, "--library"])
        .arg(library.root());
    let mut target = Target::start(&mut command).expect("it starts");
    target.initialize("2025-11-25").expect("a handshake");
    let request =
        json!({ "note_id": ID, "version": version, "content": content, "change_reason": "it changed" });
    let answer = target
        .call(tool::UPDATE_NOTE, request, Map::new())
        .expect("an answer");
    assert_eq!(
        answer["result"]["structuredContent"]["status"],
        Value::from("pending_review"),
        "{answer}"
    );
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).expect("the note")
}

#[test]
fn a_person_approves_in_part_and_takes_it_back() {
    let library = Library::with(&[("backups.md", NOTE)]);
    let new = "# Backups\n\nkept for 35 days\n\n## Drill\n\neach month\n";
    propose(&library, new, 1);
    let root = library.root().to_str().expect("text");
    let served = Served::start(&["review", "--library", root, "--web"]);
    let mut browser = Browser::new(&served);
    assert_eq!(browser.send("GET", "/page/review", "").0, 303, "not signed in");
    browser.follow_link();
    let (status, _, _) = Browser::new(&served).send("GET", served.link.as_deref().expect("a link"), "");
    assert_eq!(status, 410, "a link holds once");

    let list = browser.get("/page/review");
    let place = list
        .split("href=\"")
        .find_map(|rest| rest.starts_with("/page/review/").then(|| rest.split('"').next()));
    let place = place.flatten().expect("a proposal").to_owned();
    let shown = browser.get(&place);
    let commits = library.ledger().commits.len();
    let choice = [
        ("decision", "approve"),
        ("part-1", "take"),
        ("part-2", "leave"),
        ("remark-n11", "which day?"),
    ];
    let (status, _, preview) = browser.submit(&shown, &place, &choice);
    assert!(status == 200 && preview.contains("which day?"), "{preview}");
    assert_eq!(
        library.ledger().commits.len(),
        commits,
        "a preview changes nothing"
    );
    let (status, done, text_of) = browser.submit(&preview, &place, &[]);
    assert_eq!(status, 303, "{text_of}");
    assert_eq!(library.ledger().commits.len(), commits + 1);
    let note = text(&library.path("backups.md"));
    assert!(
        note.contains("35 days") && note.contains("now and then") && !note.contains("each month"),
        "{note}"
    );

    // The same form again is the same decision.
    let (status, again, _) = browser.submit(&preview, &place, &[]);
    assert_eq!((status, again == done), (303, true), "{again}");
    assert_eq!(library.ledger().commits.len(), commits + 1);

    // What was shown has moved.
    let (status, _, moved) = browser.submit(
        &shown,
        &place,
        &[("decision", "reject"), ("notes", "no"), ("key", "other")],
    );
    assert!(
        status == 409 && moved.contains(">no</textarea>") || moved.contains("role=\"alert\""),
        "{moved}"
    );
    assert_eq!(library.ledger().commits.len(), commits + 1);

    let commit = done.split_once("commit=").expect("a commit").1;
    let entry = format!("/page/log/{commit}");
    let page = browser.get(&entry);
    let (status, _, undone) = browser.submit(&page, &entry, &[]);
    assert_eq!(status, 303, "{undone}");
    assert_eq!(text(&library.path("backups.md")), NOTE);
    assert!(
        browser.get(&place).contains("waits for a review"),
        "the proposal is open again"
    );
    let (status, _, _) = browser.submit(&page, &entry, &[]);
    assert_eq!(status, 409, "there is nothing left to undo");
}

#[test]
fn a_page_of_a_server_that_only_reads_changes_nothing() {
    let library = Library::with(&[("backups.md", NOTE)]);
    propose(&library, "# Backups\n\nother\n", 1);
    let place = tempfile::tempdir().expect("a folder");
    let keys = place.path().join("keys.json");
    let mut create = Command::new(TABELLION);
    create
        .args([
            "key", "create", "--name", "Eve", "--scope", "review", "--scope", "write", "--keys",
        ])
        .arg(&keys);
    let key = String::from_utf8(create.output().expect("it runs").stdout).expect("a key");
    let (root, keys) = (
        library.root().to_str().expect("text"),
        keys.to_str().expect("text"),
    );
    let served = Served::start(&[
        "serve",
        "--library",
        root,
        "--contract",
        CONTRACT.id,
        "--http",
        "0",
        "--keys",
        keys,
        "--page",
        "--read-only",
    ]);
    let mut browser = Browser::new(&served);
    browser.send("POST", "/page/login", &format!("to=/page&key={}", key.trim()));
    let list = browser.get("/page/review");
    let place = list
        .split("href=\"")
        .find(|rest| rest.starts_with("/page/review/"))
        .expect("a proposal");
    let shown = browser.get(place.split('"').next().expect("a place"));
    assert!(shown.contains("35 days") || shown.contains("other"), "{shown}");
    assert!(!shown.contains("name=\"decision\""), "{shown}");
}

#[test]
fn keys_sign_people_in_until_they_are_revoked() {
    let library = Library::with(&[("backups.md", NOTE)]);
    let place = tempfile::tempdir().expect("a folder");
    let keys = place.path().join("keys.json");
    let keys = keys.to_str().expect("text");
    let key = |arguments: &[&str]| {
        let output = Command::new(TABELLION)
            .args(["key"])
            .args(arguments)
            .args(["--keys", keys])
            .output();
        let output = output.expect("it runs");
        String::from_utf8([output.stdout, output.stderr].concat()).expect("text")
    };
    let secret = |created: &str| {
        created
            .split_whitespace()
            .find(|word| word.starts_with("tbl_"))
            .expect("a key")
            .to_owned()
    };
    let eve = secret(&key(&[
        "create", "--name", "Eve", "--scope", "review", "--scope", "write",
    ]));
    let reader = secret(&key(&["create", "--name", "Rob", "--scope", "read"]));
    let agent = secret(&key(&[
        "create", "--name", "Ann", "--scope", "write", "--agent", "helper@1",
    ]));
    propose(&library, "# Backups\n\nother\n", 1);
    let root = library.root().to_str().expect("text");
    let arguments = [
        "serve",
        "--library",
        root,
        "--contract",
        CONTRACT.id,
        "--http",
        "0",
        "--keys",
        keys,
        "--page",
    ];
    let served = Served::start(&arguments);
    for (key, status) in [
        ("guess", 401),
        (agent.as_str(), 401),
        (reader.as_str(), 303),
        (eve.as_str(), 303),
    ] {
        let mut browser = Browser::new(&served);
        let (found, _, text) = browser.send("POST", "/page/login", &format!("to=/page/review&key={key}"));
        assert_eq!(found, status, "{key}: {text}");
    }
    let mut rob = Browser::new(&served);
    rob.send("POST", "/page/login", &format!("to=/page&key={reader}"));
    let list = rob.get("/page/review");
    assert!(list.contains("Backups"), "{list}");
    assert!(!list.contains("name=\"decision\""));
    let mut browser = Browser::new(&served);
    browser.send("POST", "/page/login", &format!("to=/page&key={eve}"));
    assert!(browser.get("/page/review").contains("Eve"));
    let cookie = browser.cookie.clone();
    drop(served);

    // A restart keeps sign-ins; a revoked key ends them.
    let served = Served::start(&arguments);
    let mut browser = Browser::new(&served);
    browser.cookie = cookie;
    assert!(browser.get("/page/review").contains("Eve"));
    let id = eve.split('_').nth(1).expect("an id").to_owned();
    let said = key(&["revoke", &id]);
    assert_eq!(browser.send("GET", "/page/review", "").0, 303, "{said}");
}
