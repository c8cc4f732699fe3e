//! Forms of values in contract files that serde does not read by itself. Texts are borrowed from a leaked document.

use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::Value;

/// Reads a list.
pub(crate) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<&'static [T], D::Error> {
    Ok(Vec::deserialize(from)?.leak())
}

/// Reads a list of any values, as JSON texts.
pub(super) fn json_texts<'de, D: Deserializer<'de>>(from: D) -> Result<&'static [&'static str], D::Error> {
    let texts = Vec::<Value>::deserialize(from)?.into_iter().map(|value| &*value.to_string().leak());
    Ok(texts.collect::<Vec<_>>().leak())
}

/// Reads a value, or a list of them.
///
/// # Errors
/// If it is neither.
pub fn one_or_several<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<&'static [T], D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrSeveral<T> {
        One(T),
        Several(Vec<T>),
    }

    Ok(match OneOrSeveral::deserialize(from)? {
        OneOrSeveral::One(one) => vec![one].leak(),
        OneOrSeveral::Several(several) => several.leak(),
    })
}

/// Returns true for any value: the key is given.
pub(super) fn is_given<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(from).map(|_| true)
}
