//! Turns a request into a response: identifies the visitor, checks that a form is genuine, and sets the headers of every answer.

use std::{
    net::IpAddr,
    sync::Arc,
    time::{Instant, SystemTime},
};

use axum::{
    body::{Body, to_bytes},
    extract::Request,
    response::Response,
};
use chrono::{DateTime, Utc};
use hyper::{
    HeaderMap, Method, StatusCode, Uri,
    header::{
        ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, HOST, HeaderName, HeaderValue,
        LOCATION, ORIGIN, REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
    },
    http::request::Parts,
};
use maud::{Markup, html};

use crate::{
    BASE, Page,
    assets::{ICON, SCRIPT, STYLE},
    data::{Pages, Problem, Source},
    form::{Fields, escaped},
    sign_in::Visitor,
    views::{self, Answer, Cx, account, log, memory, notes, review, status},
};

/// Maximum size of a form, in bytes.
const MAX_FORM: usize = 4 << 20;
const COOKIE_NAME: &str = "tabellion-page";
const THEME: &str = "tabellion-theme";
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// A request, without its body.
struct RequestHead {
    head: Parts,
    fields: Fields,
    query: Fields,
    address: IpAddr,
}

impl RequestHead {
    fn is_post(&self) -> bool {
        self.head.method == Method::POST
    }

    /// Returns the parts of the path below [`BASE`].
    fn segments(&self) -> Vec<&str> {
        let below = self.head.uri.path().strip_prefix(BASE).unwrap_or_default();
        below.split('/').filter(|part| !part.is_empty()).collect()
    }

    fn cookie(&self, name: &str) -> Option<&str> {
        let all = self.head.headers.get_all(COOKIE).iter();
        let mut pairs = all.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(';'));
        pairs.find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
    }
}

impl Page {
    pub(crate) async fn answer(self: &Arc<Self>, request: Request) -> Response {
        *self.used.lock() = Instant::now();
        let mut response = self.unsealed(request).await;
        seal(response.headers_mut());
        response
    }

