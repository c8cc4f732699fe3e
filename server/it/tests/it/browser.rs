//! The page in a real browser: Debian's Chromium, driven by WebDriver. `cargo xtask browser` runs these tests.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use serde_json::{Map, Value, json};
use tabellion_conformance::http::{Request, Url};
use tabellion_contracts::brainforge::tool;
use thirtyfour::{
    ChromiumLikeCapabilities as _, DesiredCapabilities, Key, LoggingPrefsLogLevel, WebDriver,
    error::{WebDriverError, WebDriverResult},
    extensions::query::ElementQueryable as _,
    prelude::By,
    session::http::{Body, HttpClient},
};

use crate::{
    page::{ID, Keys, NOTE, Served, propose},
    review::{call, ran, served},
    support::{Library, Running},
};

/// The body of a note and of its proposals: the number of days that backups are kept, and the time of a drill.
fn body(kept: &str, drill: &str) -> String {
    format!(
        "# Backups\n\nkept for {kept}\n\nof all\n\nthat there\n\nis on the disks\n\n## Drill\n\n{drill}\n"
    )
}

/// A library with a note, and an agent's proposal of a different body.
fn proposed(kept: &str, drill: &str) -> Library {
    let front_matter = NOTE.split_once("# ").expect("a heading").0;
    let note = format!("{front_matter}{}", body("a week", "now and then"));
    let library = Library::with(&[("backups.md", &note)]);
    propose(&library, &body(kept, drill), 1);
    library
}

const TIMEOUT: Duration = Duration::from_secs(60);
/// Variable with the path of axe-core's script.
const AXE: &str = "TABELLION_AXE";
/// Expression for the remark on a whole proposal.
const WORD: &str = "document.querySelector('#word')?.value";
const WIDTHS: [u32; 2] = [1280, 390];
const THEMES: [&str; 2] = ["light", "dark"];

/// Sends the commands of WebDriver with the client of the conformance suite.
#[derive(Debug, Clone)]
struct Client;

#[async_trait::async_trait]
impl HttpClient for Client {
    async fn send(&self, request: http::Request<Body<'_>>) -> WebDriverResult<http::Response<Bytes>> {
        let failed = |error: &dyn std::fmt::Display| WebDriverError::HttpError(error.to_string());
        let url = Url::parse(&request.uri().to_string()).map_err(|error| failed(&error))?;
        let method = match request.method().as_str() {
            "GET" => "GET",
            "DELETE" => "DELETE",
            _ => "POST",
        };
        let mut sent = Request::new(method).with("Content-Type", "application/json");
        if let Body::Json(body) = request.body() {
            sent.body = body.to_string().into_bytes();
        }
        let answered = tokio::task::spawn_blocking(move || {
            let mut response = sent.send(&url, TIMEOUT)?;
            Ok::<_, std::io::Error>((response.status, response.bytes()?))
        });
        let (status, body) =
            answered.await.map_err(|error| failed(&error))?.map_err(|error| failed(&error))?;
        let response = http::Response::builder().status(status).body(body.into());
        response.map_err(|error| failed(&error))
    }

    async fn new(&self) -> Arc<dyn HttpClient> {
        Arc::new(Self)
    }
}

