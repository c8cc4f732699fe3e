//! Tests of the page over a source that records its calls.

use std::net::IpAddr;

use axum::{body::to_bytes, extract::Request};
use hyper::{
    Method, StatusCode,
    header::{CONTENT_SECURITY_POLICY, COOKIE, HOST, LOCATION, ORIGIN, REFERRER_POLICY, SET_COOKIE},
};

use super::*;
use crate::data::{
    Decision, ListFilter, May, Pages, Part, Person, Preview, Problem, Proposal, ProposalRow, Proposals,
    Remark, StatusLine,
};

const OLD: &str = "# Backups\n\nkept for a week\n\nlast\n";
const NEW: &str = "# Backups\n\nkept for 35 days\n\nlast\n\nmore\n";

/// Has one proposal, and records the decisions.
#[derive(Default)]
struct Garden {
    decisions: Mutex<Vec<Decision>>,
    /// The refusal of decisions, if set.
    refusal: Mutex<Option<Problem>>,
    reads_only: bool,
}

struct Door;

fn eve() -> Person {
    Person { id: "1".into(), name: "Eve <b>".into() }
}

impl Doorkeeper for Door {
    fn by_key(&self, key: &str, _: IpAddr) -> Result<Person, String> {
        if key == "secret" { Ok(eve()) } else { Err("This key is wrong.".into()) }
    }

    fn by_id(&self, id: &str) -> Option<Person> {
        Some(eve()).filter(|eve| eve.id == id)
    }

    fn has_keys(&self) -> bool {
        true
    }

    fn load(&self) -> Option<String> {
        None
    }

    fn store(&self, _: &str) {}
}

fn row() -> ProposalRow {
    ProposalRow {
        id: "7a76".into(),
        title: "Backups <script>".into(),
        path: Some("notes/backups.md".into()),
        author: "agent:helper/Ann".into(),
        agent: Some("helper".into()),
        reason: Some("asked for".into()),
        state: "human_review".into(),
        changed_at: Default::default(),
        lines: Some((3, 1)),
        stale: false,
        new_note: false,
        seen: Default::default(),
    }
}

impl Source for Garden {
    fn name(&self) -> Option<&str> {
        None
    }

    fn title(&self) -> &str {
        "garden"
    }

    fn pages(&self) -> Pages {
        Pages { review: true, ..Pages::default() }
    }

    fn may(&self, _: &Person) -> May {
        May {
            review: true,
            read: false,
            inspect: true,
            decide: !self.reads_only,
            undo: false,
            role: "reviewer",
        }
    }

    fn state(&self) -> String {
        "1".into()
    }

    fn status(&self) -> Result<Vec<StatusLine>, Problem> {
        Ok(vec![])
    }

    fn waiting(&self, _: &Person) -> Result<usize, Problem> {
        Ok(1)
    }

    fn proposals(&self, _: &Person, filter: &ListFilter) -> Result<Proposals, Problem> {
        Ok(Proposals {
            rows: vec![row()],
            // With a filter there are more proposals than fit on a page.
            total: if filter.agent.is_some() { 300 } else { 1 },
            counts: [1, 0, 0, 0],
        })
    }

    fn proposal(&self, _: &Person, id: &str) -> Result<Proposal, Problem> {
        let is_sent_back = id == "sent-back";
        if id != "7a76" && !is_sent_back {
            return Err(Problem::NotFound("There is no such proposal.".into()));
        }
        let part = |old, new| Part { old, new, front_matter: false };
        let state = if is_sent_back { "needs_revision" } else { "human_review" };
        Ok(Proposal {
            row: ProposalRow { id: id.into(), state: state.into(), ..row() },
            revision: "9c41e07d2b".into(),
            over: Some("a37be08c11".into()),
            shown: "1".into(),
            earlier: None,
            note_id: "4be1".into(),
            version: 8,
            open: !is_sent_back,
            withheld: false,
            before: Some(OLD.into()),
            after: Some(NEW.into()),
            parts: vec![part(2..3, 2..3), part(5..5, 5..7)],
            notes: None,
            remarks: vec![],
            course: vec![],
        })
    }

    fn preview(&self, _: &Person, _: &Decision) -> Result<Preview, Problem> {
        Ok(Preview {
            before: Some(OLD.into()),
            after: Some(NEW.into()),
            message: "approve_part".into(),
            answer: "left".into(),
        })
    }

    fn decide(&self, _: &Person, decision: &Decision) -> Result<String, Problem> {
        if let Some(problem) = self.refusal.lock().clone() {
            return Err(problem);
        }
        self.decisions.lock().push(decision.clone());
        Ok("c0ffee".into())
    }
}