    async fn unsealed(self: &Arc<Self>, request: Request) -> Response {
        let (mut head, body) = request.into_parts();
        if head.method == Method::HEAD {
            head.method = Method::GET;
        }
        if ![Method::GET, Method::POST].contains(&head.method) {
            let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "GET, HEAD and POST only\n");
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD, POST"));
            return response;
        }
        let Ok(body) = to_bytes(body, MAX_FORM).await else {
            return text(StatusCode::PAYLOAD_TOO_LARGE, "the form is larger than 4 MiB; write less\n");
        };
        if head.method == Method::POST && !is_own_origin(&head.headers) {
            return text(StatusCode::FORBIDDEN, "this form was not sent by the page\n");
        }
        let address = head.extensions.get::<IpAddr>().copied();
        let asked = RequestHead {
            fields: Fields::parse(&body),
            query: Fields::parse(head.uri.query().unwrap_or_default().as_bytes()),
            address: address.unwrap_or(IpAddr::from([0, 0, 0, 0])),
            head,
        };
        let segments = asked.segments();
        match segments[..] {
            ["assets", name] => return asset(name),
            ["login"] => return self.login(&asked).await,
            _ => {}
        }
        let cookie = asked.cookie(COOKIE_NAME);
        let Some(visitor) = cookie.and_then(|cookie| self.sign_ins.visitor(cookie)) else {
            return self.stranger(&asked);
        };
        let purpose = asked.head.uri.path();
        let token = asked.fields.get("form").unwrap_or_default();
        if asked.is_post() && !visitor.made(purpose, token) {
            return text(StatusCode::FORBIDDEN, "this form is of another sign-in: load the page again\n");
        }
        if segments.last() == Some(&"events") {
            return self.events(&visitor, &segments, &asked.query);
        }
        self.shown(visitor, asked).await
    }

    /// Answers a person who has signed in, on a thread that may block.
    async fn shown(self: &Arc<Self>, visitor: Visitor, asked: RequestHead) -> Response {
        let page = self.clone();
        let shown = tokio::task::spawn_blocking(move || page.view(&visitor, &asked)).await;
        shown.unwrap_or_else(|error| {
            tracing::error!(%error, "a page failed");
            text(StatusCode::INTERNAL_SERVER_ERROR, "a defect of this program; its log says more\n")
        })
    }

    /// Shows a page to a person who has signed in, or performs a form's action.
    fn view(&self, visitor: &Visitor, asked: &RequestHead) -> Response {
        let mut segments = asked.segments();
        let name = segments.first().and_then(|first| first.strip_prefix('@'));
        if name.is_some() {
            segments.remove(0);
        }
        let named = self.sources.iter().find(|source| source.name() == name);
        let may = |source: &&Arc<dyn Source>| source.may(&visitor.person);
        let visible = |source: &&Arc<dyn Source>| may(source).enter();
        let first = self.sources.iter().find(|source| may(source).see());
        let first = first.or_else(|| self.sources.iter().find(visible));
        if named.is_none()
            && name.is_none()
            && segments.is_empty()
            && let Some(first) = first
        {
            let place = views::below(&**first, "");
            return see_other(&place);
        }
        let Some(source) = named.filter(visible) else {
            let markup =
                views::alone("Not found", &html! { p { "There is no such page, or you may not see it." } });
            return page(StatusCode::NOT_FOUND, &markup);
        };
        let cx = Cx {
            page: self,
            visitor,
            source: &**source,
            may: source.may(&visitor.person),
            query: &asked.query,
            fields: &asked.fields,
            path: asked.head.uri.path(),
            theme: asked.cookie(THEME).filter(|theme| account::THEMES.contains(theme)),
            now: DateTime::<Utc>::from(SystemTime::now()),
        };
        match self.route(&cx, &segments, asked.is_post()) {
            Ok(Answer::Page(status, markup)) => page(status, &markup),
            Ok(Answer::SeeOther(place)) => {
                let mut response = see_other(&place);
                if let (["account", "theme"], Some(theme)) = (&segments[..], asked.fields.get("theme")) {
                    let theme = account::THEMES.into_iter().find(|known| *known == theme).unwrap_or_default();
                    let cookie = format!("{THEME}={theme}; Path={BASE}; SameSite=Strict; Max-Age=31536000");
                    response.headers_mut().append(SET_COOKIE, value(&cookie));
                }
                response
            }
            Err(problem) => page(views::status(&problem), &cx.problem(&problem)),
        }
    }

    fn route(&self, cx: &Cx<'_>, segments: &[&str], is_post: bool) -> Result<Answer, Problem> {
        let Pages { review: has_review, log: has_log, memory: has_memory } = cx.pages();
        match (segments, is_post) {
            ([], false) => {
                let first = if has_review {
                    "review"
                } else if has_log {
                    "log"
                } else if has_memory {
                    "memory"
                } else {
                    "account"
                };
                Ok(Answer::SeeOther(cx.url(first)))
            }
            (["review"], false) if has_review => review::list(cx),
            (["review", id], false) if has_review => review::show(cx, id),
            (["review", id], true) if has_review => review::decide(cx, id),
            (["log"], false) if has_log => log::list(cx),
            (["log", commit], false) if has_log => log::show(cx, commit),
            (["log", commit], true) if has_log => log::undo(cx, commit),
            (["notes", path @ ..], false) if has_log && !path.is_empty() => notes::show(cx, &path.join("/")),
            (["search"], false) if has_log => notes::search(cx),
            ([page @ ("memory" | "sessions" | "board" | "code")], false) if has_memory => {
                memory::show(cx, page)
            }
            (["status"], false) if cx.may.inspect => status::show(cx),
            (["account"], false) => account::show(cx),
            (["account", action], true) => account::act(cx, action),
            (["keys"], false) => account::keys(cx),
            _ => Err(Problem::NotFound("There is no such page, or you may not see it.".into())),
        }
    }

    /// Answers a person who has not signed in.
    fn stranger(&self, asked: &RequestHead) -> Response {
        let here = asked.head.uri.path_and_query().map_or(BASE, |place| place.as_str());
        if asked.is_post() {
            // The form is not executed: it is shown again after signing in, with all typed text.
            let typed = asked.fields.all().filter(|(name, _)| *name != "form" && *name != "key");
            let typed: Vec<_> = typed.collect();
            let markup = account::login(
                self.sign_ins.doorkeeper().has_keys(),
                asked.head.uri.path(),
                &typed,
                Some(ENDED),
            );
            return page(StatusCode::UNAUTHORIZED, &markup);
        }
        let site = asked.head.headers.get("sec-fetch-site");
        if site.is_some_and(|site| site == "cross-site") && asked.query.get("again").is_none() {
            // A link in another site's chat brings no Strict cookies; the page's own refresh does.
            return page(StatusCode::OK, &account::again(&with_query(here, "again=1")));
        }
        let to = here.trim_end_matches("again=1").trim_end_matches(['?', '&']);
        see_other(&format!("{BASE}/login?to={}", escaped(to)))
    }

    /// Shows the form for a key, or signs its person in.
    async fn login(self: &Arc<Self>, asked: &RequestHead) -> Response {
        let fields = if asked.is_post() { &asked.fields } else { &asked.query };
        let to = own_path(fields.get("to"));
        if let Some(token) = fields.get("link") {
            return self.follow(token, &to, asked.is_post());
        }
        let typed: Vec<_> = fields.beginning("typed-").collect();
        let has_keys = self.sign_ins.doorkeeper().has_keys();
        if !asked.is_post() {
            return page(StatusCode::OK, &account::login(has_keys, &to, &typed, None));
        }
        let key = asked.fields.filled("key").unwrap_or_default();
        let person = match self.sign_ins.doorkeeper().by_key(key, asked.address) {
            Ok(person) => person,
            Err(why) => {
                return page(StatusCode::UNAUTHORIZED, &account::login(has_keys, &to, &typed, Some(&why)));
            }
        };
        let cookie = self.sign_ins.begin(&person);
        let visitor = self.sign_ins.visitor(&cookie);
        let (Some(visitor), false, Ok(uri)) = (visitor, typed.is_empty(), to.parse::<Uri>()) else {
            return self.signed_in(see_other(&to), &cookie);
        };
        // The page that contained the form, with all typed text.
        let mut head = asked.head.clone();
        (head.method, head.uri) = (Method::GET, uri);
        let again = RequestHead {
            query: Fields::parse(head.uri.query().unwrap_or_default().as_bytes()),
            fields: typed.into_iter().collect(),
            address: asked.address,
            head,
        };
        self.signed_in(self.shown(visitor, again).await, &cookie)
    }

    /// Shows the button of a link, or consumes the link.
    fn follow(&self, token: &str, to: &str, is_pressed: bool) -> Response {
        if is_pressed && let Some(cookie) = self.sign_ins.follow(token) {
            return self.signed_in(see_other(to), &cookie);
        }
        match self.sign_ins.linked(token) {
            Some(person) => page(StatusCode::OK, &account::linked(&person, token, to)),
            None => page(StatusCode::GONE, &account::used_up()),
        }
    }

    /// Adds the cookie of a new sign-in.
    fn signed_in(&self, mut response: Response, cookie: &str) -> Response {
        let secure = if self.is_secure { "; Secure" } else { "" };
        let cookie = format!("{COOKIE_NAME}={cookie}; Path={BASE}; HttpOnly; SameSite=Strict{secure}");
        response.headers_mut().append(SET_COOKIE, value(&cookie));
        response
    }
}