/// Runs a scenario in a new browser; it leaves no line in the console.
fn in_browser(scenario: impl AsyncFnOnce(&Screen) -> WebDriverResult<()>) {
    let child = Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).spawn();
    let mut driver = Running(child.expect("chromedriver is installed"));
    let lines = BufReader::new(driver.0.stdout.take().expect("standard output")).lines();
    let port = lines.map_while(Result::ok).find_map(|line| {
        let (_, port) = line.split_once("successfully on port ")?;
        Some(port.trim_end_matches('.').to_owned())
    });
    let port = port.expect("a port");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let outcome = runtime.block_on(async {
        let mut capabilities = DesiredCapabilities::chrome();
        for argument in
            ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,900"]
        {
            capabilities.add_arg(argument)?;
        }
        capabilities.set_browser_log_level(LoggingPrefsLogLevel::All)?;
        let driver =
            WebDriver::builder(format!("http://127.0.0.1:{port}"), capabilities).client(Client).await?;
        let screen = Screen { driver };
        let outcome = scenario(&screen).await;
        if outcome.is_err() {
            let shown =
                screen.value("[location.href, document.activeElement.outerHTML, document.body.innerText]");
            eprintln!("the browser shows {:#}", shown.await?);
        }
        let mut lines = screen.driver.browser_log().await?;
        // Pages with a refusal have such a status.
        lines.retain(|line| !line.message.contains("responded with a status of 4"));
        screen.driver.quit().await?;
        outcome?;
        assert!(lines.is_empty(), "the console has {lines:?}");
        Ok::<_, WebDriverError>(())
    });
    outcome.expect("the browser does what it is told");
}

/// A window of the browser.
struct Screen {
    driver: WebDriver,
}

impl Screen {
    /// Presses keys, once the page's script has run.
    async fn press(&self, keys: &str) -> WebDriverResult<()> {
        self.wait("document.readyState", "complete").await?;
        self.driver.action_chain().send_keys(keys).perform().await
    }

    async fn press_enter(&self) -> WebDriverResult<()> {
        self.press(Key::Enter.value().to_string().as_str()).await
    }

    /// Waits for an element.
    async fn see(&self, css: &str) -> WebDriverResult<thirtyfour::WebElement> {
        self.driver.query(By::Css(css)).first().await
    }

    /// Waits for an element with this text, whatever is loaded meanwhile.
    async fn read(&self, css: &str, text: &str) -> WebDriverResult<thirtyfour::WebElement> {
        let holds = format!(
            "[...document.querySelectorAll({})].some((it) => it.innerText.includes({}))",
            json!(css),
            json!(text)
        );
        self.wait(&holds, true).await?;
        self.driver.find(By::Css(css)).await
    }

