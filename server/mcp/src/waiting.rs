//! The client as a call's caller: it may cancel, and where its request has a progress token it hears how far the call is.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::FutureExt as _;
use rmcp::{
    Peer, RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::RequestContext,
};
use tabellion_runtime::{Caller, Progress, Rejection};
use tokio::{sync::oneshot, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// How often a client hears of a call's progress, and how long a call takes of which it hears any.
const EVERY: Duration = Duration::from_millis(100);

/// A client that waits for the answer to a call.
pub(super) struct Waiting {
    cancelled: CancellationToken,
    /// What it is to hear next; `None` where it doesn't want to.
    news: Option<Mutex<Progress>>,
}

impl Caller for Waiting {
    fn has_cancelled(&self) -> bool {
        self.cancelled.is_cancelled()
    }

    fn hear(&self, progress: Progress) {
        if let Some(news) = &self.news {
            let mut news = news.lock().unwrap_or_else(PoisonError::into_inner);
            if progress.done > news.done {
                *news = progress;
            }
        }
    }
}

/// Tells the client of a call's progress.
pub(super) struct Reports(Option<(oneshot::Sender<()>, JoinHandle<()>)>);

/// The client of a request, and what it is told meanwhile.
pub(super) fn client(cx: &RequestContext<RoleServer>) -> (Arc<Waiting>, Reports) {
    let token = cx.meta.get_progress_token();
    let waiting = Arc::new(Waiting {
        cancelled: cx.ct.clone(),
        news: token.is_some().then(Mutex::default),
    });
    let reports = token.map(|token| {
        let (end, ended) = oneshot::channel();
        let report = report(cx.peer.clone(), token, waiting.clone(), ended);
        (end, tokio::spawn(report))
    });
    (waiting, Reports(reports))
}

impl Reports {
    /// Tells of it until there is the `answer` of `name`: then nothing more is said.
    pub(super) async fn until<T>(
        self,
        name: &'static str,
        answer: impl Future<Output = Result<T, Rejection>>,
    ) -> Result<T, Rejection> {
        // rmcp would leave the request of a handler that panics unanswered for ever. Nothing of it is used again.
        let answer = AssertUnwindSafe(answer).catch_unwind().await;
        if let Some((end, reports)) = self.0 {
            drop(end);
            // A panic in there has been logged, and is no reason to give no answer.
            let _ = reports.await;
        }
        answer.unwrap_or_else(|_| {
            Err(Rejection::Breach {
                tool: name,
                detail: "the implementation panicked".into(),
            })
        })
    }
}

async fn report(
    peer: Peer<RoleServer>,
    token: ProgressToken,
    waiting: Arc<Waiting>,
    mut ended: oneshot::Receiver<()>,
) {
    let mut said = 0;
    loop {
        tokio::select! {
            biased;
            _ = &mut ended => return,
            () = waiting.cancelled.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
        let Some(news) = &waiting.news else { return };
        let news = news.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if news.done <= said {
            continue;
        }
        said = news.done;
        let mut notification = ProgressNotificationParam::new(token.clone(), news.done as f64);
        notification.total = news.total.map(|total| total as f64);
        notification.message = Some(news.message.into_owned()).filter(|message| !message.is_empty());
        if peer.notify_progress(notification).await.is_err() {
            return;
        }
    }
}
