//! Writes replies as whole lines, one after the other.

use std::{io, sync::Arc};

use rmcp::{RoleServer, service::TxJsonRpcMessage};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt as _},
    sync::Mutex,
};

use super::ending::{Ending, ServeError};

/// The stream of replies.
#[derive(Debug)]
pub(super) struct Output<W> {
    /// Taken while a line is being written. It is not put back after a failed or cancelled write, because no
    /// further line may follow half a line.
    stream: Mutex<Option<W>>,
    ending: Arc<Ending>,
}

impl<W: AsyncWrite + Unpin> Output<W> {
    pub(super) fn new(stream: W, ending: Arc<Ending>) -> Self {
        Self { stream: Mutex::new(Some(stream)), ending }
    }

    /// Writes one message. A failure ends the service.
    pub(super) async fn write(&self, message: &TxJsonRpcMessage<RoleServer>) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let mut place = self.stream.lock().await;
        let mut stream = place.take().ok_or(io::ErrorKind::BrokenPipe)?;
        match write_through(&mut stream, &line).await {
            Ok(()) => {
                *place = Some(stream);
                Ok(())
            }
            Err(error) => {
                let kind = error.kind();
                self.ending.fail(ServeError::Write(error));
                Err(kind.into())
            }
        }
    }
}

async fn write_through(stream: &mut (impl AsyncWrite + Unpin), line: &[u8]) -> io::Result<()> {
    stream.write_all(line).await?;
    stream.flush().await
}
