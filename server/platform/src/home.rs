//! Paths as people write them.

use std::{
    env,
    path::{Component, Path, PathBuf},
};

/// Returns the path with the home folder in place of a leading `~`, for paths that no shell has expanded:
/// those of a client's configuration, or in quotes.
///
/// # Errors
/// If there is no home folder, or it is that of another account.
pub fn expanded(path: PathBuf) -> Result<PathBuf, String> {
    let mut segments = path.components();
    let first = match segments.next() {
        Some(Component::Normal(name)) => name.to_string_lossy(),
        _ => return Ok(path),
    };
    if first == "~" {
        let home = env::home_dir().filter(|home| home.is_absolute());
        let home = home.ok_or("there is no home folder that `~` could be; write the path out")?;
        return Ok(within(&home, segments.as_path()));
    }
    if first.starts_with('~') {
        return Err(format!(
            "`{first}` is not expanded here; write the path out, or `./{first}` if the folder is called so"
        ));
    }
    Ok(path)
}

/// Returns the path within a folder; if the path is empty, the folder itself, without a trailing `/`.
fn within(folder: &Path, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { folder.to_owned() } else { folder.join(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tilde_is_the_home_folder_at_the_beginning_alone() {
        let home = env::home_dir().unwrap();
        for (written, expected) in [
            ("~", Ok(home.clone())),
            ("~/", Ok(home.clone())),
            ("~/a/b", Ok(home.join("a/b"))),
            ("./~", Ok("./~".into())),
            ("a/~", Ok("a/~".into())),
            ("/~", Ok("/~".into())),
            ("", Ok("".into())),
            ("-", Ok("-".into())),
            ("~ann/notes", Err("`~ann` is not expanded")),
        ] {
            match (expanded(written.into()), expected) {
                (Ok(path), Ok(expected)) => assert_eq!(path, expected, "{written}"),
                (Err(said), Err(expected)) => assert!(said.contains(expected), "{said}"),
                (found, expected) => panic!("{written}: {found:?}, and not {expected:?}"),
            }
        }
    }
}
