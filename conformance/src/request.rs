//! Requests made from a contract's own examples, so that whatever else a tool wants is there.

use serde_json::Value;
use tabellion_runtime::{
    ToolSpec, pointer,
    spec::{Effect, EffectKind},
};

use crate::layout::DOCUMENT;

/// A tool and a request to it.
#[derive(Debug, Clone)]
pub struct Call {
    /// The contract's tool.
    pub tool: &'static ToolSpec,
    /// Its arguments, as the contract shapes them.
    pub arguments: Value,
}

impl Call {
    /// The document that it is about, from the library's root on; empty if it is about none.
    pub fn path(&self) -> String {
        let Self { tool, arguments } = self;
        match tool.path {
            Some(_) => tool.path_of(arguments).unwrap_or_default(),
            // Only what is about the contract's one document has effects without a path.
            None if tool.effects.is_empty() => String::new(),
            None => DOCUMENT.to_owned(),
        }
    }
}

/// What an effect is to be made with; what it has no place for is left out.
#[derive(Debug, Clone, Copy, Default)]
pub struct With<'a> {
    /// The document, where the contract leaves that open.
    pub path: &'a str,
    /// The text that comes.
    pub content: &'a str,
    /// The heading that it is about.
    pub target: &'a str,
}

/// A valid request of `tool` that has this effect, made from an example of it or of one that takes the same.
///
/// `None` if the contract has no valid example of either.
pub fn with_effect(tool: &'static ToolSpec, effect: &Effect, with: With<'_>) -> Option<Call> {
    let example = |fits: &dyn Fn(&Effect) -> bool| {
        examples(tool).find(|request| tool.effect(request).is_some_and(fits))
    };
    let alike = |it: &Effect| (it.content, it.target) == (effect.content, effect.target);
    let mut arguments = example(&|it| it == effect).or_else(|| example(&alike))?;
    tool.path
        .into_iter()
        .for_each(|at| set(&mut arguments, at, with.path));
    effect
        .when
        .into_iter()
        .for_each(|when| set(&mut arguments, when.at, when.is));
    match (effect.kind, effect.content) {
        (EffectKind::AppendLine, Some(at)) => {
            // What such an object may hold besides is for its owner to say.
            set(&mut arguments, &format!("{at}/conformance"), with.content);
        }
        (kind, Some(at)) if !kind.reads() => set(&mut arguments, at, with.content),
        _ => {}
    }
    effect
        .target
        .into_iter()
        .for_each(|at| set(&mut arguments, at, with.target));
    Some(Call { tool, arguments })
}

/// A valid request of `tool` about the document at `path`, whatever it does; `None` if it has no path.
pub fn about(tool: &'static ToolSpec, path: &str) -> Option<Call> {
    let mut arguments = examples(tool).next()?;
    set(&mut arguments, tool.path?, path);
    Some(Call { tool, arguments })
}

/// The contract's valid examples of requests.
pub fn examples(tool: &'static ToolSpec) -> impl Iterator<Item = Value> {
    let valid = tool.examples.iter().filter(|example| example.valid);
    valid.filter_map(|example| serde_json::from_str(example.json).ok())
}

/// The contract's invalid examples of requests, without those whose path is absolute: a server that falls for one must not
/// change what lies there.
pub fn invalid_examples(tool: &'static ToolSpec) -> impl Iterator<Item = Value> {
    let invalid = tool.examples.iter().filter(|example| !example.valid);
    let requests = invalid.filter_map(|example| serde_json::from_str::<Value>(example.json).ok());
    requests.filter(|request| {
        let path = tool.path.and_then(|at| request.pointer(at)?.as_str());
        request.is_object() && !path.is_some_and(|path| path.starts_with('/'))
    })
}

/// Puts `text` where `pointer` points to, if the way there exists.
pub fn set(value: &mut Value, pointer: &str, text: &str) {
    put(value, pointer, text.into());
}

/// Puts `new` where `pointer` points to, if the way there exists.
pub fn put(value: &mut Value, pointer: &str, new: Value) {
    let Some((parent, name)) = pointer::split_last(pointer) else {
        return;
    };
    if let Some(Value::Object(parent)) = value.pointer_mut(parent) {
        parent.insert(name, new);
    }
}
