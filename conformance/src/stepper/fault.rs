//! Faults to inject, and the calls that can fail so.

use std::fmt;

/// A fault to inject, and the call at which it strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Number of the call, counted from one.
    pub at: usize,
    /// Effect of the fault.
    pub effect: Effect,
}

/// Effect of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Kills the program and all its children; the call does not take effect.
    Kill,
    /// Fails the call, which has no effect; ignored if the call [cannot](Errno::is_of) fail so.
    Fail(Errno),
    /// Fails the call and all later ones that can fail so, until [`Stepper::disarm`](super::Stepper::disarm).
    FailOn(Errno),
}

/// An error number with its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno {
    name: &'static str,
    pub(super) number: i32,
}

macro_rules! errnos {
    ($($name:ident = $number:literal, $meaning:literal;)*) => {
        impl Errno {
            $(
                #[doc = $meaning]
                pub const $name: Self = Self { name: stringify!($name), number: $number };
            )*
        }
    };
}

errnos! {
    EIO = 5, "The disk failed.";
    EACCES = 13, "Permission denied.";
    EMFILE = 24, "Too many open files.";
    EFBIG = 27, "The file would be too large.";
    ENOSPC = 28, "The disk is full.";
    EROFS = 30, "The file system is read-only.";
    ENOSYS = 38, "The system call does not exist.";
    EDQUOT = 122, "The user's disk quota is exceeded.";
}

/// Beginnings of the names of calls that need no space on the disk.
const NEEDS_NO_SPACE: &[&str] = &[
    "flock",
    "unlink",
    "rmdir",
    "chmod",
    "fchmod",
    "chown",
    "lchown",
    "fchown",
    "utime",
    "removexattr",
    "lremovexattr",
    "fremovexattr",
];

impl Errno {
    /// Returns true if a call of this name can fail so, according to the manual pages. No server need handle others.
    pub fn is_of(self, call: &str) -> bool {
        match self {
            Self::ENOSPC | Self::EDQUOT => !NEEDS_NO_SPACE.iter().any(|name| call.starts_with(name)),
            Self::EIO => call != "flock",
            _ => true,
        }
    }
}

impl Effect {
    /// Returns true if this can happen at a call of this name.
    pub fn is_of(self, call: &str) -> bool {
        match self {
            Self::Kill => true,
            Self::Fail(errno) | Self::FailOn(errno) => errno.is_of(call),
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill => f.write_str("killed"),
            Self::Fail(errno) => write!(f, "{errno} once"),
            Self::FailOn(errno) => write!(f, "{errno} from then on"),
        }
    }
}
