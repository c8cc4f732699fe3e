//! An in-memory contract with resources, prompts and approvals: one page, which tests also change by hand.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::{Map, Value, json};
use tabellion_runtime::{
    Answer, Approval, ArgumentSpec, BoxFuture, CallContext, Contract, ContractSpec, Decision, ErrorChannel,
    PromptSpec, Proposal, ProposedEffect, Rejection, ResourceSpec, Schema, Shows, ToolSpec,
    spec::ResourceTemplateSpec,
};

use crate::testing::{declared, spec, tool, tool_with};

pub(super) const URI: &str = "memory://page";

/// A page, and the number of reads of its version.
#[derive(Debug)]
pub(super) struct Page {
    spec: &'static ContractSpec,
    text: Mutex<String>,
    looks: AtomicUsize,
}

impl Page {
    pub(super) fn new() -> Arc<Self> {
        Self::with_spec(&PAGE)
    }

    pub(super) fn with_spec(spec: &'static ContractSpec) -> Arc<Self> {
        Arc::new(Self { spec, text: Mutex::new("one".into()), looks: AtomicUsize::new(0) })
    }

    pub(super) fn text(&self) -> String {
        self.text.lock().unwrap().clone()
    }

    /// Changes the page by hand.
    pub(super) fn set(&self, text: &str) {
        *self.text.lock().unwrap() = text.into();
    }

    /// Returns the number of reads of the version.
    pub(super) fn looks(&self) -> usize {
        self.looks.load(Ordering::Relaxed)
    }

    /// Acts like the runtime: proposes, and makes only granted changes.
    async fn change(&self, call: &CallContext, tool: &'static ToolSpec, text: &str) -> Result<(), Rejection> {
        let decline = |why: &str| Err(declared("DECLINED", -32010, why, json!({})));
        let before = self.text();
        let digest = match tool.approval {
            APPENDED => format!("{} {text}", tool.name),
            _ => format!("{} {before} {text}", tool.name),
        };
        let approver = call.approver.as_deref();
        if tool.approval.is_some() || approver.is_some_and(|approver| approver.insists_on(tool)) {
            let proposal = Proposal {
                tool: tool.name,
                path: "page.md".into(),
                effect: ProposedEffect::Change,
                shown: text.into(),
                digest,
            };
            let decision = match approver {
                Some(approver) => approver.decide(&proposal).await,
                None => return decline("no approver"),
            };
            match decision {
                Decision::Granted => {}
                Decision::Declined(why) => return decline(&why),
                Decision::Ask => return Err(Rejection::InputRequired(Box::new(proposal))),
            }
        }
        match tool.approval {
            APPENDED => self.set(&(self.text() + text)),
            _ => self.set(text),
        }
        Ok(())
    }
}

fn answer(response: Value) -> Answer {
    let meta = Map::new();
    Answer { response, meta }
}

