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
use tabellion_retrieval::TextKey;

use crate::{
    Corpus, CorpusError, MeaningError, Team, Wanted, meaning::Inner, model::IDLE_TIMEOUT, vectors::Vectors,
};

/// Number of texts, or of parts of these, that are embedded and stored together: some two seconds of work, which a kill can cost.
const BATCH: usize = 32;
/// Delay after a change, for further changes. It also keeps the thread from delaying the start of the server.
const SETTLING_TIME: Duration = Duration::from_secs(1);
/// Number of texts whose shared vectors are read at a time.
const SHARED_BATCH: usize = 1_000;
/// Interval at which the thread checks if the process that makes vectors has left any.
const ELSEWHERE_INTERVAL: Duration = Duration::from_secs(2);
/// Delay before a failed attempt is repeated.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);
/// Number of vectors beyond twice those in use that are kept for texts that come back, such as with another branch: 4 MB.
const SPARE: usize = 10_000;

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
        let started = thread::Builder::new().name("meaning".into()).spawn(move || inner.follow());
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
        let lacking = self.lacking(vectors)?;
        if lacking == 0 {
            return Ok(Looked::Done);
        }
        let lock = self.path.with_extension("embedding");
        let Some(_held) = try_lock_file(&lock).map_err(MeaningError::io(&lock))? else {
            return Ok(Looked::Elsewhere);
        };
        if lacking >= BATCH {
            self.take_shared(vectors)?;
        }
        let mut claims = Claims::default();
        while !self.ends() {
            let wanted = self.wanted(vectors, &mut claims)?;
            if wanted.is_empty() {
                self.tidy(vectors)?;
                if claims.elsewhere.is_empty() {
                    break;
                }
                return Ok(Looked::Elsewhere);
            }
            let Some(model) = self.model.get() else { break };
            let mut left = BATCH;
            let batch = wanted.iter().take_while(|wanted| {
                let takes = left > 0;
                left = left.saturating_sub(wanted.parts.len());
                takes
            });
            let batch: Vec<_> = batch.collect();
            let texts: Vec<&str> =
                batch.iter().flat_map(|wanted| wanted.parts.iter().map(String::as_str)).collect();
            let Some(embedded) = model.embed(&texts, &|| self.ends()) else {
                break;
            };
            let mut embedded = embedded.iter().map(Quantized::new);
            let added = batch.iter().map(|wanted| {
                let parts = embedded.by_ref().take(wanted.parts.len());
                (wanted.key, parts.collect())
            });
            let added: Vec<_> = added.collect();
            vectors.add(&added)?;
            self.share(&added, &mut claims)?;
        }
        Ok(Looked::Done)
    }

    /// Returns the number of texts without vectors, or [`BATCH`] if they are more.
    fn lacking(&self, vectors: &Vectors) -> Result<usize, MeaningError> {
        let mut lacking = 0;
        for corpus in self.corpora().into_iter().flatten() {
            let memory = vectors.read()?;
            let found = corpus.wanted(&|text| memory.has(text), BATCH - lacking);
            lacking += found.map_err(MeaningError::Corpus)?.len();
            if lacking >= BATCH {
                break;
            }
        }
        Ok(lacking)
    }

    /// Adds the vectors that other servers have shared, without reading any text.
    fn take_shared(&self, vectors: &Vectors) -> Result<(), MeaningError> {
        for corpus in self.corpora().into_iter().flatten() {
            let Some(team) = corpus.team() else { continue };
            let mut keys = corpus.keys().map_err(MeaningError::Corpus)?;
            {
                let memory = vectors.read()?;
                keys.retain(|text| !memory.has(text));
            }
            for texts in keys.chunks(SHARED_BATCH) {
                let shared = team.get(texts).map_err(MeaningError::Corpus)?;
                vectors.add(&decoded(shared))?;
                if self.ends() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Shares the vectors of claimed texts.
    fn share(&self, added: &[(TextKey, Vec<Quantized>)], claims: &mut Claims) -> Result<(), MeaningError> {
        let mine = |(text, vectors): &(TextKey, Vec<Quantized>)| {
            let bytes = vectors.iter().flat_map(Quantized::to_bytes).collect();
            claims.mine.remove(text).then_some((*text, bytes))
        };
        let shared: Vec<_> = added.iter().filter_map(mine).collect();
        let mut corpora = self.corpora().into_iter().flatten();
        // The servers of one database are one team.
        if let Some(corpus) = corpora.find(|corpus| corpus.team().is_some())
            && let Some(team) = corpus.team()
            && !shared.is_empty()
        {
            team.put(shared).map_err(MeaningError::Corpus)?;
        }
        Ok(())
    }

    /// Returns the corpora; `None` if one of them has ended, which ends the thread. They are held only for the query, since they may
    /// keep this from ending.
    fn corpora(&self) -> Option<Vec<Arc<dyn Corpus>>> {
        let corpora = self.corpora.lock();
        corpora.iter().map(Weak::upgrade).collect()
    }

    /// Returns the next texts without vectors that this server is to embed, those of the first corpus first. Vectors that other servers
    /// have shared meanwhile are added.
    fn wanted(&self, vectors: &Vectors, claims: &mut Claims) -> Result<Vec<Wanted>, MeaningError> {
        let (mut all, mut seen) = (vec![], HashSet::new());
        for corpus in self.corpora().into_iter().flatten() {
            loop {
                let memory = vectors.read()?;
                let has = |text: &TextKey| memory.has(text) || claims.elsewhere.contains(text);
                let found = corpus.wanted(&has, BATCH - all.len());
                drop(memory);
                let mut found = found.map_err(MeaningError::Corpus)?;
                let is_all = found.is_empty();
                if let Some(team) = corpus.team() {
                    let texts: Vec<_> = found.iter().map(|wanted| wanted.key).collect();
                    let shared = claims.claim(team, texts).map_err(MeaningError::Corpus)?;
                    vectors.add(&decoded(shared))?;
                    found.retain(|wanted| claims.mine.contains(&wanted.key));
                }
                let is_enough = is_all || !found.is_empty();
                all.extend(found.into_iter().filter(|wanted| seen.insert(wanted.key)));
                if is_enough {
                    break;
                }
            }
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
        let (mut texts, mut shared) = (HashSet::new(), vec![]);
        for corpus in &corpora {
            let keys = corpus.keys().map_err(MeaningError::Corpus)?;
            texts.extend(keys.iter().copied());
            shared.extend(corpus.team().map(|team| (team, HashSet::from_iter(keys))));
        }
        if vectors.read()?.len() > 2 * texts.len() + SPARE {
            vectors.retain(&texts)?;
            for (team, texts) in shared {
                team.retain(&texts).map_err(MeaningError::Corpus)?;
            }
        }
        Ok(())
    }
}

/// The texts of a team that lack vectors, by who embeds them.
#[derive(Default)]
struct Claims {
    /// This server.
    mine: HashSet<TextKey>,
    /// Another server.
    elsewhere: HashSet<TextKey>,
}

impl Claims {
    /// Claims these texts. Returns the vectors of those that have some.
    fn claim(
        &mut self,
        team: &dyn Team,
        mut texts: Vec<TextKey>,
    ) -> Result<Vec<(TextKey, Vec<u8>)>, CorpusError> {
        texts.retain(|text| !self.mine.contains(text));
        if texts.is_empty() {
            return Ok(vec![]);
        }
        let mut shared = team.get(&texts)?;
        shared.retain(|(_, bytes)| !bytes.is_empty());
        let have: HashSet<_> = shared.iter().map(|(text, _)| *text).collect();
        texts.retain(|text| !have.contains(text));
        self.mine.extend(team.claim(&texts)?);
        self.elsewhere.extend(texts.into_iter().filter(|text| !self.mine.contains(text)));
        Ok(shared)
    }
}

/// Returns shared vectors as they are stored here.
fn decoded(shared: Vec<(TextKey, Vec<u8>)>) -> Vec<(TextKey, Vec<Quantized>)> {
    let vectors = |bytes: &[u8]| bytes.as_chunks().0.iter().map(Quantized::from_bytes).collect();
    let texts = shared.iter().map(|(text, bytes)| (*text, vectors(bytes)));
    texts.collect()
}
