//! What pages need besides themselves: one style sheet and a few modules, served under names with their hash.

use cardwire_model::Hash256;
use std::sync::LazyLock;

/// One file.
#[derive(Debug)]
pub struct Asset {
    /// Its name, with a hash of its bytes: it never changes under that name.
    pub name: String,
    /// Its type.
    pub content_type: &'static str,
    /// Its bytes.
    pub bytes: &'static [u8],
}

impl Asset {
    fn new(stem: &str, extension: &str, content_type: &'static str, bytes: &'static [u8]) -> Self {
        let hash = Hash256::of(bytes).to_string();
        Self { name: format!("{stem}.{}.{extension}", &hash[..12]), content_type, bytes }
    }
}

/// The style sheet.
pub static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("inspector", "css", "text/css; charset=utf-8", include_bytes!("../assets/inspector.css"))
});

/// Keys, the palette, live updates.
pub static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("inspector", "js", "text/javascript; charset=utf-8", include_bytes!("../assets/inspector.js"))
});

/// The picture in the browser's tab.
pub static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("icon", "svg", "image/svg+xml", include_bytes!("../assets/icon.svg")));

/// The file with this name.
pub fn find(name: &str) -> Option<&'static Asset> {
    let all: [&'static Asset; 3] = [&STYLE, &SCRIPT, &ICON];
    all.into_iter().find(|asset| asset.name == name)
}