impl Contract for Page {
    fn spec(&self) -> &'static ContractSpec {
        self.spec
    }

    fn call<'a>(
        &'a self,
        call: &'a CallContext,
        tool: &'a str,
        arguments: Value,
    ) -> BoxFuture<'a, Result<Answer, Rejection>> {
        Box::pin(async move {
            let tool = self.spec.tool(tool).ok_or(Rejection::UnknownTool)?;
            if tool.mutating {
                self.change(call, tool, arguments["text"].as_str().unwrap()).await?;
            }
            Ok(answer(json!({ "text": self.text() })))
        })
    }

    fn read_resource<'a>(
        &'a self,
        _: &'a CallContext,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Answer, Rejection>> {
        Box::pin(async move {
            match name {
                "page" => Ok(answer(json!({ "text": self.text() }))),
                "refused" => Err(declared("TOO_LARGE", -32002, "too large", json!({ "most": 5 }))),
                _ => panic!("a resource's defect"),
            }
        })
    }

    fn resource_version<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<String, Rejection>> {
        Box::pin(async move {
            self.looks.fetch_add(1, Ordering::Relaxed);
            match name {
                "page" if self.text() == "gone" => {
                    Err(declared("NOT_FOUND", -32001, "no such page", json!({})))
                }
                "page" => Ok(self.text()),
                _ => panic!("a resource's defect"),
            }
        })
    }

    fn read_instance<'a>(
        &'a self,
        _: &'a CallContext,
        template: &'a str,
        variables: Value,
    ) -> BoxFuture<'a, Result<Answer, Rejection>> {
        Box::pin(async move {
            match variables["line"].as_str() {
                Some("none") => Err(declared("NOT_FOUND", -32001, "no such line", json!({}))),
                _ => Ok(answer(json!({ "text": format!("{template} {variables} {}", self.text()) }))),
            }
        })
    }

    fn instance_version<'a>(
        &'a self,
        template: &'a str,
        variables: Value,
    ) -> BoxFuture<'a, Result<String, Rejection>> {
        Box::pin(async move {
            assert_eq!(template, "line");
            // Each line contains the words of the page that begin with its name.
            let line = variables["line"].as_str().unwrap().to_owned();
            let text = self.text();
            let words = text.split(' ').filter(|word| word.starts_with(&line));
            Ok(words.collect::<Vec<_>>().join(" "))
        })
    }

    fn complete_variable<'a>(
        &'a self,
        _: &'a CallContext,
        template: &'a str,
        variable: &'a str,
        value: &'a str,
    ) -> BoxFuture<'a, Result<Vec<String>, Rejection>> {
        Box::pin(async move {
            assert_eq!((template, variable), ("line", "line"));
            Ok(vec![format!("{value}1"), format!("{value}2")])
        })
    }

    fn get_prompt<'a>(
        &'a self,
        _: &'a CallContext,
        name: &'a str,
        arguments: Value,
    ) -> BoxFuture<'a, Result<String, Rejection>> {
        Box::pin(async move {
            assert_eq!(name, "greet");
            match arguments["name"].as_str() {
                Some(name) => Ok(format!("Greet {name}!")),
                None => Err(declared("INVALID_REQUEST", -32602, "/name: is missing", json!({}))),
            }
        })
    }

    fn complete<'a>(
        &'a self,
        _: &'a CallContext,
        prompt: &'a str,
        argument: &'a str,
        value: &'a str,
    ) -> BoxFuture<'a, Result<Vec<String>, Rejection>> {
        Box::pin(async move {
            assert_eq!((prompt, argument), ("greet", "name"));
            Ok((0..1000).map(|number| number.to_string()).filter(|name| name.starts_with(value)).collect())
        })
    }
}

static TEXT: Schema =
    Schema::plain(r#"{"type":"object","required":["text"],"properties":{"text":{"type":"string"}}}"#);

const fn resource(name: &'static str, uri: &'static str) -> ResourceSpec {
    ResourceSpec {
        name,
        uri,
        title: "A page",
        description: "All that it says.",
        mime_type: "application/json",
        schema: &TEXT,
    }
}

const fn argument(name: &'static str, required: bool) -> ArgumentSpec {
    ArgumentSpec { name, description: "What to say.", required, completes: required }
}

const fn prompt(name: &'static str, arguments: &'static [ArgumentSpec]) -> PromptSpec {
    PromptSpec { name, description: "Greets a person.", arguments, template: "Greet {name}!" }
}

const APPENDED: Option<Approval> = Some(Approval { shows: Shows::Appended });

static TOOLS: [ToolSpec; 3] =
    [tool_with("append", true, APPENDED), tool("overwrite", true), tool("look", false)];

static RESOURCES: [ResourceSpec; 3] =
    [resource("page", URI), resource("refused", "memory://refused"), resource("panic", "memory://panic")];

static TEMPLATES: [ResourceTemplateSpec; 2] = [
    ResourceTemplateSpec {
        resource: resource("line", "memory://page/{line}"),
        variables: &[argument("line", true)],
    },
    ResourceTemplateSpec {
        resource: resource("lines", "memory://lines{?word,after}"),
        variables: &[argument("word", false), argument("after", false)],
    },
];

/// A contract with only templates of resources, one of which matches a resource of the others.
pub(super) static TEMPLATE: ContractSpec = ContractSpec {
    templates: &[ResourceTemplateSpec {
        resource: resource("any", "memory://{any}"),
        variables: &[argument("any", false)],
    }],
    ..spec("template", ErrorChannel::JsonRpc, &[])
};

const ARGUMENTS: &[ArgumentSpec] = &[argument("name", true), argument("tone", false)];

/// A contract with tools, resources and prompts.
static PAGE: ContractSpec = ContractSpec {
    resources: &RESOURCES,
    templates: &TEMPLATES,
    prompts: &[prompt("greet", ARGUMENTS)],
    ..spec("page", ErrorChannel::JsonRpc, &TOOLS)
};

/// A contract with only a resource.
pub(super) static RESOURCE: ContractSpec =
    ContractSpec { resources: &RESOURCES, ..spec("resource", ErrorChannel::JsonRpc, &[]) };

/// A contract with only a prompt whose arguments have no completions.
pub(super) static PROMPT: ContractSpec = ContractSpec {
    prompts: &[prompt("greet", &[argument("tone", false)])],
    ..spec("prompt", ErrorChannel::JsonRpc, &[])
};