    /// Waits until a script's expression has this value. Input, messages and scripts of a page take effect after the
    /// command that caused them, so a test asserts by waiting.
    async fn wait(&self, expression: &str, expected: impl Into<Value>) -> WebDriverResult<()> {
        let expected = expected.into();
        let since = Instant::now();
        loop {
            let value = self.value(expression).await?;
            if value == expected {
                return Ok(());
            }
            if since.elapsed() > TIMEOUT {
                let failed = format!("`{expression}` is {value} instead of {expected}");
                return Err(WebDriverError::FatalError(failed));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Undoes the decision that the page reports.
    async fn undo_the_decision(&self) -> WebDriverResult<()> {
        let commit = self.see("[role=status] a[href*='/log/']").await?;
        commit.click().await?;
        let undo = self.read("main button", "Undo exactly this").await?;
        undo.click().await?;
        self.read("main h1", "revert").await.map(drop)
    }

    async fn sign_in_by_link(&self, served: &Served) -> WebDriverResult<()> {
        let link = served.link.as_deref().expect("a link");
        self.driver.goto(format!("{}{link}", served.base)).await?;
        self.see("main button, form button").await?.click().await?;
        self.see("main h1").await.map(drop)
    }

    async fn sign_in_by_key(&self, served: &Served, key: &str) -> WebDriverResult<()> {
        self.driver.goto(format!("{}/page", served.base)).await?;
        self.see("input[name=key]").await?.send_keys(key).await?;
        self.press_enter().await?;
        self.see("nav a[aria-current]").await.map(drop)
    }

    async fn emulate(&self, command: &str, arguments: Value) -> WebDriverResult<()> {
        self.driver.cdp().send_raw(command, arguments).await.map(drop)
    }

    /// Returns the value of a script's expression.
    async fn value(&self, expression: &str) -> WebDriverResult<Value> {
        let value = self.driver.execute(format!("return {expression}"), vec![]).await?;
        Ok(value.json().clone())
    }
}

/// Serves the review of a library to the account that runs the tests.
fn reviewed(library: &Library) -> Served {
    let root = library.root().to_str().expect("text");
    Served::start(&["review", "--library", root, "--web"])
}

#[test]
#[ignore = "needs a browser: `cargo xtask browser` runs it"]
fn a_reviewer_needs_no_mouse() {
    let library = proposed("35 days", "each month");
    let served = reviewed(&library);
    let note = || fs::read_to_string(library.path("backups.md")).expect("the note");
    in_browser(async |screen| {
        screen.sign_in_by_link(&served).await?;
        screen.press("jo").await?;
        screen.see("#decision").await?;

        // One part is taken, one is left with a remark; the preview changes nothing yet.
        screen.press("jjxc").await?;
        screen.press("which day?").await?;
        screen.press(Key::Escape.value().to_string().as_str()).await?;
        screen.press("a").await?;
        screen.read("#approve:focus", "Preview 1 of 2 parts").await?;
        screen.press_enter().await?;
        screen.read("main", "which day?").await?;
        assert!(note().contains("a week"), "a preview changes nothing");
        screen.press("a").await?;
        screen.see("#approve:focus").await?;
        screen.press_enter().await?;
        screen.read("[role=status]", "Decided").await?;
        assert!(note().contains("35 days") && note().contains("now and then"), "{}", note());

        // The agent revises, and revises again while the reviewer reads.
        let mut agent = self::served(&library);
        let mut revise = |text: &str, version: u64| {
            let change =
                json!({ "note_id": ID, "version": version, "content": text, "change_reason": "the day" });
            let answer = call(&mut agent, tool::UPDATE_NOTE, change);
            assert_eq!(answer["status"], "pending_review", "{answer}");
        };
        revise(&body("35 days", "on Mondays"), 3);
        screen.driver.goto(format!("{}/page/review", served.base)).await?;
        screen.press("jo").await?;
        screen.read("main", "on Mondays").await?;
        screen.see("#word").await?.send_keys("a word that stays").await?;
        revise(&body("35 days", "on Tuesdays"), 4);
        screen.read("#news", "has changed").await?;
        screen.read("#approve[aria-disabled=true]", "Look at what changed first").await?;
        screen.see("#news a").await?.click().await?;
        screen.read("main", "on Tuesdays").await?;
        screen.wait(WORD, "a word that stays").await?;

        // An approval of the whole, and its undo, after which the proposal waits again.
        screen.press("a").await?;
        screen.see("#approve:focus").await?;
        screen.press_enter().await?;
        screen.read("[role=status]", "Decided").await?;
        assert!(note().contains("on Tuesdays"), "{}", note());
        screen.undo_the_decision().await?;
        assert!(note().contains("now and then"), "{}", note());
        screen.driver.goto(format!("{}/page/review", served.base)).await?;
        screen.read("main", "Backups").await.map(drop)
    });
    let (is_fine, said) = ran(&library, &["audit", "--check"]);
    assert!(is_fine, "{said}");
}

#[test]
#[ignore = "needs a browser: `cargo xtask browser` runs it"]
fn what_is_typed_outlives_a_reload_and_a_server() {
    let library = proposed("35 days", "now and then");
    let keys = Keys::new();
    let eve = keys.create("Eve", &["review", "write"]);
    let served = keys.serve(&library, &[]);
    let place = || format!("{}/page/review", served.base);
    in_browser(async |screen| {
        screen.sign_in_by_key(&served, &eve).await?;
        screen.driver.goto(place()).await?;
        screen.press("jo").await?;
        let word = screen.see("#word").await?;
        word.send_keys("not yet").await?;
        screen.driver.refresh().await?;
        screen.wait(WORD, "not yet").await?;

        // The sign-in ends: the form is not sent, and is restored after signing in.
        screen.driver.delete_all_cookies().await?;
        screen.press("r").await?;
        screen.press_enter().await?;
        let key = screen.see("input[name=key]").await?;
        key.send_keys(&eve).await?;
        screen.press_enter().await?;
        screen.wait(WORD, "not yet").await?;
        screen.press("r").await?;
        screen.see("#reject:focus").await?;
        screen.press_enter().await?;
        screen.read("[role=status]", "Decided").await.map(drop)
    });
}

#[test]
#[ignore = "needs a browser: `cargo xtask browser` runs it"]
fn a_hostile_note_runs_and_loads_nothing() {
    let hostile = "# <script>document.title = 'run'</script>\n\n\
        <img src=\"https://evil.example/x.png\" onerror=\"document.title = 'run'\">\n\n\
        ![x](https://evil.example/y.png) [a](javascript:document.title='run') [b](data:text/html,x)\n\n\
        <svg onload=\"document.title = 'run'\"></svg><style>body { display: none }</style>\n\n\
        </textarea></template><base href=\"https://evil.example/\"><form action=\"https://evil.example/\">\n";
    let library = Library::with(&[("backups.md", NOTE), ("hostile.md", hostile)]);
    propose(&library, hostile, 1);
    let served = reviewed(&library);
    in_browser(async |screen| {
        screen.sign_in_by_link(&served).await?;
        screen.press("jo").await?;
        screen.see("#decision").await?;
        let place = screen.driver.current_url().await?.path().to_owned();
        for shown in ["", "?as=rendered", "?as=whole"] {
            screen.driver.goto(format!("{}{place}{shown}", served.base)).await?;
            are_own(screen, &served).await?;
        }
        screen.driver.goto(format!("{}/page/notes/hostile.md", served.base)).await?;
        are_own(screen, &served).await
    });
}

/// Panics unless all that the page has loaded is its own, and it has its title and elements.
async fn are_own(screen: &Screen, served: &Served) -> WebDriverResult<()> {
    let loaded = screen.value("performance.getEntriesByType('resource').map((entry) => entry.name)").await?;
    for name in loaded.as_array().expect("an array") {
        assert!(name.as_str().is_some_and(|name| name.starts_with(&served.base)), "{loaded}");
    }
    assert_ne!(screen.driver.title().await?, "run");
    let foreign = "[...document.querySelectorAll('main img, main svg[onload], base, main style, a[href^=\"javascript:\"], a[href^=\"data:\"]')].length";
    assert_eq!(screen.value(foreign).await?, 0);
    Ok(())
}

#[test]
#[ignore = "needs a browser: `cargo xtask browser` runs it"]
fn all_works_without_script() {
    let library = proposed("35 days", "each month");
    let before = fs::read(library.path("backups.md")).expect("the note");
    let served = reviewed(&library);
    in_browser(async |screen| {
        let off = json!({ "value": true });
        screen.emulate("Emulation.setScriptExecutionDisabled", off).await?;
        screen.sign_in_by_link(&served).await?;
        screen.see("main a[href*='/page/review/']").await?.click().await?;
        screen.see("label.out input").await?.click().await?;
        screen.see("tr.a .n a, tr.d .n a").await?.click().await?;
        screen.see("textarea[name^=remark-]").await?.send_keys("without script").await?;
        screen.see("label.out input").await?.click().await?;
        screen.see("#approve").await?.click().await?;
        screen.read("main", "without script").await?;
        screen.see("#approve").await?.click().await?;
        screen.read("[role=status]", "Decided").await?;
        screen.undo_the_decision().await
    });
    assert_eq!(fs::read(library.path("backups.md")).expect("the note"), before);
}

#[test]
#[ignore = "needs a browser: `cargo xtask browser` runs it"]
fn a_page_of_another_port_decides_nothing() {
    let library = proposed("35 days", "now and then");
    let served = reviewed(&library);
    in_browser(async |screen| {
        screen.sign_in_by_link(&served).await?;
        screen.press("jo").await?;
        let field = |name: &str| format!("document.querySelector('#decision [name={name}]').value");
        let mut fields = String::new();
        for name in ["form", "revision", "over", "key"] {
            let value = screen.value(&field(name)).await?;
            let value = value.as_str().unwrap_or_default();
            fields += &format!("<input name={name} value='{value}'>");
        }
        let place = screen.driver.current_url().await?;
        let page = format!(
            "<form method=post action='{place}'>{fields}<input name=decision value=reject><input name=notes value=no>\
             <button>win a prize</button></form><iframe src='{place}'></iframe>"
        );
        let port = served_elsewhere(&page);
        // The same host name, so that cookies are shared.
        let host = place.host_str().expect("a host").to_owned();
        screen.driver.goto(format!("http://{host}:{port}/")).await?;
        screen.see("button").await?.click().await?;
        screen.read("body", "pages of this origin are not served").await?;
        // The refusal and the frame leave their messages in the console.
        screen.driver.browser_log().await.map(drop)
    });
    assert!(ran(&library, &["review", "list"]).1.contains("Backups"), "it waits");
}

#[test]
#[ignore = "needs a browser: `cargo xtask browser` runs it"]
fn an_app_in_a_client_shows_what_waits_and_decides_nothing() {
    let library = proposed("35 days", "now and then");
    let mut agent = self::served(&library);
    let shows_apps = json!({ "extensions": { "io.modelcontextprotocol/ui": { "mimeTypes": ["text/html;profile=mcp-app"] } } });
    let shows_apps = Map::from_iter([("io.modelcontextprotocol/clientCapabilities".to_owned(), shows_apps)]);
    let mut ask = |method: &str, params: Value| {
        let mut params = params;
        params["_meta"] = shows_apps.clone().into();
        let answer = agent.request(method, params).expect("an answer");
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    };
    let listed = ask("tools/list", json!({}));
    let tools = listed["tools"].as_array().expect("tools");
    let uri = tools.iter().find_map(|tool| tool["_meta"]["ui"]["resourceUri"].as_str());
    let app = ask("resources/read", json!({ "uri": uri.expect("the app's address") }));
    let content = &app["contents"][0];
    assert_eq!(content["mimeType"], "text/html;profile=mcp-app");
    let change = json!({ "note_id": ID, "version": 2, "content": body("35 days", "<img src=x onerror=alert(1)>"), "change_reason": "more" });
    let mut result = ask("tools/call", json!({ "name": tool::UPDATE_NOTE, "arguments": change }));
    let review = &mut result["_meta"]["tabellion/review"];
    review["url"] = json!("https://example.org/page/review/7a");
    // A client, as far as the app needs one: it shows the app in a frame, gives it the result, and opens links.
    let client = format!(
        r#"<!DOCTYPE html><iframe sandbox="allow-scripts" width="900" height="700"></iframe><script>
        const frame = document.querySelector('iframe');
        const send = (message) => frame.contentWindow.postMessage({{ jsonrpc: '2.0', ...message }}, '*');
        addEventListener('message', ({{ data }}) => {{
          if (data.method === 'ui/initialize')
            send({{ id: data.id, result: {{ protocolVersion: '2026-01-26', hostInfo: {{}}, hostCapabilities: {{}}, hostContext: {{ theme: 'dark' }} }} }});
          if (data.method === 'ui/notifications/initialized') send({{ method: 'ui/notifications/tool-result', params: {result} }});
          if (data.method === 'ui/open-link') document.title = data.params.url;
        }});
        frame.srcdoc = {page};
        </script>"#,
        result = result.to_string().replace("</", "<\\/"),
        page = content["text"].to_string().replace("</", "<\\/"),
    );
    let port = served_elsewhere(&client);
    in_browser(async |screen| {
        screen.driver.goto(format!("http://127.0.0.1:{port}/")).await?;
        screen.driver.enter_frame(0).await?;
        screen.read("main", "kept for 35 days").await?;
        screen.read("main", "<img src=x onerror=alert(1)>").await?;
        screen.wait("document.documentElement.dataset.theme", "dark").await?;
        assert_eq!(screen.value("document.querySelectorAll('form, main img').length").await?, 0);
        screen.see("#open").await?.click().await?;
        screen.driver.enter_default_frame().await?;
        screen.wait("document.title", "https://example.org/page/review/7a").await
    });
}

/// Serves `page` under each path, as long as the process lives; returns the port.
fn served_elsewhere(page: &str) -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}",
        page.len()
    );
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(stream.try_clone().expect("a stream")).lines();
            while lines.next().and_then(Result::ok).is_some_and(|line| !line.is_empty()) {}
            let _ = std::io::Write::write_all(&mut stream, answer.as_bytes());
        }
    });
    port
}

