//! Lists of proposals from the catalogue, compared with all documents.

use std::process::Command;

use tabellion_markdown::diff;
use tabellion_notes::Note;

use super::*;
use crate::review::Review;

#[derive(Debug, Clone)]
enum Act {
    /// An agent proposes a note, or an owner makes one.
    Create(By),
    /// An agent changes a note or its proposal.
    Update(Index),
    Decide(Index, &'static str),
    /// A person replaces a word in a file, or puts it back.
    Edit(Index, &'static str, &'static str),
    Remove(Index),
    Rename(Index),
    /// All is committed, by git.
    Commit,
    /// Git switches to the branch with this number, which begins here if it is new.
    Switch(u8),
    /// The derived files are deleted, or another process opens them.
    Forget,
    Reopen,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let index = any::<Index>;
    let on = prop::sample::select(vec!["approve", "reject", "needs_revision", "withdraw"]);
    let words = prop::sample::select(vec![
        ("word", "wort"),
        ("wort", "word"),
        ("nothing else", "nothing\n\nelse"),
        ("human_review", "needs_revision"),
        ("needs_revision", "human_review"),
        ("\n---\n", "\n--\n"),
        ("version: 1", "version: 7"),
    ]);
    let act = prop_oneof![
        4 => prop::sample::select(vec![AGENT, By::Owner]).prop_map(Act::Create),
        6 => index().prop_map(Act::Update),
        4 => (index(), on).prop_map(|(at, on)| Act::Decide(at, on)),
        6 => (index(), words).prop_map(|(at, (from, to))| Act::Edit(at, from, to)),
        1 => index().prop_map(Act::Remove),
        2 => index().prop_map(Act::Rename),
        2 => Just(Act::Commit),
        2 => (0..3_u8).prop_map(Act::Switch),
        1 => Just(Act::Forget),
        1 => Just(Act::Reopen),
    ];
    vec(act, 1..24)
}

impl Bench {
    pub(super) fn git(&self, arguments: &[&str]) -> bool {
        let mut git = Command::new("git");
        git.current_dir(self.folder.path()).args(["-c", "user.name=ada", "-c", "user.email=a@b"]);
        // Git may refuse a switch over changed files; the test allows that.
        git.args(arguments).output().unwrap().status.success()
    }

    /// Opens the library again, as another process does.
    fn reopen(&mut self) {
        let library = Arc::new(Library::open(self.folder.path(), Options::default()).unwrap());
        let shelf = Shelf::new(Arc::clone(&library), Box::new(NoModel), instances::parse);
        let forge = Forge { shelf: Arc::clone(&shelf) };
        self.contract = Arc::new(Service::new(forge, Arc::clone(&library) as _));
        self.desk = Desk::over(shelf, library);
    }

    fn act(&mut self, act: &Act, number: usize) {
        let files: Vec<_> = self.files().into_iter().collect();
        let path = |at: &Index| (!files.is_empty()).then(|| at.get(&files));
        match act {
            Act::Create(by) => drop(self.note(*by, &format!("word{number}"))),
            Act::Update(at) => {
                let Some((path, text)) = path(at) else { return };
                let front = FrontMatter::parse(text).map(|front| front.values()).unwrap_or_default();
                let note = Note::parse(path, text.as_bytes()).metadata.id.map(|id| id.to_string());
                let id = front.get("note_id").and_then(Value::as_str).map(String::from).or(note);
                let version = front.get("proposed_version").or(front.get("version")).and_then(Value::as_u64);
                let request =
                    updated(&id.unwrap_or_default(), version.unwrap_or(1), &format!("word{number}"));
                // A refused call changes no file.
                let _ = self.try_call(AGENT, tool::UPDATE_NOTE, request);
            }
            Act::Decide(at, on) => {
                let open = self.waiting();
                if !open.is_empty() {
                    let _ = self.decide(By::Reviewer, &at.get(&open).id, on);
                }
            }
            Act::Edit(at, from, to) => {
                if let Some((path, text)) = path(at) {
                    fs::write(self.folder.path().join(path), text.replace(from, to)).unwrap();
                }
            }
            Act::Remove(at) => {
                if let Some((path, _)) = path(at) {
                    fs::remove_file(self.folder.path().join(path)).unwrap();
                }
            }
            Act::Rename(at) => {
                if let Some((path, _)) = path(at) {
                    let folder = if path.starts_with("workflows") { "workflows" } else { "notes" };
                    let other = format!("{folder}/{}.md", digest(&number.to_string()));
                    fs::rename(self.folder.path().join(path), self.folder.path().join(other)).unwrap();
                }
            }
            Act::Commit => {
                self.git(&["add", "--all"]);
                self.git(&["commit", "-m", "by hand"]);
            }
            Act::Switch(branch) => {
                let name = format!("b{branch}");
                self.git(&["switch", &name]);
                self.git(&["switch", "--create", &name]);
            }
            Act::Forget => {
                fs::remove_dir_all(self.folder.path().join(".git/tabellion/notes")).unwrap_or_default();
                self.reopen();
            }
            Act::Reopen => self.reopen(),
        }
    }

