//! `cargo lab scoreboard`: runs the suite on published servers, and writes one page of each server's kept and broken claims.
//!
//! `conformance/scoreboard/servers.toml` lists the servers, at fixed versions; `confirmed.toml` describes how each accusation was confirmed
//! by hand, without the suite. An accusation that it lacks fails the task: either it is confirmed, or the suite is corrected.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde::Deserialize;
use tabellion_conformance::report::{CheckReport, Rating, Report, html::escape, time};
use xtask::{
    Outcome,
    foreign::{Missing, Node, Python},
    root, run,
};

const FOLDER: &str = "conformance/scoreboard";

/// Options of `cargo lab scoreboard`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Run only the servers whose packages' names contain this; the page is not written then
    #[arg(long, value_name = "NAME", default_value = "")]
    only: String,
    /// Write the page from the reports of the last run
    #[arg(long)]
    again: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Servers {
    server: Vec<Server>,
}

/// A published server, and the command that starts it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Server {
    package: String,
    registry: Registry,
    version: String,
    /// Further packages that it is installed with.
    #[serde(default)]
    with: Vec<String>,
    program: String,
    #[serde(default)]
    arguments: Vec<String>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    /// Name of a file in `conformance/adapters`.
    adapter: Option<String>,
    /// Tools that may be called although they are not annotated as read-only.
    call: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Registry {
    Npm,
    Pypi,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Confirmations {
    confirmed: Vec<Confirmation>,
}

/// The confirmation of an accusation by hand.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Confirmation {
    package: String,
    check: String,
    /// Further checks that fail for the same reason.
    #[serde(default)]
    also: Vec<String>,
    /// True if it needs a race, which not every run wins.
    #[serde(default)]
    race: bool,
    how: String,
}

impl Confirmation {
    fn is_of(&self, check: &str) -> bool {
        self.check == check || self.also.iter().any(|also| also == check)
    }
}

impl Server {
    /// Returns the file name of its report.
    fn slug(&self) -> String {
        self.package.trim_start_matches('@').replace('/', "-")
    }

    /// Installs it; returns the command that starts it.
    fn install(&self) -> Outcome<Vec<String>> {
        let name = format!("scoreboard-{}", self.slug());
        let mut command = match self.registry {
            Registry::Npm => {
                let node = Node::find()?;
                let folder = node.package(&name, &self.package, &self.version)?;
                let manifest: serde_json::Value =
                    serde_json::from_slice(&fs::read(folder.join("package.json"))?)?;
                let bin = &manifest["bin"];
                let script = bin[&self.program].as_str().or(bin.as_str());
                let script =
                    script.ok_or_else(|| format!("{} has no program {}", self.package, self.program))?;
                vec![text(node.program()), text(&folder.join(script))]
            }
            Registry::Pypi => {
                let wanted = format!("{}=={}", self.package, self.version);
                let packages: Vec<_> = [&wanted].into_iter().chain(&self.with).map(String::as_str).collect();
                Python::with(&name, &packages)?;
                vec![text(&xtask::foreign::folder(&name).join("bin").join(&self.program))]
            }
        };
        command.extend(self.arguments.clone());
        Ok(command)
    }

    /// Returns the suite's options for it.
    fn options(&self) -> Vec<String> {
        let mut options = Vec::new();
        if let Some(adapter) = &self.adapter {
            options.extend(["--adapter".to_owned(), format!("conformance/adapters/{adapter}.toml")]);
        }
        for (name, value) in &self.environment {
            options.extend(["--env".to_owned(), format!("{name}={value}")]);
        }
        if let Some(call) = &self.call {
            options.extend(["--call".to_owned(), call.clone()]);
        }
        options
    }

