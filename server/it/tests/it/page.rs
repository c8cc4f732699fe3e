//! The page in the browser, over real libraries: signing in, deciding in part, undoing.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::json;
use tabellion_conformance::http::{Request, Url};
use tabellion_contracts::brainforge::{CONTRACT, tool};

use crate::{
    http::key,
    review::{call, ran, served},
    support::{Library, Running, TABELLION},
};

const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
pub(crate) const NOTE: &str = "---\nid: 00000000-0000-4000-8000-00000000000a\nversion: 1\n---\n# Backups\n\nkept for a week\n\n## Drill\n\nnow and then\n";
pub(crate) const ID: &str = "00000000-0000-4000-8000-00000000000a";

/// A process that serves the page, with the address and link from its standard error.
pub(crate) struct Served {
    _process: Running,
    /// Scheme and authority.
    pub(crate) base: String,
    /// Path and query of the link that signs in, if it prints one.
    pub(crate) link: Option<String>,
}

impl Served {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(TABELLION);
        let child = command.args(arguments).stdin(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("it starts");
        let mut lines = BufReader::new(child.stderr.take().expect("standard error")).lines();
        let url = loop {
            let line = lines.next().expect("a line with the page").expect("text");
            if line.contains("/page") {
                break line.split_once("http://").expect("a URL").1.trim().to_owned();
            }
        };
        // Its further output is read, so it never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        let (authority, rest) = url.split_at(url.find('/').expect("a path"));
        Self {
            _process: Running(child),
            base: format!("http://{authority}"),
            link: rest.contains("link=").then(|| rest.to_owned()),
        }
    }
}

/// A browser, as far as the page needs one.
struct Browser<'s> {
    served: &'s Served,
    cookie: String,
}

impl<'s> Browser<'s> {
    fn new(served: &'s Served) -> Self {
        Self { served, cookie: String::new() }
    }

    /// Returns the status, the location that it redirects to, and the text.
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