#[test]
#[ignore = "needs a browser: `cargo xtask browser` runs it"]
fn every_page_is_accessible() {
    let axe = std::env::var_os(AXE).expect("the path of axe-core's script");
    let axe = fs::read_to_string(axe).expect("axe-core's script");
    let library = Library::with(&[
        ("backups.md", NOTE),
        ("open.md", "# Open\n\n- [ ] a task\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```sh\nls\n```\n"),
    ]);
    propose(&library, "# Backups\n\nkept for 35 days\u{202e}\n\n## Drill\n\neach month\n", 1);
    let new = json!({ "content": "# New\n\n[example.org](https://other.example)\n", "ai_justification": "asked to" });
    call(&mut served(&library), tool::CREATE_NOTE, new);
    let keys = Keys::new();
    let eve = keys.create("Eve", &["review", "write"]);
    let data = tempfile::tempdir().expect("a folder");
    let rows = ["--contract", "mcb", "--data", data.path().to_str().expect("text")];
    let served = keys.serve(&library, &rows);
    in_browser(async |screen| {
        let mut pages = vec!["/page/login".to_owned()];
        judge(screen, &axe, &served, &pages).await?;
        screen.sign_in_by_key(&served, &eve).await?;
        pages = [
            "review",
            "review?which=approved",
            "log",
            "log?kind=undo",
            "notes/open.md",
            "search",
            "search?q=kept",
            "status",
            "account",
            "keys",
            "notes/none.md",
            "@rows/memory",
            "@rows/sessions",
            "@rows/board",
            "@rows/code",
        ]
        .map(|page| format!("/page/{page}"))
        .to_vec();
        screen.driver.goto(format!("{}/page/review", served.base)).await?;
        let proposals =
            "[...document.querySelectorAll('main a[href^=\"/page/review/\"]')].map((link) => link.pathname)";
        let proposals = screen.value(proposals).await?;
        for place in proposals.as_array().expect("proposals").iter().filter_map(Value::as_str) {
            pages.extend(
                ["", "?as=rendered", "?as=whole", "?columns=2", "?remark=n1"]
                    .map(|shown| format!("{place}{shown}")),
            );
        }
        screen.driver.goto(format!("{}/page/log", served.base)).await?;
        let entry = screen.value("document.querySelector('main a[href*=\"/log/\"]').pathname").await?;
        pages.push(entry.as_str().expect("an entry").to_owned());
        judge(screen, &axe, &served, &pages).await
    });
}

/// Panics if axe-core has findings on these pages, or one of them scrolls sideways, in each width and theme.
async fn judge(screen: &Screen, axe: &str, served: &Served, pages: &[String]) -> WebDriverResult<()> {
    for page in pages {
        for width in WIDTHS {
            for theme in THEMES {
                let metrics =
                    json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
                screen.emulate("Emulation.setDeviceMetricsOverride", metrics).await?;
                let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": theme }] });
                screen.emulate("Emulation.setEmulatedMedia", media).await?;
                screen.driver.goto(format!("{}{page}", served.base)).await?;
                screen.driver.execute(axe, vec![]).await?;
                let found = screen
                    .driver
                    .execute_async(
                        "const done = arguments[0]; axe.run().then((found) => done(found.violations.map((rule) => [rule.id, rule.nodes.map((node) => node.html)])))",
                        vec![],
                    )
                    .await?;
                assert_eq!(*found.json(), json!([]), "{page} at {width} px, {theme}");
                let sideways = screen
                    .value("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                    .await?;
                assert_eq!(sideways, 0, "{page} scrolls sideways at {width} px");
            }
        }
    }
    Ok(())
}
