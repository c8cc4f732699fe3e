//! Kits that servers are written with, recognized by their answers, and their defects. The author of a server can't mend these, so they are
//! reported once, as the kit's.

/// The first words of each excuse.
pub const EXCUSE: &str = "a defect of";

/// A kit.
#[derive(Debug)]
pub struct Sdk {
    /// Its name.
    pub name: &'static str,
    /// Parts of the answer to a call that names no tool.
    says: &'static [&'static str],
    defects: &'static [Defect],
}

/// A defect of a kit.
#[derive(Debug)]
struct Defect {
    /// The check that it fails.
    check: &'static str,
    /// A part of the failure's text.
    says: &'static str,
    /// The kit's behaviour: words that follow `which`.
    does: &'static str,
}

const SILENT: Defect = Defect {
    check: "wire/bad-params",
    says: "gave no answer",
    does: "never answers a request whose `params` are not an object",
};
const SILENT_CODE: Defect = Defect { check: "wire/bad-params-code", ..SILENT };
const REPLACES: Defect = Defect {
    check: "wire/bad-lines-code",
    says: "\"code\":-32601",
    does: "reads bytes that are not UTF-8 as replacement characters",
};
const UNKNOWN_METHOD: Defect = Defect {
    check: "wire/unknown-method",
    says: "\"message\":\"Invalid request parameters\"",
    does: "answers an unknown method with -32602 instead of -32601",
};

/// The kits that are known.
pub const SDKS: [Sdk; 2] = [
    Sdk {
        name: "the TypeScript SDK",
        says: &["\"invalid_type\"", "\"path\"", "\"params\""],
        defects: &[
            SILENT,
            SILENT_CODE,
            REPLACES,
            Defect {
                check: "wire/bad-params-code",
                says: "\"code\":-32603",
                does: "answers a call without a tool's name with -32603 instead of -32602",
            },
        ],
    },
    Sdk {
        name: "the Python SDK",
        says: &["Invalid request parameters"],
        defects: &[
            SILENT,
            SILENT_CODE,
            REPLACES,
            UNKNOWN_METHOD,
            Defect { check: "wire/bad-lines-code", ..UNKNOWN_METHOD },
            Defect {
                check: "wire/bad-params-code",
                says: "\"text\":\"Unknown tool: \"",
                does: "answers a call of an unknown tool with a result instead of -32602",
            },
        ],
    },
];

/// Returns the kit that answers a call without a tool's name with this message, if it is known.
pub fn by_words(said: &str) -> Option<&'static Sdk> {
    SDKS.iter().find(|sdk| sdk.says.iter().all(|part| said.contains(part)))
}

impl Sdk {
    /// Returns why a check fails with this reason, if that is a defect of the kit.
    pub fn excuse(&self, check: &str, reason: &str) -> Option<String> {
        let mut defects = self.defects.iter();
        let defect = defects.find(|defect| defect.check == check && reason.contains(defect.says))?;
        Some(format!("{EXCUSE} {}, which {}", self.name, defect.does))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks;

    #[test]
    fn kits_are_known_by_what_they_say() {
        let of_zod = "[\n  {\n    \"expected\": \"string\",\n    \"code\": \"invalid_type\",\n    \"path\": [\n      \"params\",\n      \"name\"\n    ]\n  }\n]";
        for (name, said) in [
            (Some("the TypeScript SDK"), of_zod),
            (Some("the Python SDK"), "Invalid request parameters"),
            (None, "`name` is missing"),
        ] {
            let found = by_words(said).map(|sdk| sdk.name);
            assert_eq!(found, name, "{said}");
        }
        for defect in SDKS.iter().flat_map(|sdk| sdk.defects) {
            assert!(checks::find(defect.check).is_some(), "{}", defect.check);
        }
    }
}