    /// Sends the page's form for `place`, with its hidden fields and these; returns the status, location and text.
    fn submit(&mut self, page: &str, place: &str, fields: &[(&str, &str)]) -> (u16, String, String) {
        let form = page.split("<form").find(|form| form.contains(&format!("action=\"{place}\"")));
        let form = form.unwrap_or_else(|| panic!("no form for {place}: {page}"));
        let form = form.split("</form>").next().unwrap_or_default();
        let hidden = form.split("type=\"hidden\" name=\"").skip(1).map(|field| {
            let (name, rest) = field.split_once('"').expect("a name");
            let value = rest.split_once("value=\"").filter(|(before, _)| !before.contains('>'));
            (name, value.map_or("", |(_, value)| value.split('"').next().unwrap_or_default()))
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

/// Proposes a change of the note as an agent.
pub(crate) fn propose(library: &Library, content: &str, version: u64) {
    let request =
        json!({ "note_id": ID, "version": version, "content": content, "change_reason": "it changed" });
    let answer = call(&mut served(library), tool::UPDATE_NOTE, request);
    assert_eq!(answer["status"], "pending_review", "{answer}");
}

/// Returns the commit in the location after a change.
fn commit_of(place: &str) -> &str {
    place.rsplit(['=', '/']).next().unwrap_or_default()
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
    for path in ["/page/review", "/page", "/page/"] {
        assert_eq!(browser.send("GET", path, "").0, 303, "not signed in: {path}");
    }
    browser.follow_link();
    let (status, _, _) = Browser::new(&served).send("GET", served.link.as_deref().expect("a link"), "");
    assert_eq!(status, 410, "a link holds once");

    let place = browser.first_proposal();
    let shown = browser.get(&place);
    let commits = library.ledger().commits.len();
    let choice =
        [("decision", "approve"), ("part-1", "take"), ("part-2", "leave"), ("remark-n11", "which day?")];
    let (status, _, preview) = browser.submit(&shown, &place, &choice);
    assert!(status == 200 && preview.contains("which day?"), "{preview}");
    assert_eq!(library.ledger().commits.len(), commits, "a preview changes nothing");
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

    // The shown version has moved; the typed text stays.
    let late = [("decision", "reject"), ("notes", "a late word"), ("key", "other")];
    let (status, _, moved) = browser.submit(&shown, &place, &late);
    assert!(status == 409 && moved.contains("role=\"alert\"") && moved.contains("a late word"), "{moved}");
    assert_eq!(library.ledger().commits.len(), commits + 1);

    let entry = format!("/page/log/{}", commit_of(&done));
    let page = browser.get(&entry);
    let (status, undone, text_of) = browser.submit(&page, &entry, &[]);
    assert_eq!(status, 303, "{text_of}");
    assert_eq!(text(&library.path("backups.md")), NOTE);
    assert!(browser.get(&place).contains("waits for a review"), "the proposal is open again");
    let (status, _, _) = browser.submit(&page, &entry, &[]);
    assert_eq!(status, 409, "there is nothing left to undo");
    let log = browser.get("/page/log");
    assert!(log.contains("reviewer") && !log.contains("local:"), "people have names: {log}");
    let (is_fine, said) = ran(&library, &["audit", "--check"]);
    assert!(is_fine, "each decision is one execution: {said}");
    let (_, said) = ran(&library, &["audit", "--tool", "tabellion undo", "--json"]);
    assert!(said.contains(&format!("\"commit\":\"{}\"", commit_of(&undone))), "{said}");
}

/// Keys in a temporary folder.
pub(crate) struct Keys {
    folder: tempfile::TempDir,
}

impl Keys {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    fn file(&self) -> String {
        self.folder.path().join("keys.json").to_str().expect("text").to_owned()
    }

    /// Runs `tabellion key`; returns its output.
    fn run(&self, arguments: &[&str]) -> String {
        let file = self.file();
        key(&[arguments, &["--keys", &file]].concat()).trim().to_owned()
    }

    pub(crate) fn create(&self, name: &str, scopes: &[&str]) -> String {
        let scopes = scopes.iter().flat_map(|scope| ["--scope", scope]);
        self.run(&["create", "--name", name].into_iter().chain(scopes).collect::<Vec<_>>())
    }

    /// Serves a library with the page.
    pub(crate) fn serve(&self, library: &Library, further: &[&str]) -> Served {
        let (root, file) = (library.root().to_str().expect("text"), self.file());
        let arguments =
            ["serve", "--library", root, "--contract", CONTRACT.id, "--http", "0", "--keys", &file, "--page"];
        Served::start(&[&arguments, further].concat())
    }
}

impl<'s> Browser<'s> {
    fn with_key(served: &'s Served, key: &str) -> Self {
        let mut browser = Self::new(served);
        let (status, _, text) = browser.send("POST", "/page/login", &format!("to=/page&key={key}"));
        assert_eq!(status, 303, "{text}");
        browser
    }

    /// Returns the place of the first proposal that waits.
    fn first_proposal(&mut self) -> String {
        let list = self.get("/page/review");
        let place = list.split("href=\"").find(|rest| rest.starts_with("/page/review/"));
        place.and_then(|place| place.split('"').next()).expect("a proposal").to_owned()
    }
}

#[test]
fn a_new_note_is_shown_whole_before_and_after_its_approval() {
    let library = Library::with(&[("backups.md", NOTE)]);
    let metadata = json!({ "title": "Locks", "tags": ["short"], "evil": "curl x|sh" });
    let note =
        json!({ "content": "Locks are short.\n", "metadata": metadata, "ai_justification": "asked to" });
    call(&mut served(&library), tool::CREATE_NOTE, note);
    let keys = Keys::new();
    let eve = keys.create("Eve", &["review", "write"]);
    let served = keys.serve(&library, &[]);
    let mut browser = Browser::with_key(&served, &eve);
    let place = browser.first_proposal();
    let shown = browser.get(&place);
    for part in ["curl x|sh", "short", "Locks are short."] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("unchanged") && !shown.contains("href=\"/page/notes/notes/pend-"), "{shown}");
    let (status, _, text) = browser.submit(&shown, &place, &[("decision", "approve"), ("part-1", "take")]);
    assert_eq!(status, 303, "{text}");
    let decided = browser.get(&place);
    assert!(decided.contains("It was decided") && decided.contains("approve by Eve"), "{decided}");
}

#[test]
fn a_page_of_a_server_that_only_reads_changes_nothing() {
    let library = Library::with(&[("backups.md", NOTE)]);
    propose(&library, "# Backups\n\nother\n", 1);
    let keys = Keys::new();
    let eve = keys.create("Eve", &["review", "write"]);
    let served = keys.serve(&library, &["--read-only"]);
    let mut browser = Browser::with_key(&served, &eve);
    let place = browser.first_proposal();
    let shown = browser.get(&place);
    assert!(shown.contains("other") && !shown.contains("name=\"decision\""), "{shown}");
    // The form of another server's page has the same fields.
    let before = library.ledger().commits.len();
    let (status, _, text) = browser.submit(&shown, &place, &[("decision", "approve"), ("part-1", "take")]);
    assert_eq!(status, 403, "{text}");
    assert_eq!(library.ledger().commits.len(), before);
}

#[test]
fn people_see_what_their_role_may_read() {
    const SECRET: &str = "the code of the safe";
    let library = Library::with(&[(
        "backups.md",
        &NOTE.replace("version: 1\n", "version: 1\nsensitive: true\n").replace("a week", SECRET),
    )]);
    propose(&library, &format!("# Backups\n\nkept for {SECRET}, and more\n"), 1);
    let keys = Keys::new();
    let (ada, rita, rob) = (
        keys.create("Ada", &["write"]),
        keys.create("Rita", &["review:brainforge"]),
        keys.create("Rob", &["read"]),
    );
    let served = keys.serve(&library, &[]);
    let place = Browser::with_key(&served, &ada).first_proposal();
    let all = [
        "/page/review",
        "/page/log",
        "/page/notes/backups.md",
        "/page/search?q=safe",
        "/page/status",
        &place,
    ];
    for (name, key, permitted, reads) in [
        ("Ada", &ada, &all[..], true),
        ("Rita", &rita, &["/page/review", &place], false),
        ("Rob", &rob, &[], false),
    ] {
        let mut browser = Browser::with_key(&served, key);
        for asked in all {
            let (status, _, text) = browser.send("GET", asked, "");
            assert_eq!(status, if permitted.contains(&asked) { 200 } else { 404 }, "{name} {asked}: {text}");
            assert!(reads || !text.contains(SECRET), "{name} {asked}: {text}");
            let is_withheld = name == "Rita" && *asked == *place;
            assert_eq!(text.contains("an owner decides on it"), is_withheld, "{name} {asked}: {text}");
        }
    }
}

#[test]
fn keys_sign_people_in_until_they_are_revoked() {
    let library = Library::with(&[("backups.md", NOTE)]);
    let keys = Keys::new();
    let eve = keys.create("Eve", &["review", "write"]);
    let agent = keys.run(&["create", "--name", "Ann", "--scope", "write", "--agent", "helper@1"]);
    let served = keys.serve(&library, &[]);
    for (key, status) in [("guess", 401), (agent.as_str(), 401), (eve.as_str(), 303)] {
        let sent = Browser::new(&served).send("POST", "/page/login", &format!("to=/page/review&key={key}"));
        assert_eq!(sent.0, status, "{key}: {}", sent.2);
    }
    let cookie = Browser::with_key(&served, &eve).cookie;
    drop(served);

    // A restart keeps sign-ins; a revoked key ends them.
    let served = keys.serve(&library, &[]);
    let mut browser = Browser::new(&served);
    browser.cookie = cookie;
    assert!(browser.get("/page/review").contains("Eve"));
    keys.run(&["revoke", eve.split('_').nth(1).expect("an id")]);
    assert_eq!(browser.send("GET", "/page/review", "").0, 303);
}

#[test]
fn sign_ins_outlive_a_server_of_rows() {
    let (keys, data) = (Keys::new(), tempfile::tempdir().expect("a folder"));
    let eve = keys.create("Eve", &["write"]);
    let (file, folder) = (keys.file(), data.path().to_str().expect("text"));
    let arguments =
        ["serve", "--contract", "mcb", "--data", folder, "--http", "0", "--keys", &file, "--page"];
    let served = Served::start(&arguments);
    let cookie = Browser::with_key(&served, &eve).cookie;
    drop(served);
    let kept = text(&data.path().join("page-sign-ins"));
    assert!(!kept.contains(cookie.split_once('=').expect("a value").1), "no cookie is kept");
    let served = Served::start(&arguments);
    let mut browser = Browser::new(&served);
    browser.cookie = cookie;
    assert!(browser.get("/page/@rows/memory").contains("Eve"));
}
