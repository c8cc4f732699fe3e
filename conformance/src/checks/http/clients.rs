//! Many clients of one process: their answers and their edits.

use crate::{
    checks::{concurrent::crowd, prelude::*},
    crowd::at_once,
    semantics,
};

pub(super) const APART: Check = Check {
    id: "http/clients-apart",
    guarantees: &[],
    states: "Each of many clients of one process gets the answers to its own requests, even if all use the same ids.",
    explains: "Every client numbers its requests from 1. Four clients of one process, each in its own session where \
               there are sessions, repeatedly read a document each, at the same time and with the same ids. Each \
               must receive the content of its own document. Servers that share one connection among clients have \
               delivered answers to the wrong one.",
    cases: |bench| {
        let reads = ClientReads { clients: 4, reads: bench.pick(10, 50) };
        Ok(vec![reads.case()])
    },
    shrink: |case| {
        let Ok(whole) = case.read::<ClientReads>() else {
            return Vec::new();
        };
        let smaller = [(2, 1), (2, 5), (4, 1)].map(|(clients, reads)| ClientReads { clients, reads });
        let smaller = smaller.into_iter();
        let smaller = smaller.filter(|it| it.clients * it.reads < whole.clients * whole.reads);
        smaller.map(ClientReads::case).collect()
    },
    ..Check::must(apart)
};

pub(super) const CONCURRENT_EDITS: Check = Check {
    id: "http/edits-at-once",
    guarantees: &["no-partial-application", "commit-per-mutation"],
    states: "Many clients of one process edit one document, and each acknowledged edit is in it, with a commit.",
    explains: "As concurrent/processes, with 4 clients of one process that make 5 edits each: appends, then \
               replacements of one section each.",
    cases: |_| crowd::cases_of_one_server(4, 5),
    shrink: crowd::shrink,
    ..Check::must(crowd::judge)
};

/// Number of clients, and of reads by each.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct ClientReads {
    clients: usize,
    #[serde(rename = "readings")]
    reads: usize,
}

impl ClientReads {
    fn case(self) -> Case {
        let Self { clients, reads } = self;
        Case::new(format!("{clients} clients, {reads} reads each"), self)
    }
}

/// Reads a different document through each client and judges the answers.
fn apart(bench: &Bench<'_>, case: &Case) -> Judgement {
    let ClientReads { clients, reads } = case.read()?;
    let path = |client: usize| bench.subject.place(EffectKind::Read, &format!("notes/{client}.md"));
    let text = |client: usize| format!("# Document {client}\n");
    let documents: Vec<_> = (0..clients).map(|client| (path(client), text(client))).collect();
    let documents: Vec<_> = documents.iter().map(|(path, text)| (&**path, text)).collect();
    let scene = bench.scene(&documents)?;
    let first = scene.start()?;
    let read = |(number, mut client): (usize, Client<'_>)| -> Judgement {
        let path = path(number);
        let with = With { path: &path, ..With::default() };
        let call = bench.subject.request(EffectKind::Read, with);
        let call = call.ok_or_else(|| not_applicable("the server has no tool that reads"))?;
        let effect = call.tool.effect(&call.arguments);
        let effect = effect.ok_or_else(|| Stop::Harness("a read without an effect".into()))?;
        for _ in 0..reads {
            let Reply::Done(done) = client.make(&call)? else {
                return Err(fail(format!("`{path}` could not be read")));
            };
            let found = semantics::content_read(effect, &done.response)?;
            ensure(found == text(number), || {
                format!("a client that read `{path}` was answered with {found:?}")
            })?;
        }
        Ok(())
    };
    let others: Result<Vec<_>, Stop> = (0..clients).map(|_| first.beside()).collect();
    at_once(others?.into_iter().enumerate().collect(), read).map(drop)
}
