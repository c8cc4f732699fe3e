//! Serving over HTTP, alone or beside a client on standard input and output.

use std::{collections::BTreeMap, convert::Infallible, error::Error, net::SocketAddr};

use futures_util::FutureExt as _;
use tokio::sync::oneshot;

use super::Opened;
use crate::{
    cli::Serve,
    http::{self, Guard, Place, Site},
    keys::{KeyFile, Ring},
    mcp::{self, streamable},
    parent::Parent,
    platform,
};

/// Serves `libraries` over HTTP until the process is asked to end; with `--stdio` also there, and until that client is
/// gone.
pub(super) async fn serve(
    what: &Serve,
    address: SocketAddr,
    libraries: Vec<Opened>,
    parent: Parent,
) -> Result<(), Box<dyn Error>> {
    let keys = what.keys.as_ref().map(|file| Ring::new(KeyFile::at(file)));
    let keys = keys.transpose()?;
    if keys.is_none() {
        check_address(address)?;
    }
    let ending = platform::asked_to_end()?;
    let listener = http::listen(address).await?;
    let address = listener.local_addr()?;
    let guard = Guard::new(address, &what.hosts, &what.origins)?;
    let beside = libraries.first().filter(|_| what.stdio);
    let beside = beside.map(|library| library.adapter.for_another());
    let places: BTreeMap<_, _> = libraries.into_iter().map(place).collect();
    for path in places.keys() {
        eprintln!("tabellion: listening on http://{address}{path}");
    }
    let site = Site::new(guard, keys, places, http::Limits::default());
    let (running, gone) = oneshot::channel::<Infallible>();
    let ending = ending.shared();
    let until = async {
        tokio::select! {
            _ = gone => {}
            () = ending.clone() => {}
        }
    };
    let on_stdio = async {
        let served = match beside {
            None => {
                ending.clone().await;
                Ok(())
            }
            Some(adapter) => {
                let until = async {
                    tokio::select! {
                        () = parent.gone() => {}
                        () = ending.clone() => {}
                    }
                };
                mcp::serve_stdio(adapter, until).await
            }
        };
        drop(running);
        served
    };
    let (served, ()) = tokio::join!(on_stdio, http::serve(listener, site.into(), until));
    Ok(served?)
}

/// Refuses to be reached by those whom nobody asks who they are.
fn check_address(address: SocketAddr) -> Result<(), String> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    Err(format!(
        "`--http {address}` can be reached from other machines, and everybody there could change the library. Ask for \
         keys (`--keys FILE`), or listen on 127.0.0.1"
    ))
}

fn place(library: Opened) -> (String, Place) {
    let place = Place {
        name: library.named.name.clone().unwrap_or_default(),
        folder: library.named.folder.clone(),
        counts: library.library.counts(),
        endpoint: streamable::Endpoint::new(library.adapter, streamable::Limits::default()),
    };
    (library.named.path(), place)
}
