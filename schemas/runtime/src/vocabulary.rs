//! Closed vocabularies: words of the contract format that code matches on.

/// Declares a closed vocabulary: an enum without data that serde reads and writes as the word in JSON, and that `Debug` writes as
/// the name in Rust.
///
/// Adds what an enum lacks by itself: `ALL`, in the order of declaration, and `Display`, which writes the word in JSON.
macro_rules! vocabulary {
    (
        $(#[$attribute:meta])*
        pub enum $name:ident {
            $($(#[$word_attribute:meta])* $word:ident,)*
        }
    ) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        $(#[$attribute])*
        pub enum $name {
            $($(#[$word_attribute])* $word,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$word),*];
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                serde::Serialize::serialize(self, f)
            }
        }
    };
}

pub(crate) use vocabulary;