    /// Returns the command line that repeats a check.
    fn replay(&self, check: &str) -> String {
        let start = match self.registry {
            Registry::Npm => {
                format!("npx --yes --package {}@{} {}", self.package, self.version, self.program)
            }
            Registry::Pypi => {
                let with: String = self.with.iter().map(|with| format!(" --with '{with}'")).collect();
                format!("uvx --from {}=={}{with} {}", self.package, self.version, self.program)
            }
        };
        let words = self.options().into_iter().chain(["--".to_owned(), start]).chain(self.arguments.clone());
        format!("tabellion-conformance run --only {check} {}", words.collect::<Vec<_>>().join(" "))
    }
}

/// Outcome of a server.
enum Outcomes {
    Judged(Box<Report>),
    Skipped(String),
}

/// Runs the suite on each server, and writes the page.
///
/// # Errors
/// If an accusation is not confirmed, or a confirmed one was not found again.
pub(crate) fn make(options: &Options) -> Outcome {
    let folder = root().join(FOLDER);
    let servers: Servers = toml::from_str(&fs::read_to_string(folder.join("servers.toml"))?)?;
    let confirmed: Confirmations = toml::from_str(&fs::read_to_string(folder.join("confirmed.toml"))?)?;
    let reports = root().join("target/scoreboard");
    fs::create_dir_all(&reports)?;
    let suite = run::program("tabellion-conformance")?;
    let chosen = servers.server.iter().filter(|server| server.package.contains(&options.only));
    let mut rows = Vec::new();
    for server in chosen {
        let file = reports.join(format!("{}.json", server.slug()));
        let outcome = if options.again { read(&file) } else { judge(server, &suite, &file)? };
        if let (Outcomes::Skipped(why), false) = (&outcome, options.again) {
            fs::write(&file, why)?;
        }
        match &outcome {
            Outcomes::Judged(report) => {
                println!("{}: {} ({})", server.package, report.summary(), time(report.seconds))
            }
            Outcomes::Skipped(why) => println!("{}: skipped: {why}", server.package),
        }
        rows.push((server, outcome));
    }
    if options.only.is_empty() {
        let page = Page { rows: &rows, confirmed: &confirmed.confirmed };
        fs::write(folder.join("README.md"), page.markdown())?;
        fs::write(folder.join("scoreboard.html"), page.html())?;
    }
    check(&rows, &confirmed.confirmed)
}

/// Runs the suite on a server. An unavailable package is skipped.
fn judge(server: &Server, suite: &Path, file: &Path) -> Outcome<Outcomes> {
    let command = match server.install() {
        Ok(command) => command,
        Err(error) => {
            let missing = error.downcast::<Missing>()?;
            return Ok(Outcomes::Skipped(missing.to_string()));
        }
    };
    if file.exists() {
        fs::remove_file(file)?;
    }
    let mut run = Command::new(suite);
    run.current_dir(root()).args(["run", "--quiet", "--json"]).arg(file);
    run.args(server.options()).arg("--").args(command);
    let output = run.stdin(Stdio::null()).output()?;
    if file.exists() {
        return Ok(read(file));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(Outcomes::Skipped(said.take(4).collect::<Vec<_>>().join(" ")))
}

fn read(file: &Path) -> Outcomes {
    match fs::read_to_string(file) {
        Ok(text) => match Report::parse(&text) {
            Ok(report) => Outcomes::Judged(Box::new(report)),
            // The reason why there is no report.
            Err(_) => Outcomes::Skipped(text),
        },
        Err(error) => Outcomes::Skipped(error.to_string()),
    }
}

/// An accusation of a server, and its confirmation.
struct Accusation<'a> {
    /// The failing checks, of which the first has the reason.
    checks: Vec<&'a CheckReport>,
    how: Option<&'a Confirmation>,
}

impl Accusation<'_> {
    fn reason(&self) -> &str {
        self.checks[0].reason.as_deref().unwrap_or_default()
    }

    fn harm(&self) -> &'static str {
        self.checks[0].harm().words()
    }

    fn ids(&self) -> Vec<&str> {
        self.checks.iter().map(|check| check.id.as_str()).collect()
    }

    fn how(&self) -> &str {
        self.how.map_or("not confirmed", |it| it.how.trim())
    }
}

