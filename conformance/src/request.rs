//! Builds requests from a contract's own examples, so that each has every argument that its tool requires.

use serde_json::Value;
use tabellion_runtime::{
    ToolSpec, pointer,
    spec::{Effect, EffectKind},
};

use crate::layout::DOCUMENT;

/// A tool and a request to it.
#[derive(Debug, Clone)]
pub struct Call {
    /// Tool of the contract.
    pub tool: &'static ToolSpec,
    /// Arguments in the contract's shape.
    pub arguments: Value,
}

impl Call {
    /// Returns true if the contract accepts the arguments.
    pub fn is_valid(&self) -> bool {
        self.tool.input.check(&self.arguments).is_ok()
    }

    /// Returns the path of the document, relative to the library's root; empty if the call names no document.
    pub fn path(&self) -> String {
        let Self { tool, arguments } = self;
        match tool.path {
            Some(_) => tool.path_of(arguments).unwrap_or_default(),
            // Only tools of a single-document contract have effects without a path.
            None if tool.effects.is_empty() => String::new(),
            None => DOCUMENT.to_owned(),
        }
    }
}

/// Values for a request; an effect ignores the values that it does not need.
#[derive(Debug, Clone, Copy, Default)]
pub struct With<'a> {
    /// Path of the document, if the contract does not fix it.
    pub path: &'a str,
    /// Text to write.
    pub content: &'a str,
    /// Heading of the section.
    pub target: &'a str,
}

/// Returns a valid request of `tool` with this effect, built from an example of the effect or of one with the same
/// arguments.
///
/// `None` if the contract has no valid example of either.
pub fn with_effect(tool: &'static ToolSpec, effect: &Effect, with: With<'_>) -> Option<Call> {
    let example = |fits: &dyn Fn(&Effect) -> bool| {
        examples(tool).find(|request| tool.effect(request).is_some_and(fits))
    };
    let alike = |it: &Effect| (it.content, it.target) == (effect.content, effect.target);
    let mut arguments = example(&|it| it == effect).or_else(|| example(&alike))?;
    set_path(&mut arguments, tool, with.path);
    effect.when.into_iter().for_each(|when| set(&mut arguments, when.at, when.is));
    match (effect.kind, effect.content) {
        (EffectKind::AppendLine, Some(at)) => {
            // Other members of the object depend on the tool, so the example's are kept.
            set(&mut arguments, &format!("{at}/conformance"), with.content);
        }
        (kind, Some(at)) if !kind.reads() => set(&mut arguments, at, with.content),
        _ => {}
    }
    effect.target.into_iter().for_each(|at| set(&mut arguments, at, with.target));
    Some(Call { tool, arguments })
}

/// Returns a valid request of `tool` about the document at `path`; `None` if the tool takes no path.
pub fn about(tool: &'static ToolSpec, path: &str) -> Option<Call> {
    let mut arguments = examples(tool).next()?;
    tool.path?;
    set_path(&mut arguments, tool, path);
    Some(Call { tool, arguments })
}

/// Sets the path of the document, which is relative to the library's root.
fn set_path(arguments: &mut Value, tool: &ToolSpec, path: &str) {
    let named = tool.path_in.and_then(|folder| path.strip_prefix(folder));
    tool.path.into_iter().for_each(|at| set(arguments, at, named.unwrap_or(path)));
}

/// Returns true if the contract lets the call name its path: by the schema, its rules and the tool's policy.
pub fn may_name(call: &Call) -> bool {
    let Call { tool, arguments } = call;
    let Some(at) = tool.path else { return true };
    let violations = tool.input.check(arguments).err().unwrap_or_default();
    let path = call.path();
    violations.iter().all(|violation| violation.pointer != at)
        && tool.paths.is_none_or(|policy| policy.judge(&path).is_ok())
}

/// Returns the path of a document that the contract lets `tool` name: `wanted` if possible, otherwise one in the folder and with
/// the extension of a valid example's path, where letters may stand for digits. `None` if the contract has no example of such a path.
pub fn place(tool: &'static ToolSpec, wanted: &str) -> Option<String> {
    let name = wanted.rsplit_once('/').map_or(wanted, |(_, name)| name);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_lowercase();
    let plain: String = stem.chars().filter(char::is_ascii_alphanumeric).collect();
    let digit = |c: char| c.to_digit(10).and_then(|digit| char::from_digit(digit + 10, 20));
    let letters = plain.chars().map(|c| digit(c).unwrap_or(c)).collect();
    let stems = [stem.clone(), plain, letters];
    let paths = examples(tool).filter_map(|request| tool.path_of(&request));
    let shapes = paths.map(|path| {
        let name = path.rfind('/').map_or(0, |slash| slash + 1);
        let extension = path[name..].rfind('.').map_or(path.len(), |dot| name + dot);
        (path[..name].to_owned(), path[extension..].to_owned())
    });
    let alike = shapes.flat_map(|(folder, extension)| {
        let alike = |stem: &String| format!("{folder}{stem}{extension}");
        stems.each_ref().map(alike)
    });
    let fits = |path: &String| about(tool, path).is_some_and(|call| call.path() == *path && may_name(&call));
    std::iter::once(wanted.to_owned()).chain(alike).find(fits)
}

/// Returns the contract's valid examples of requests.
pub fn examples(tool: &'static ToolSpec) -> impl Iterator<Item = Value> {
    let valid = tool.examples.iter().filter(|example| example.valid);
    valid.map(|example| example.input.clone())
}

/// Returns the contract's invalid examples of requests, except those with an absolute path: a server that accepts one
/// would change files of this machine.
pub fn invalid_examples(tool: &'static ToolSpec) -> impl Iterator<Item = Value> {
    let invalid = tool.examples.iter().filter(|example| !example.valid);
    let requests = invalid.map(|example| example.input.clone());
    requests.filter(|request| {
        let path = tool.path.and_then(|at| request.pointer(at)?.as_str());
        request.is_object() && !path.is_some_and(|path| path.starts_with('/'))
    })
}

/// Sets the value at `pointer` to `text`, if its parent exists.
pub fn set(value: &mut Value, pointer: &str, text: &str) {
    put(value, pointer, text.into());
}

/// Sets the value at `pointer` to `new`, if its parent exists.
pub fn put(value: &mut Value, pointer: &str, new: Value) {
    let Some((parent, name)) = pointer::split_last(pointer) else {
        return;
    };
    if let Some(Value::Object(parent)) = value.pointer_mut(parent) {
        parent.insert(name, new);
    }
}