/// A minimal browser.
struct Browser {
    page: Arc<Page>,
    cookie: Option<String>,
}

/// An answer.
struct Got {
    status: StatusCode,
    place: Option<String>,
    text: String,
}

impl Browser {
    fn over(garden: &Arc<Garden>) -> Self {
        let page = Page::new(vec![garden.clone() as Arc<dyn Source>], Arc::new(Door), false);
        Self { page, cookie: None }
    }

    fn signed_in(garden: &Arc<Garden>) -> Self {
        let mut browser = Self::over(garden);
        browser.cookie = Some(format!("tabellion-page={}", browser.page.sign_ins.begin(&eve())));
        browser
    }

    async fn send(&mut self, method: Method, place: &str, headers: &[(&str, &str)], body: &str) -> Got {
        let mut request = Request::builder().method(method).uri(place).header(HOST, "localhost:1");
        if let Some(cookie) = &self.cookie {
            request = request.header(COOKIE, cookie);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(body.to_owned().into()).expect("a request");
        let response = self.page.answer(request).await;
        for name in [CONTENT_SECURITY_POLICY, REFERRER_POLICY] {
            assert!(response.headers().contains_key(&name), "{place}: {name}");
        }
        if let Some(set) = response.headers().get(SET_COOKIE) {
            let set = set.to_str().expect("text");
            assert!(set.contains("HttpOnly; SameSite=Strict"), "{set}");
            self.cookie = set.split(';').next().map(str::to_owned);
        }
        let place = response.headers().get(LOCATION).and_then(|place| place.to_str().ok());
        let (status, place) = (response.status(), place.map(str::to_owned));
        let body = to_bytes(response.into_body(), 1 << 20).await.expect("a body");
        let text = String::from_utf8(body.to_vec()).expect("text");
        Got { status, place, text }
    }

    async fn get(&mut self, place: &str) -> Got {
        self.send(Method::GET, place, &[], "").await
    }

    async fn post(&mut self, place: &str, body: &str) -> Got {
        self.send(Method::POST, place, &[(ORIGIN.as_str(), "http://localhost:1")], body).await
    }

    /// Returns a form's body with the token of this place.
    fn form(&self, place: &str, fields: &str) -> String {
        let cookie = self.cookie.as_deref().and_then(|cookie| cookie.split_once('=')).expect("signed in").1;
        let visitor = self.page.sign_ins.visitor(cookie).expect("signed in");
        format!("form={}&{fields}", visitor.token(place))
    }
}

const PLACE: &str = "/page/review/7a76";
const SHOWN: &str = "revision=9c41e07d2b&over=a37be08c11&key=k1";

#[tokio::test]
async fn strangers_are_led_to_signing_in() {
    let mut browser = Browser::over(&Arc::default());
    let led = browser.get("/page/review/7a76?as=whole").await;
    assert_eq!(
        (led.status, led.place.as_deref()),
        (StatusCode::SEE_OTHER, Some("/page/login?to=%2Fpage%2Freview%2F7a76%3Fas%3Dwhole"))
    );
    let wrong = browser.post("/page/login", "key=guess&to=/page/review").await;
    assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    let right = browser.post("/page/login", "key=secret&to=/page/review/7a76").await;
    assert_eq!((right.status, right.place.as_deref()), (StatusCode::SEE_OTHER, Some(PLACE)));
    let shown = browser.get(PLACE).await;
    assert_eq!(shown.status, StatusCode::OK);
    assert!(
        shown.text.contains("Backups &lt;script&gt;") && !shown.text.contains("<script>"),
        "{}",
        shown.text
    );
}

#[tokio::test]
async fn a_filter_stays_from_list_to_list() {
    let mut browser = Browser::over(&Arc::default());
    browser.post("/page/login", "key=secret&to=/page/review").await;
    let all = browser.get("/page/review").await.text;
    for link in [
        "href=\"/page/review\" aria-current",
        "href=\"/page/review?which=approved\"",
        "href=\"/page/review?agent=helper\"",
    ] {
        assert!(all.contains(link), "{link}: {all}");
    }
    let some = browser.get("/page/review?which=agents&agent=a%26b&note=00").await.text;
    for link in [
        "href=\"/page/review?agent=a%26b&amp;note=00\"",
        "href=\"/page/review?which=rejected&amp;agent=a%26b&amp;note=00\"",
        "href=\"/page/review?which=agents&amp;agent=a%26b&amp;note=00&amp;from=100\" rel=\"next\"",
        "Only those of <b>a&amp;b</b>",
    ] {
        assert!(some.contains(link), "{link}: {some}");
    }
}

#[tokio::test]
async fn a_link_of_another_site_loads_the_page_again() {
    let mut browser = Browser::over(&Arc::default());
    let cross = [("sec-fetch-site", "cross-site")];
    let first = browser.send(Method::GET, PLACE, &cross, "").await;
    assert!(
        first.status == StatusCode::OK && first.text.contains("url=/page/review/7a76?again=1"),
        "{}",
        first.text
    );
    let second = browser.send(Method::GET, "/page/review/7a76?again=1", &cross, "").await;
    assert_eq!(second.place.as_deref(), Some("/page/login?to=%2Fpage%2Freview%2F7a76"));
}

#[tokio::test]
async fn forms_of_others_are_refused() {
    let garden = Arc::<Garden>::default();
    let mut browser = Browser::signed_in(&garden);
    let good = browser.form(PLACE, &format!("decision=approve&part-1-2=take&{SHOWN}"));
    let other = browser.form("/page/review/other", &format!("decision=approve&part-1-2=take&{SHOWN}"));
    let own = "http://localhost:1";
    for (origin, body, expected) in [
        (None, &good, StatusCode::FORBIDDEN),
        (Some("https://attacker.example"), &good, StatusCode::FORBIDDEN),
        (Some("http://localhost:2"), &good, StatusCode::FORBIDDEN),
        (Some("null"), &good, StatusCode::FORBIDDEN),
        (Some(own), &other, StatusCode::FORBIDDEN),
        (Some(own), &good.replacen("form=", "form=0", 1), StatusCode::FORBIDDEN),
        (Some(own), &good, StatusCode::SEE_OTHER),
    ] {
        let headers: Vec<_> = origin.map(|origin| (ORIGIN.as_str(), origin)).into_iter().collect();
        let got = browser.send(Method::POST, PLACE, &headers, body).await;
        assert_eq!(got.status, expected, "{origin:?} {body}");
        let made = garden.decisions.lock().len();
        assert_eq!(made, usize::from(expected == StatusCode::SEE_OTHER), "{origin:?} {body}");
    }
}

/// Its agent may never return.
#[tokio::test]
async fn a_proposal_that_was_sent_back_can_only_be_rejected() {
    let mut browser = Browser::signed_in(&Arc::new(Garden::default()));
    for (id, decisions) in
        [("7a76", &["approve", "needs_revision", "reject"][..]), ("sent-back", &["reject"])]
    {
        let got = browser.send(Method::GET, &format!("/page/review/{id}"), &[], "").await;
        for on in ["approve", "needs_revision", "reject"] {
            let button = format!("name=\"decision\" value=\"{on}\"");
            assert_eq!(got.text.contains(&button), decisions.contains(&on), "{id} {on}");
        }
    }
}

#[tokio::test]
async fn a_decision_names_what_was_shown() {
    let shown = |on: &str| Decision {
        id: "7a76".into(),
        on: on.into(),
        revision: "9c41e07d2b".into(),
        over: Some("a37be08c11".into()),
        key: "k1".into(),
        ..Decision::default()
    };
    let remark = Remark { old: false, line: 3, quote: "kept for 35 days".into(), text: "why?".into() };
    for (fields, expected) in [
        ("decision=approve&part-1-2=take", shown("approve")),
        ("decision=approve&part-1=take&part-2=take", shown("approve")),
        (
            "decision=needs_revision&notes=please&remark-n3=why%3F&remark-o9=+",
            Decision {
                notes: Some("please".into()),
                remarks: vec![remark.clone()],
                ..shown("needs_revision")
            },
        ),
        (
            "decision=approve&part-1=take&part-2=leave&remark-n3=why%3F&sure=yes",
            Decision { parts: vec![1], remarks: vec![remark], ..shown("approve_part") },
        ),
    ] {
        let garden = Arc::<Garden>::default();
        let mut browser = Browser::signed_in(&garden);
        let body = browser.form(PLACE, &format!("{fields}&{SHOWN}"));
        let got = browser.post(PLACE, &body).await;
        assert_eq!(
            got.place.as_deref(),
            Some("/page/review?done=7a76&commit=c0ffee"),
            "{fields}: {}",
            got.text
        );
        assert_eq!(*garden.decisions.lock(), [expected], "{fields}");
    }
}

#[tokio::test]
async fn an_approval_in_part_is_previewed_first() {
    let garden = Arc::<Garden>::default();
    let mut browser = Browser::signed_in(&garden);
    let body =
        browser.form(PLACE, &format!("decision=approve&part-1=take&part-2=leave&remark-n7=no&{SHOWN}"));
    let got = browser.post(PLACE, &body).await;
    assert_eq!(got.status, StatusCode::OK);
    assert!(garden.decisions.lock().is_empty(), "nothing has happened yet");
    for kept in [
        "name=\"part-2\" value=\"leave\"",
        "name=\"remark-n7\" value=\"no\"",
        "name=\"sure\"",
        "value=\"9c41e07d2b\"",
    ] {
        assert!(got.text.contains(kept), "{kept}: {}", got.text);
    }
    let nothing = browser.form(PLACE, &format!("decision=approve&part-1-2=leave&{SHOWN}"));
    let got = browser.post(PLACE, &nothing).await;
    assert!(got.status == StatusCode::CONFLICT && got.text.contains("Nothing is taken"), "{}", got.text);
}

#[tokio::test]
async fn nothing_typed_is_lost() {
    let garden = Arc::<Garden>::default();
    *garden.refusal.lock() = Some(Problem::Moved("It has moved.".into()));
    let mut browser = Browser::signed_in(&garden);
    let typed = format!("decision=reject&notes=my+word&remark-n3=my+remark&part-2=leave&{SHOWN}");
    let body = browser.form(PLACE, &typed);
    let moved = browser.post(PLACE, &body).await;
    assert_eq!(moved.status, StatusCode::CONFLICT);
    let mut other = Browser::over(&garden);
    let ended = other.post(PLACE, &body).await;
    assert_eq!(ended.status, StatusCode::UNAUTHORIZED);
    let again =
        "key=secret&to=/page/review/7a76&typed-notes=my+word&typed-remark-n3=my+remark&typed-part-2=leave";
    let again = other.post("/page/login", again).await;
    assert_eq!(again.status, StatusCode::OK);
    for (name, got, kept) in [
        (
            "moved",
            &moved,
            &["It has moved.", ">my word</textarea>", ">my remark</textarea>", "data-moved=\"yes\""][..],
        ),
        (
            "ended",
            &ended,
            &["name=\"typed-notes\" value=\"my word\"", "name=\"typed-remark-n3\" value=\"my remark\""],
        ),
        ("again", &again, &[">my word</textarea>", ">my remark</textarea>"]),
    ] {
        for kept in kept {
            assert!(got.text.contains(kept), "{name}: {kept}: {}", got.text);
        }
    }
    assert!(garden.decisions.lock().is_empty());
}

#[tokio::test]
async fn readers_see_no_forms() {
    let garden = Arc::new(Garden { reads_only: true, ..Garden::default() });
    let mut browser = Browser::signed_in(&garden);
    let shown = browser.get(PLACE).await;
    assert!(!shown.text.contains("name=\"decision\""), "{}", shown.text);
    let body = browser.form(PLACE, &format!("decision=approve&part-1-2=take&{SHOWN}"));
    let got = browser.post(PLACE, &body).await;
    assert_eq!(got.status, StatusCode::FORBIDDEN);
    assert!(garden.decisions.lock().is_empty());
}

#[tokio::test]
async fn places_of_others_are_not_gone_to() {
    let mut browser = Browser::over(&Arc::default());
    for (to, expected) in [
        ("/page/review", "/page/review"),
        ("/page?a=b", "/page?a=b"),
        ("https://attacker.example/", BASE),
        ("//attacker.example/", BASE),
        ("/pagex", BASE),
        ("/page/\\attacker", BASE),
        ("", BASE),
    ] {
        let got = browser.post("/page/login", &format!("key=secret&to={}", form::escaped(to))).await;
        assert_eq!(got.place.as_deref(), Some(expected), "{to}");
    }
}

#[tokio::test]
async fn every_answer_is_sealed() {
    let mut browser = Browser::signed_in(&Arc::default());
    for (method, place, expected) in [
        (Method::GET, "/page", 303),
        (Method::GET, "/page/review", 200),
        (Method::GET, "/page/review/none", 404),
        (Method::GET, "/page/log", 404),
        (Method::GET, "/page/@other/review", 404),
        (Method::GET, "/page/status", 200),
        (Method::GET, "/page/account", 200),
        (Method::GET, "/page/keys", 200),
        (Method::GET, "/page/login?link=none", 410),
        (Method::GET, "/page/assets/none.css", 404),
        (Method::PUT, "/page/review", 405),
        (Method::HEAD, "/page/review", 200),
    ] {
        let got = browser.send(method, place, &[], "").await;
        assert_eq!(got.status.as_u16(), expected, "{place}");
    }
}