/// Returns the accusations of a server, the worst first; each cause once, however many checks and revisions fail for it.
fn accusations<'a>(
    server: &Server,
    report: &'a Report,
    confirmed: &'a [Confirmation],
) -> Vec<Accusation<'a>> {
    let mut all: Vec<Accusation<'_>> = Vec::new();
    for finding in report.findings(false) {
        let check = finding.check;
        if !matches!(check.rating(), Rating::Broken | Rating::Advice) {
            continue;
        }
        let is_how = |it: &&Confirmation| it.package == server.package && it.is_of(&check.id);
        let how = confirmed.iter().find(is_how);
        let same = all.iter_mut().find(|it| match (it.how, how) {
            (Some(one), Some(other)) => std::ptr::eq(one, other),
            _ => it.checks[0].id == check.id,
        });
        match same {
            Some(same) if same.checks.iter().any(|it| it.id == check.id) => {}
            Some(same) => same.checks.push(check),
            None => all.push(Accusation { checks: vec![check], how }),
        }
    }
    all
}

fn check(rows: &[(&Server, Outcomes)], confirmed: &[Confirmation]) -> Outcome {
    let mut problems = Vec::new();
    for (server, outcome) in rows {
        let Outcomes::Judged(report) = outcome else {
            continue;
        };
        let accused = accusations(server, report, confirmed);
        let open = accused.iter().filter(|it| it.how.is_none());
        problems.extend(open.map(|it| format!("{}: {} is not confirmed", server.package, it.ids()[0])));
        let is_found = |it: &&Confirmation| {
            let mut found = accused.iter().filter_map(|accusation| accusation.how);
            found.any(|how| std::ptr::eq(how, *it))
        };
        let gone = confirmed.iter().filter(|it| it.package == server.package && !it.race && !is_found(it));
        problems
            .extend(gone.map(|it| format!("{}: {} was confirmed, and not found", server.package, it.check)));
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(format!("{}\nsee {FOLDER}/confirmed.toml", problems.join("\n")).into())
}

/// The page.
struct Page<'a> {
    rows: &'a [(&'a Server, Outcomes)],
    confirmed: &'a [Confirmation],
}

const TITLE: &str = "Published servers";
const LEDE: &str = "What published MCP servers claim, and what of it they keep on the disk. A server with an adapter is held to the promises \
    that its documents make, every other one to what its tools declare; what is not claimed is not judged. Each accusation was confirmed by \
    hand, without the suite. The latest versions may be better.";

