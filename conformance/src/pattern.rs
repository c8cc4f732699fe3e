//! Names of several checks.

/// Returns true if `pattern` is the id of the check, or names its family: `family` or `family/*`.
pub fn covers(pattern: &str, id: &str) -> bool {
    let family = pattern.strip_suffix("/*").unwrap_or(pattern);
    let below = id.strip_prefix(family).and_then(|rest| rest.strip_prefix('/'));
    pattern == id || below.is_some()
}
