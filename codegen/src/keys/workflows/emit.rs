//! Workflows as constants, and their states, events and effects as enums, so that an implementation must have an answer to each.

use indexmap::IndexMap;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use serde_json::Value;
use tabellion_runtime::spec::{self, StateKind, TransitionSpec};

use super::read::Workflow;
use crate::{
    keys::Emitted,
    leak::{self, exact, list, texts},
    names,
    rust::{
        literal,
        text::{self, Texts},
    },
};

/// Returns the static of a workflow.
fn constant(id: &str) -> Ident {
    format_ident!("WORKFLOW_{}", names::constant(id))
}

/// Returns the static of one of a workflow's schemas, and a reference to it.
fn schema(
    id: &str,
    what: &str,
    documentation: &str,
    schema: Option<&Value>,
    texts: &mut Texts,
) -> (Option<TokenStream>, TokenStream) {
    let name = format_ident!("{}_{what}", names::constant(id));
    let declared = schema.map(|schema| {
        let schema = texts.keep(name.to_string().to_lowercase(), schema.clone());
        quote! {
            #[doc = #documentation]
            static #name: Schema = Schema::exact(#schema);
        }
    });
    let reference = text::optional(declared.as_ref().map(|_| quote!(&#name)));
    (declared, reference)
}

pub(super) fn contract(workflows: &IndexMap<&'static str, Workflow>) -> Emitted {
    if workflows.is_empty() {
        return Emitted::default();
    }
    let constants = workflows.keys().map(|id| constant(id));
    let mut texts = Texts::default();
    Emitted {
        fields: quote!(workflows: &[#(&#constants),*],),
        items: workflows.iter().map(|(id, workflow)| declaration(id, workflow, &mut texts)).collect(),
        types: workflows.iter().flat_map(|(id, workflow)| enums(id, workflow)).collect(),
        texts,
        ..Emitted::default()
    }
}

fn declaration(id: &'static str, workflow: &Workflow, texts: &mut Texts) -> TokenStream {
    let constant = constant(id);
    let docs = text::docs(&format!("{}\n\n{}", workflow.description, workflow.transition_table()));
    let (parameters_schema, parameters) = schema(
        id,
        "PARAMETERS",
        " Schema of the parameters of a request that starts one.",
        workflow.parameters.as_ref(),
        texts,
    );
    let (takes_schema, takes) =
        schema(id, "TAKES", " Schema of the data that a decision may have.", workflow.takes.as_ref(), texts);
    let table = table(id, workflow);
    let table = literal::with_fields(&table, &[("parameters", parameters), ("takes", takes)]);
    quote! {
        #parameters_schema
        #takes_schema
        #docs
        pub static #constant: spec::WorkflowSpec = #table;
    }
}

/// Returns the table of a workflow, without its schemas.
fn table(id: &'static str, workflow: &Workflow) -> spec::WorkflowSpec {
    let states = workflow.states.iter().map(|(name, kind)| spec::StateSpec { name, kind: *kind });
    spec::WorkflowSpec {
        id,
        name: workflow.name,
        version: workflow.version,
        description: workflow.description,
        starts: workflow.starts,
        gates: texts(&workflow.gates),
        parameters: None,
        takes: None,
        initial: workflow.initial,
        states: list(states),
        transitions: list(workflow.transitions.iter().copied()),
    }
}

impl Workflow {
    /// Returns a table of the transitions in Markdown, without a line ending at its end.
    pub fn transition_table(&self) -> String {
        let mut table = String::from("| from | on | to | by | also |\n|---|---|---|---|---|");
        for transition in &self.transitions {
            for from in transition.from {
                let by = self.states.get(*from).map(|state| by_whom(transition, *state));
                let (by, effect) = (by.unwrap_or_default(), transition.effect.unwrap_or_default());
                table += &format!("\n| {from} | {} | {} | {by} | {effect} |", transition.on, transition.to);
            }
        }
        table
    }
}

/// Returns the roles and the tool that can make a transition from a state, for people.
fn by_whom(transition: &TransitionSpec, state: StateKind) -> String {
    let roles = transition.roles_from(state);
    let roles = (!roles.is_empty()).then(|| roles.join(" or "));
    let barred = transition.bars_author(state).then(|| "not the author".to_owned());
    let tool = transition.by.map(|tool| format!("a call of `{tool}`"));
    let all: Vec<_> = [roles, barred, tool].into_iter().flatten().collect();
    all.join(", ")
}

/// Returns the names of the enums of states, events and effects.
pub(crate) fn type_names(id: &str) -> [String; 3] {
    ["State", "Event", "Effect"].map(|suffix| names::suffixed(id, suffix))
}

fn enums(id: &str, workflow: &Workflow) -> Vec<TokenStream> {
    let states = workflow.states.keys().copied().collect();
    let all = [("state", states), ("event", workflow.events()), ("effect", workflow.effects())];
    let named = type_names(id).into_iter().zip(all).filter(|(_, (_, words))| !words.is_empty());
    named
        .map(|(name, (what, words))| {
            let docs = text::docs(&format!("The {what}s of workflow `{id}`."));
            words_enum(&text::ident(&name), &docs, what, &words)
        })
        .collect()
}

fn words_enum(name: &Ident, docs: &TokenStream, what: &str, words: &[&str]) -> TokenStream {
    let variants: Vec<_> = words.iter().map(|word| text::ident(&names::type_name(word))).collect();
    let parse = text::docs(&format!("Returns the {what} of that name."));
    quote! {
        #docs
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum #name { #(#variants),* }

        impl #name {
            /// Returns its name in the contract.
            pub fn as_str(self) -> &'static str {
                match self { #(Self::#variants => #words),* }
            }

            #parse
            pub fn parse(name: &str) -> Option<Self> {
                match name { #(#words => Some(Self::#variants),)* _ => None }
            }
        }
    }
}

pub(super) fn fill(workflows: &IndexMap<&'static str, Workflow>, table: &mut spec::ContractSpec) {
    table.workflows = list(workflows.iter().map(|(id, workflow)| {
        leak::constant(spec::WorkflowSpec {
            parameters: workflow.parameters.as_ref().map(exact),
            takes: workflow.takes.as_ref().map(exact),
            ..self::table(id, workflow)
        })
    }));
}