impl Page<'_> {
    fn markdown(&self) -> String {
        let mut text = format!(
            "# {TITLE}\n\n{LEDE}\n\nMade by `cargo lab scoreboard`; [`confirmed.toml`](confirmed.toml) says how each accusation was \
             confirmed.\n\n| server | claims | keeps | checks | took |\n|---|---|---|---|---|\n"
        );
        for (server, outcome) in self.rows {
            let name = format!("`{}` {}", server.package, server.version);
            let _ = match outcome {
                Outcomes::Judged(report) => {
                    let cells = cells(report);
                    writeln!(text, "| {name} | {} |", cells.join(" | "))
                }
                Outcomes::Skipped(why) => writeln!(text, "| {name} | skipped: {} | | | |", plain(why)),
            };
        }
        for (server, accused) in self.accused() {
            let _ = writeln!(text, "\n## `{}`\n", server.package);
            for accusation in accused {
                let _ = writeln!(
                    text,
                    "- **{}** `{}`: {}\n  - confirmed: {}\n  - `{}`",
                    accusation.harm(),
                    accusation.ids().join("`, `"),
                    plain(accusation.reason()),
                    accusation.how(),
                    server.replay(&accusation.ids().join(","))
                );
            }
        }
        text
    }

    fn html(&self) -> String {
        let mut html = format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
             <title>{TITLE}</title>\n<style>\nbody {{ font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; \
             color: #1d2126; background: #fff }}\ntable {{ border-collapse: collapse; width: 100%; display: block; overflow-x: auto }}\n\
             th, td {{ text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid #d6dae0 }}\n\
             code {{ font: .875em ui-monospace, monospace; overflow-wrap: anywhere }}\nli {{ margin: .6rem 0 }}\n.quiet {{ color: #555c66 }}\n\
             @media (prefers-color-scheme: dark) {{ body {{ color: #e4e7eb; background: #16191d }} .quiet {{ color: #a3abb5 }} \
             th, td {{ border-color: #343a42 }} }}\n</style>\n<h1>{TITLE}</h1>\n<p>{LEDE}</p>\n<table>\n<tr><th>server<th>claims<th>keeps<th>checks<th>took\n"
        );
        for (server, outcome) in self.rows {
            let name = format!("<code>{}</code> {}", escape(&server.package), escape(&server.version));
            let cells: String = match outcome {
                Outcomes::Judged(report) => {
                    let cells = cells(report);
                    cells.iter().map(|cell| format!("<td>{}", escape(cell))).collect()
                }
                Outcomes::Skipped(why) => {
                    format!("<td colspan=\"4\" class=\"quiet\">skipped: {}", escape(why))
                }
            };
            let _ = writeln!(html, "<tr><td>{name}{cells}");
        }
        html.push_str("</table>\n");
        for (server, accused) in self.accused() {
            let _ = writeln!(html, "<h2><code>{}</code></h2>\n<ul>", escape(&server.package));
            for accusation in accused {
                let _ = writeln!(
                    html,
                    "<li><strong>{}</strong> <code>{}</code>: {}<br><span class=\"quiet\">confirmed: {}</span><br><code>{}</code>",
                    accusation.harm(),
                    escape(&accusation.ids().join(", ")),
                    with_code(accusation.reason()),
                    with_code(accusation.how()),
                    escape(&server.replay(&accusation.ids().join(",")))
                );
            }
            html.push_str("</ul>\n");
        }
        html + "</html>\n"
    }

    /// Returns the servers with accusations, in order.
    fn accused(&self) -> impl Iterator<Item = (&Server, Vec<Accusation<'_>>)> {
        self.rows.iter().filter_map(|(server, outcome)| match outcome {
            Outcomes::Judged(report) => {
                let accused = accusations(server, report, self.confirmed);
                (!accused.is_empty()).then_some((*server, accused))
            }
            Outcomes::Skipped(_) => None,
        })
    }
}

/// Returns a server's claims, the kept ones among them, the results of its checks, and their time.
fn cells(report: &Report) -> Vec<String> {
    let claims: Vec<_> = report.guarantees.iter().map(|it| it.id.as_str()).collect();
    let kept = report.guarantees.iter().filter(|it| report.rating(it) == Some(Rating::Holds));
    let kept: Vec<_> = kept.map(|it| it.id.as_str()).collect();
    let (claims, kept) = if claims.is_empty() {
        ("what its tools declare".to_owned(), if report.is_passed() { "yes" } else { "no" }.to_owned())
    } else {
        (claims.join(", "), if kept.is_empty() { "none".to_owned() } else { kept.join(", ") })
    };
    let count = |rating| report.count(rating);
    let mut counts = format!(
        "{} passed, {} failed, {} warned",
        count(Rating::Holds),
        count(Rating::Broken),
        count(Rating::Advice)
    );
    if !report.not_run.is_empty() {
        let _ = write!(counts, ", {} not reached", report.not_run.len());
    }
    vec![claims, kept, counts, time(report.seconds)]
}

/// Returns text for HTML, in which backticks mark code.
fn with_code(text: &str) -> String {
    let mut html = String::new();
    for (number, part) in text.split('`').enumerate() {
        let part = escape(part);
        if number % 2 == 1 {
            let _ = write!(html, "<code>{part}</code>");
        } else {
            html.push_str(&part);
        }
    }
    html
}

/// Returns text for a line of Markdown.
fn plain(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = text.chars().take(300).collect();
    cut.replace('|', "\\|").replace('<', "&lt;")
}

fn text(path: &Path) -> String {
    PathBuf::from(path).to_string_lossy().into_owned()
}
