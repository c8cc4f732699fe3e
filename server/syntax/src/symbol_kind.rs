//! Kinds of symbols.

/// The kind of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    /// A free function.
    Function,
    /// A function of a type.
    Method,
    /// A class or record.
    Class,
    /// A structure or union.
    Struct,
    /// An enumeration.
    Enum,
    /// An interface, trait or protocol.
    Interface,
    /// An `impl` block in Rust, an extension in Swift.
    Impl,
    /// A named type of another kind.
    Type,
    /// A module or namespace.
    Module,
    /// A constant, variable, field or property.
    Constant,
    /// A macro.
    Macro,
    /// A section of a Markdown file.
    Section,
}

impl SymbolKind {
    /// Returns its word, in lower case.
    pub fn word(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Method => "method",
            Self::Class => "class",
            Self::Struct => "struct",
            Self::Enum => "enum",
            Self::Interface => "interface",
            Self::Impl => "impl",
            Self::Type => "type",
            Self::Module => "module",
            Self::Constant => "constant",
            Self::Macro => "macro",
            Self::Section => "section",
        }
    }

    /// Returns true if functions in it are methods.
    pub(crate) fn has_methods(self) -> bool {
        matches!(self, Self::Class | Self::Struct | Self::Enum | Self::Interface | Self::Impl)
    }
}
