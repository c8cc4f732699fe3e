//! Fields of forms and of queries.

/// Fields in their order; a name may occur several times.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Parses a form or a query.
    pub(crate) fn parse(text: &[u8]) -> Self {
        Self(form_urlencoded::parse(text).into_owned().collect())
    }

    /// Returns the first value of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let mut all = self.0.iter();
        all.find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the first value of this name that is not blank.
    pub(crate) fn filled(&self, name: &str) -> Option<&str> {
        self.get(name).map(str::trim).filter(|value| !value.is_empty())
    }

    /// Returns a number; `None` if the value is not one.
    pub(crate) fn number(&self, name: &str) -> Option<usize> {
        self.get(name)?.parse().ok()
    }

    /// Returns all fields whose name has this prefix, without the prefix.
    pub(crate) fn beginning<'f>(&'f self, prefix: &'f str) -> impl Iterator<Item = (&'f str, &'f str)> {
        let all = self.0.iter();
        all.filter_map(move |(key, value)| Some((key.strip_prefix(prefix)?, value.as_str())))
    }

    /// Returns the fields, in their order.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

/// Escapes a text for a URL's query.
pub(crate) fn escaped(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

impl<'f> FromIterator<(&'f str, &'f str)> for Fields {
    fn from_iter<I: IntoIterator<Item = (&'f str, &'f str)>>(fields: I) -> Self {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Self(fields.into_iter().map(owned).collect())
    }
}