const ENDED: &str = "Your sign-in has ended. Nothing was done. After this you see the page again, with what you typed, and press again.";

/// Adds the headers of every answer.
fn seal(headers: &mut HeaderMap) {
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

/// Returns true if a form comes from the page itself: browsers send the origin with every POST.
fn is_own_origin(headers: &HeaderMap) -> bool {
    let one = |name: HeaderName| {
        let mut all = headers.get_all(name).iter();
        all.next()
            .filter(|_| all.next().is_none())
            .and_then(|value| value.to_str().ok().map(str::to_ascii_lowercase))
    };
    let (Some(origin), Some(host)) = (one(ORIGIN), one(HOST)) else {
        return false;
    };
    origin.split_once("://").is_some_and(|(scheme, rest)| ["http", "https"].contains(&scheme) && rest == host)
}

/// Returns the path if it is below the page; otherwise the page itself.
fn own_path(path: Option<&str>) -> String {
    let is_own = |path: &&str| {
        let rest = path.strip_prefix(BASE);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
            && !path.contains(['\\', '\r', '\n'])
            && path.is_ascii()
    };
    path.filter(is_own).unwrap_or(BASE).to_owned()
}

fn with_query(place: &str, query: &str) -> String {
    let sign = if place.contains('?') { '&' } else { '?' };
    format!("{place}{sign}{query}")
}

fn asset(name: &str) -> Response {
    let Some(asset) = [&*STYLE, &*SCRIPT, &*ICON].into_iter().find(|asset| asset.name == name) else {
        return text(StatusCode::NOT_FOUND, "no such file\n");
    };
    let mut response = Response::new(Body::from(asset.text));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(asset.media));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    response
}

fn page(status: StatusCode, markup: &Markup) -> Response {
    answer(status, "text/html; charset=utf-8", markup.0.clone())
}

fn text(status: StatusCode, text: &str) -> Response {
    answer(status, "text/plain; charset=utf-8", text.to_owned())
}

fn answer(status: StatusCode, media: &'static str, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
    response
}

fn see_other(place: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    response.headers_mut().insert(LOCATION, value(place));
    response
}

fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(BASE))
}
