//! Content that states its own length and checksum, so that a torn read is detected.

const HEAD: &str = "# Described";

/// Returns content of about `size` bytes with `token`.
pub(super) fn content(token: &str, size: usize) -> String {
    let mut body = format!("{token}\n");
    while body.len() < size {
        let line = format!("line {} of {token}, at {}\n", sum(body.as_bytes()), body.len());
        body.push_str(&line.replace(token, "it"));
    }
    format!("{HEAD}\n{} bytes, sum {}\n{body}", body.len(), sum(body.as_bytes()))
}

/// Returns the fault of content that should be described, if any.
pub(super) fn fault(content: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(content);
    let mut parts = text.splitn(3, '\n');
    let (head, said, body) = (parts.next(), parts.next(), parts.next().unwrap_or_default());
    let is = format!("{} bytes, sum {}", body.len(), sum(body.as_bytes()));
    (head != Some(HEAD) || said != Some(&is))
        .then(|| format!("{} bytes that say `{}` and are `{is}`", content.len(), said.unwrap_or_default()))
}

/// FNV-1a.
fn sum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn the_check_detects_torn_content() {
    let whole = content("t-1", 5000);
    assert_eq!(fault(whole.as_bytes()), None);
    let other = content("t-2", 5000);
    let mixed = [&whole.as_bytes()[..2500], &other.as_bytes()[2500..]].concat();
    for torn in [&b""[..], &whole.as_bytes()[..whole.len() - 1], &mixed] {
        assert!(fault(torn).is_some());
    }
}
