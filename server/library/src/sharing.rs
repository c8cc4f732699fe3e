//! `core.sharedRepository`: the permissions of files created in the repository, regardless of the umask.

use std::path::Path;

use gix::config::Snapshot;

use tabellion_platform as platform;

/// The permission bits of new files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    /// According to the umask.
    None,
    /// At least these bits.
    AtLeast(u32),
    /// Exactly these bits.
    Exactly(u32),
}

impl Sharing {
    /// Parses the option as git does; an invalid value is [`Sharing::None`].
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

    /// Sets the permission bits of the file or folder at `path`. Best effort: another user's file has them already.
    pub(super) fn apply(self, path: &Path) {
        if self != Self::None {
            let _ = platform::change_mode(path, |mode, is_folder| self.mode(mode, is_folder));
        }
    }

    /// Computes the new mode, as git's `adjust_shared_perm` does.
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
        // New files in the folder inherit its group.
        if new & 0o060 == 0 { new } else { new | 0o2000 }
    }
}
