//! Closed sets of names.

/// Declares an enum whose variants have names, as spelled in rule files and answers.
macro_rules! names {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $type:ident { $($(#[$variant_attribute:meta])* $variant:ident = $name:literal,)* }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $visibility enum $type { $($(#[$variant_attribute])* $variant,)* }

        impl $type {
            /// All of them, in the order of their declaration.
            $visibility const ALL: &[Self] = &[$(Self::$variant),*];

            /// Returns the name.
            #[must_use]
            $visibility fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

pub(crate) use names;
