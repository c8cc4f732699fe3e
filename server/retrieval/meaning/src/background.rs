//! The thread that makes vectors: one batch after another, in one process at a time, with the lowest priority.
//!
//! It asks the corpora before each batch, so it continues where any process has ended, and embeds no removed texts. The lock ends with
//! its process.

use std::{
    collections::HashSet,
    sync::{Arc, Weak},
    thread,
    time::Duration,
};

use tabellion_embed::Quantized;
use tabellion_platform::{try_lock_file, yield_to_others};

use crate::{
    MeaningError, Wanted,
    meaning::{Corpus, Inner},
    model::IDLE_TIMEOUT,
    vectors::Vectors,
};

/// Number of texts, or of parts of these, that are embedded and stored together: some two seconds of work, which a kill can cost.
const BATCH: usize = 32;
/// Delay after a change, for further changes. It also keeps the thread from delaying the start of the server.
const SETTLING_TIME: Duration = Duration::from_secs(1);
/// Interval at which the thread checks if the process that makes vectors has left any.
const ELSEWHERE_INTERVAL: Duration = Duration::from_secs(2);
/// Delay before a failed attempt is repeated.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);
/// Number of vectors beyond twice those in use that are kept for texts that come back, such as with another branch: 4 MB.
const SPARE: usize = 10_000;

/// State of the thread.
#[derive(Default)]
pub(crate) struct Work {
    /// True if the thread exists; and true if there is news since its last look.
    follows: bool,
    news: bool,
    ends: bool,
}

/// Outcome of a look.
enum Looked {
    /// All texts have vectors, or there is no model.
    Done,
    /// Another process is making them.
    Elsewhere,
}

impl Inner {
    pub(crate) fn wake(self: &Arc<Self>) {
        if !self.model.models().is_installed() {
            return;
        }
        let mut work = self.work.lock();
        work.news = true;
        self.changed.notify_all();
        if work.follows || work.ends {
            return;
        }
        let inner = Arc::clone(self);
        let started = thread::Builder::new()
            .name("meaning".into())
            .spawn(move || inner.follow());
        match started {
            Ok(_) => work.follows = true,
            Err(error) => tracing::warn!(%error, "no vectors are made: no thread can be started"),
        }
    }

    pub(crate) fn end(&self) {
        self.work.lock().ends = true;
        self.changed.notify_all();
    }

    fn ends(&self) -> bool {
        self.work.lock().ends
    }

    fn follow(self: Arc<Self>) {
        yield_to_others();
        while self.wait_for_news() {
            let pause = match self.look() {
                Ok(Looked::Done) => continue,
                Ok(Looked::Elsewhere) => ELSEWHERE_INTERVAL,
                Err(error) => {
                    tracing::warn!(%error, "no vectors are made for now");
                    RETRY_INTERVAL
                }
            };
            self.pause(pause);
            self.work.lock().news = true;
        }
    }

    /// Waits for news; returns false at the end. Frees the model if there is no news for a while.
    fn wait_for_news(&self) -> bool {
        let mut work = self.work.lock();
        while !work.news && !work.ends {
            if self.model.release(IDLE_TIMEOUT) {
                self.changed.wait_for(&mut work, IDLE_TIMEOUT);
            } else {
                self.changed.wait(&mut work);
            }
        }
        drop(work);
        self.pause(SETTLING_TIME);
        let mut work = self.work.lock();
        work.news = false;
        !work.ends
    }

    /// Waits for a time, or until the end.
    fn pause(&self, time: Duration) {
        let mut work = self.work.lock();
        self.changed.wait_while_for(&mut work, |work| !work.ends, time);
    }

    /// Embeds all texts that have no vectors.
    fn look(&self) -> Result<Looked, MeaningError> {
        if !self.model.models().is_installed() {
            return Ok(Looked::Done);
        }
        let vectors = self.vectors()?;
        if self.wanted(vectors)?.is_empty() {
            return Ok(Looked::Done);
        }
        let lock = self.path.with_extension("embedding");
        let Some(_held) = try_lock_file(&lock).map_err(MeaningError::at(&lock))? else {
            return Ok(Looked::Elsewhere);
        };
        while !self.ends() {
            let wanted = self.wanted(vectors)?;
            if wanted.is_empty() {
                self.tidy(vectors)?;
                break;
            }
            let Some(model) = self.model.get() else { break };
            let mut left = BATCH;
            let batch = wanted.iter().take_while(|wanted| {
                let takes = left > 0;
                left = left.saturating_sub(wanted.parts.len());
                takes
            });
            let batch: Vec<_> = batch.collect();
            let texts: Vec<&str> = batch
                .iter()
                .flat_map(|wanted| wanted.parts.iter().map(String::as_str))
                .collect();
            let Some(embedded) = model.embed(&texts, &|| self.ends()) else {
                break;
            };
            let mut embedded = embedded.iter().map(Quantized::new);
            let added = batch.iter().map(|wanted| {
                let parts = embedded.by_ref().take(wanted.parts.len());
                (wanted.key, parts.collect())
            });
            vectors.add(&added.collect::<Vec<_>>())?;
        }
        Ok(Looked::Done)
    }

    /// Returns the corpora; `None` if one of them has ended, which ends the thread. They are held only for the query, since they may
    /// keep this from ending.
    fn corpora(&self) -> Option<Vec<Arc<dyn Corpus>>> {
        let corpora = self.corpora.lock();
        corpora.iter().map(Weak::upgrade).collect()
    }

    /// Returns the next texts without vectors, those of the first corpus first.
    fn wanted(&self, vectors: &Vectors) -> Result<Vec<Wanted>, MeaningError> {
        let (mut all, mut seen) = (vec![], HashSet::new());
        for corpus in self.corpora().into_iter().flatten() {
            let memory = vectors.read()?;
            let found = corpus.wanted(&|text| memory.has(text), BATCH - all.len());
            let found = found.map_err(MeaningError::Corpus)?;
            all.extend(found.into_iter().filter(|wanted| seen.insert(wanted.key)));
            if all.len() >= BATCH {
                break;
            }
        }
        Ok(all)
    }

    /// Removes vectors of texts that no longer exist, if they are many.
    fn tidy(&self, vectors: &Vectors) -> Result<(), MeaningError> {
        let Some(corpora) = self.corpora() else {
            return Ok(());
        };
        let mut texts = HashSet::new();
        for corpus in corpora {
            texts.extend(corpus.keys().map_err(MeaningError::Corpus)?);
        }
        if vectors.read()?.len() > 2 * texts.len() + SPARE {
            vectors.retain(&texts)?;
        }
        Ok(())
    }
}
