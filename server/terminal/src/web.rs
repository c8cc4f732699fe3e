//! `tabellion review --web`: a page over one library, on this machine alone.

use std::{net::ToSocketAddrs as _, path::Path, sync::Arc, time::Duration};

use tabellion_http::{self as http, Credentials, Guard, Limits, Site};
use tabellion_pack::Packs;
use tabellion_page::{self as browser, BASE, data::Source as _};
use tabellion_platform as platform;
use tabellion_serve::{self as serve, calls, page};
use tabellion_upkeep::{TerminalError, console::say};

use super::{has_reviews, nearest_used, open, review};

/// Time without a request after which the page ends.
const IDLE_TIME: Duration = Duration::from_secs(60 * 60);

/// Serves a page over one library on a free loopback port, for the person whose account this is: `tabellion review --web`. Ends when
/// the process is asked to, or after an idle hour.
///
/// # Errors
/// If the library can't be opened, or no port can be listened on.
pub fn web(folder: &Path, proposal: Option<&str>, packs: Packs) -> Result<(), TerminalError> {
    let folder = &*nearest_used(folder, packs);
    let library = open(folder)?;
    let proposal = proposal.map(|id| review::full_id(&library, id, packs)).transpose()?;
    let runtime = serve::runtime()?;
    let specs: Vec<_> = packs.over_documents().collect();
    let specs = if has_reviews(&library, folder, packs) {
        specs
    } else {
        specs.into_iter().filter(|spec| spec.auth.is_none()).collect()
    };
    let calls = calls::open(&library, specs.iter())?;
    let door =
        page::Door::new(None, serve::local_caller(None), Some(page::Kept::Library(Arc::clone(&library))));
    let served = page::ServedLibrary {
        name: None,
        folder: folder.to_owned(),
        library,
        contracts: specs,
        calls: calls.map(|calls| calls as _),
    };
    let source = page::LibrarySource::new(served, packs, door.clone(), runtime.handle().clone());
    let name = host_name(source.title());
    let local = door.local();
    let page = browser::Page::new(vec![Arc::new(source)], door, false);
    runtime.block_on(async {
        let ending = platform::asked_to_end()?;
        let listener = http::listen(([127, 0, 0, 1], 0).into()).await?;
        let address = listener.local_addr()?;
        let guard = Guard::new(address, std::slice::from_ref(&name), &[]).map_err(TerminalError::new)?;
        let site = Site::new(guard, Credentials::default(), Default::default(), Limits::default());
        let site = site.with_page(Some(page::mounted(&page)));
        let to = proposal.map_or_else(|| BASE.to_owned(), |id| format!("{BASE}/review/{id}"));
        let resolves = (name.as_str(), address.port())
            .to_socket_addrs()
            .is_ok_and(|mut all| all.any(|found| found == address));
        let host = if resolves { format!("{name}:{}", address.port()) } else { address.to_string() };
        say(format_args!("open http://{host}{}", page.link(local, &to)));
        say("the link holds once, for two minutes; Ctrl-C ends the page, and so does an idle hour");
        let until = async {
            tokio::select! {
                () = ending => {}
                () = idle(&page) => {}
            }
        };
        http::serve(listener, site.into(), None, until).await;
        Ok(())
    })
}

/// Waits until the page was not used for [`IDLE_TIME`].
async fn idle(page: &browser::Page) {
    while let Some(left) = IDLE_TIME.checked_sub(page.idle_for()) {
        tokio::time::sleep(left.max(Duration::from_secs(1))).await;
    }
}

/// Returns a host name of this machine alone; the browser does not send its cookies to pages of other ports under other names.
fn host_name(title: &str) -> String {
    let fit = |sign: char| {
        if sign.is_ascii_alphanumeric() { sign.to_ascii_lowercase() } else { '-' }
    };
    let name: String = title.chars().map(fit).take(40).collect();
    format!("{}.localhost", Some(name.trim_matches('-')).filter(|name| !name.is_empty()).unwrap_or("library"))
}
