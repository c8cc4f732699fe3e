//! `core.sharedRepository`: who besides the user may use what is made in the repository, whatever their umask is.

use std::path::Path;

use gix::config::Snapshot;

use tabellion_platform as platform;

/// The permission bits that what is made in the repository has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    /// As the umask has it.
    None,
    /// At least these.
    AtLeast(u32),
    /// Exactly these.
    Exactly(u32),
}

impl Sharing {
    /// As git reads it; what git would not take is [`Sharing::None`].
    pub(super) fn configured(config: &Snapshot<'_>) -> Self {
        let Some(value) = config.string("core.sharedRepository") else {
            return Self::None;
        };
        match &*value.to_string().to_ascii_lowercase() {
            "group" | "true" | "yes" | "on" | "1" => Self::AtLeast(0o660),
            "all" | "world" | "everybody" | "2" => Self::AtLeast(0o664),
            value => match u32::from_str_radix(value, 8) {
                Ok(bits) if bits & 0o600 == 0o600 => Self::Exactly(bits & 0o666),
                _ => Self::None,
            },
        }
    }

    /// Gives the file or folder at `path` the bits that git would give it. Best effort: what is another user's has them.
    pub(super) fn apply(self, path: &Path) {
        if self != Self::None {
            let _ = platform::change_mode(path, |mode, is_folder| self.mode(mode, is_folder));
        }
    }

    /// What git's `adjust_shared_perm` makes of `mode`.
    fn mode(self, mode: u32, is_folder: bool) -> u32 {
        let (bits, kept) = match self {
            Self::None => return mode,
            Self::AtLeast(bits) => (bits, mode),
            Self::Exactly(bits) => (bits, mode & !0o777),
        };
        let bits = if mode & 0o200 == 0 { bits & !0o222 } else { bits };
        let new = kept | bits;
        if !is_folder {
            return new;
        }
        let new = new | (new & 0o444) >> 2;
        // The group of a folder goes to what is made in it.
        if new & 0o060 == 0 { new } else { new | 0o2000 }
    }
}
