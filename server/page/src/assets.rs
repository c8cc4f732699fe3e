//! The style sheet and the script: parts of the program, named by their digest, so that browsers may cache them.

use std::sync::LazyLock;

use crate::sign_in::digest;

/// A file that pages refer to.
pub(crate) struct Asset {
    /// Its name, with a digest.
    pub(crate) name: String,
    /// Its media type.
    pub(crate) media: &'static str,
    pub(crate) text: &'static str,
}

impl Asset {
    fn new(stem: &str, ending: &str, media: &'static str, text: &'static str) -> Self {
        Self { name: format!("{stem}-{}.{ending}", &digest(text)[..12]), media, text }
    }
}

/// The style sheet.
pub(crate) static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("style", "css", "text/css; charset=utf-8", include_str!("../assets/style.css"))
});

/// The icon of the window.
pub(crate) static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("icon", "svg", "image/svg+xml", include_str!("../assets/icon.svg")));

/// The script, which is optional.
pub(crate) static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("page", "js", "text/javascript; charset=utf-8", include_str!("../assets/page.js"))
});
