//! Bytes of a document in a saved case: a JSON string if they are UTF-8, else hexadecimal digits.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serde_json::Value;

/// Returns true if `text` occurs in `bytes`.
pub fn contain(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

/// A document's bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Bytes(pub Vec<u8>);

impl From<&str> for Bytes {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => {
                let digits = HEXLOWER.encode(&self.0);
                serde_json::json!({ "hex": digits }).serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if let Some(text) = value.as_str() {
            return Ok(text.into());
        }
        let digits = value["hex"].as_str();
        let digits = digits.ok_or_else(|| D::Error::custom("neither a string nor hexadecimal digits"))?;
        let bytes = HEXLOWER_PERMISSIVE.decode(digits.as_bytes());
        bytes.map(Self).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_a_round_trip() {
        for bytes in [&b""[..], b"text\r\n", "\u{feff}é".as_bytes(), b"\xff\x00\xfe", b"\xc3"] {
            let json = serde_json::to_string(&Bytes::from(bytes)).unwrap();
            assert_eq!(serde_json::from_str::<Bytes>(&json).unwrap().0, bytes, "{json}");
        }
    }
}
