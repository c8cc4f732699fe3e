//! Enumerations whose values have names for people, as in the names of cases.

/// Declares an enumeration of named values, which saved cases write in kebab case. `ALL` has the values in their order; `name` and `Display`
/// give the name.
#[macro_export]
macro_rules! named {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $type:ident {
            $($(#[$of_value:meta])* $value:ident = $name:literal,)+
        }
    ) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "kebab-case")]
        $(#[$attribute])*
        $visibility enum $type {
            $($(#[$of_value])* $value,)+
        }

        impl $type {
            $visibility const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            $visibility const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