    /// Reads all documents; returns the open proposals, each as it is shown alone, with numbers of lines.
    fn all_documents(&self) -> Vec<Row> {
        let files = self.files();
        let reviews = files.iter().filter_map(|(path, text)| Review::parse(path, text.as_bytes()));
        let mut open: Vec<_> = reviews.filter(Review::is_open).collect();
        open.sort_by_key(|review| (review.started_at().to_owned(), review.id));
        let row = |review: Review| {
            let id = review.id.to_string();
            let shown = run(self.desk.show(&By::Reviewer.context(), &id)).unwrap();
            let note = json!({ "note_id": shown.note_id });
            let note = self.resource(By::Owner, "note", note);
            let note = note.map_or(String::new(), |note| note["content"].as_str().unwrap().to_owned());
            let (added, removed) = diff::line_counts(&note, &review.content);
            Row {
                id,
                note_id: shown.note_id,
                title: shown.title,
                state: shown.state,
                author: shown.author,
                agent: Some("helper".into()),
                reason: shown.reason,
                started_at: shown.started_at,
                changed_at: review.instance.history.last().unwrap().at.clone(),
                proposed_version: shown.proposed_version,
                added,
                removed,
                stale: shown.stale,
                sensitive: shown.sensitive,
                revision: shown.revision,
            }
        };
        open.into_iter().map(row).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_list_is_what_all_documents_say(acts in acts()) {
        let mut bench = Bench::new();
        for (number, act) in acts.iter().enumerate() {
            bench.act(act, number);
                let rows = bench.waiting();
                prop_assert_eq!(&rows, &bench.all_documents());
                let context = By::Reviewer.context();
                let page = |offset| Page { offset, limit: 2 };
                let mut by_page = vec![];
                while by_page.len() < rows.len() {
                    let listed = run(bench.desk.list(&context, &Filter::default(), page(by_page.len()))).unwrap();
                    prop_assert_eq!(listed.total, rows.len());
                    prop_assert!(!listed.rows.is_empty());
                    by_page.extend(listed.rows);
                }
                prop_assert_eq!(&by_page, &rows);
                for row in &rows {
                    let of_note = Filter { note: Some(row.note_id.clone()), ..Filter::default() };
                    let of_state = Filter { state: Some(row.state.clone()), ..Filter::default() };
                    let of_agent = Filter { agent: row.agent.clone(), ..Filter::default() };
                    for (filter, is_wanted) in [
                        (of_note, (|a, b| a.note_id == b.note_id) as fn(&Row, &Row) -> bool),
                        (of_state, |a, b| a.state == b.state),
                        (of_agent, |a, b| a.agent == b.agent),
                    ] {
                        let listed = run(bench.desk.list(&context, &filter, Page { offset: 0, limit: 100 })).unwrap();
                        let wanted: Vec<_> = rows.iter().filter(|other| is_wanted(row, other)).cloned().collect();
                        prop_assert_eq!(listed.rows, wanted);
                    }
                }
        }
    }
}
