//! The client as the caller of a call: it can cancel, and receives progress if its request has a progress token.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use rmcp::{
    Peer, RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::RequestContext,
};
use tabellion_runtime::{Caller, Progress};
use tokio::{sync::oneshot, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// Interval of progress notifications, and the delay before the first one.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// A client that waits for the answer to a call.
pub(super) struct WaitingClient {
    cancelled: CancellationToken,
    /// The next progress to report; `None` if the client did not request progress.
    latest: Option<Mutex<Progress>>,
}

impl Caller for WaitingClient {
    fn has_cancelled(&self) -> bool {
        self.cancelled.is_cancelled()
    }

    fn hear(&self, progress: Progress) {
        if let Some(latest) = &self.latest {
            let mut latest = latest.lock();
            if progress.done > latest.done {
                *latest = progress;
            }
        }
    }
}

/// Sends progress notifications of a call to the client.
pub(super) struct ProgressReports(Option<(oneshot::Sender<()>, JoinHandle<()>)>);

pub(super) fn client(cx: &RequestContext<RoleServer>) -> (Arc<WaitingClient>, ProgressReports) {
    let token = cx.meta.get_progress_token();
    let waiting =
        Arc::new(WaitingClient { cancelled: cx.ct.clone(), latest: token.is_some().then(Mutex::default) });
    let reports = token.map(|token| {
        let (end, ended) = oneshot::channel();
        let report = report(cx.peer.clone(), token, waiting.clone(), ended);
        (end, tokio::spawn(report))
    });
    (waiting, ProgressReports(reports))
}

impl ProgressReports {
    /// Stops the notifications.
    pub(super) async fn end(self) {
        if let Some((end, reports)) = self.0 {
            drop(end);
            // A panic there has been logged, and does not prevent an answer.
            let _ = reports.await;
        }
    }
}

async fn report(
    peer: Peer<RoleServer>,
    token: ProgressToken,
    waiting: Arc<WaitingClient>,
    mut ended: oneshot::Receiver<()>,
) {
    let mut reported = 0;
    loop {
        tokio::select! {
            biased;
            _ = &mut ended => return,
            () = waiting.cancelled.cancelled() => return,
            () = tokio::time::sleep(PROGRESS_INTERVAL) => {}
        }
        let Some(latest) = &waiting.latest else { return };
        let latest = latest.lock().clone();
        if latest.done <= reported {
            continue;
        }
        reported = latest.done;
        let mut notification = ProgressNotificationParam::new(token.clone(), latest.done as f64);
        notification.total = latest.total.map(|total| total as f64);
        notification.message = Some(latest.message.into_owned()).filter(|message| !message.is_empty());
        if peer.notify_progress(notification).await.is_err() {
            return;
        }
    }
}
