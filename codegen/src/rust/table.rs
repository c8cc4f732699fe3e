//! `CONTRACT` and `TOOLS`: what a contract says of itself, as constants.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};

use super::text;
use crate::{
    contract::{Contract, Effect, ErrorChannel, Example, Side, Tool},
    names, views,
};

/// The statics, and the schemas that they lean on.
pub(super) fn items(contract: &Contract) -> Vec<TokenStream> {
    let tools = contract.tools.iter().map(tool);
    let count = Literal::usize_unsuffixed(contract.tools.len());
    let schemas = contract
        .tools
        .iter()
        .flat_map(|tool| Side::ALL.map(|side| texts(tool, side)));
    let names = contract.tools.iter().map(|tool| {
        let (constant, name) = (format_ident!("{}", constant_name(tool)), &tool.spec.name);
        quote!(pub const #constant: &str = #name;)
    });
    vec![
        self::contract(contract),
        quote! {
            /// The tools' names, for callers.
            pub mod tool {
                #(#names)*
            }
        },
        quote! {
            /// The tools, in the order in which clients see them.
            pub static TOOLS: [ToolSpec; #count] = [#(#tools),*];
        },
        quote! {
            /// The schemas of requests and responses: as clients see them, and as they are enforced where that is more.
            mod schema {
                #(#schemas)*
            }
        },
    ]
}

fn contract(contract: &Contract) -> TokenStream {
    let spec = &contract.spec;
    let (id, version, title) = (&spec.contract, &spec.version, &spec.title);
    let channel = match spec.error_channel {
        ErrorChannel::Result => quote!(Result),
        ErrorChannel::JsonRpc => quote!(JsonRpc),
    };
    let guarantees = spec.guarantees.iter().map(|guarantee| {
        let (id, text) = (&guarantee.id, &guarantee.text);
        quote!(Guarantee { id: #id, text: #text })
    });
    let previews = spec.previews.iter().map(|pair| {
        let (preview, diff, applies) = (&pair.preview, &pair.diff, &pair.applies);
        quote!(PreviewPair { preview: #preview, diff: #diff, applies: #applies })
    });
    let log = spec.log.as_ref().map(|log| {
        let (tool, entries, path, commit) = (&log.tool, &log.entries, &log.path, &log.commit);
        quote!(LogSpec { tool: #tool, entries: #entries, path: #path, commit: #commit })
    });
    let log = optional(log);
    quote! {
        /// What the contract says of itself.
        pub static CONTRACT: ContractSpec = ContractSpec {
            id: #id,
            version: #version,
            title: #title,
            error_channel: ErrorChannel::#channel,
            errors: &ERRORS,
            guarantees: &[#(#guarantees),*],
            previews: &[#(#previews),*],
            log: #log,
            tools: &TOOLS,
        };
    }
}

fn tool(tool: &Tool) -> TokenStream {
    let spec = &tool.spec;
    let (name, description, mutating, errors) = (&spec.name, &spec.description, spec.mutating, &spec.errors);
    let hints = spec.annotations;
    let (read_only, destructive) = (hints.read_only, hints.destructive);
    let (idempotent, open_world) = (hints.idempotent, hints.open_world);
    let path = optional(spec.path.as_ref());
    let commit = optional(spec.commit.as_ref());
    let effects = spec.effects.iter().map(effect);
    let [input, output] = Side::ALL.map(|side| shape(tool, side));
    let examples = spec.examples.iter().filter_map(example);
    quote! {
        ToolSpec {
            name: #name,
            description: #description,
            annotations: Annotations {
                read_only: #read_only,
                destructive: #destructive,
                idempotent: #idempotent,
                open_world: #open_world,
            },
            mutating: #mutating,
            path: #path,
            commit: #commit,
            errors: &[#(#errors),*],
            effects: &[#(#effects),*],
            input: #input,
            output: #output,
            examples: &[#(#examples),*],
        }
    }
}

fn effect(effect: &Effect) -> TokenStream {
    let kind = format_ident!("{}", effect.kind.words().1);
    let when = optional(effect.when.as_ref().map(|when| {
        let (at, is) = (&when.at, &when.is);
        quote!(When { at: #at, is: #is })
    }));
    let content = optional(effect.content.as_ref());
    let target = optional(effect.target.as_ref());
    quote!(Effect { kind: EffectKind::#kind, when: #when, content: #content, target: #target })
}

/// An example of a request; those of responses are judged when code is generated, and nobody asks for them later.
fn example(example: &Example) -> Option<TokenStream> {
    let (name, json, valid) = (&example.name, text::json(example.input.as_ref()?), example.valid);
    let (at, rule) = (optional(example.at.as_ref()), optional(example.rule.as_ref()));
    Some(quote!(Example { name: #name, json: #json, valid: #valid, at: #at, rule: #rule }))
}

fn shape(tool: &Tool, side: Side) -> TokenStream {
    let (wire, enforced) = constants(tool, side);
    let enforced = if enforces_more(tool, side) {
        enforced
    } else {
        wire.clone()
    };
    let rules = views::rules(tool.schema(side));
    let rules = rules.iter().map(|rule| {
        let (at, id, message) = (&rule.enforced, &rule.id, &rule.message);
        quote!(Rule { at: #at, id: #id, message: #message })
    });
    quote!(Shape::new(schema::#wire, schema::#enforced, &[#(#rules),*]))
}

fn texts(tool: &Tool, side: Side) -> TokenStream {
    let (wire_name, enforced_name) = constants(tool, side);
    let wire = text::json(&views::wire(tool.schema(side)));
    let enforced = enforces_more(tool, side).then(|| {
        let enforced = text::json(&views::enforced(tool.schema(side)));
        quote!(pub(super) const #enforced_name: &str = #enforced;)
    });
    quote! {
        pub(super) const #wire_name: &str = #wire;
        #enforced
    }
}

fn enforces_more(tool: &Tool, side: Side) -> bool {
    let schema = tool.schema(side);
    views::enforced(schema) != views::bare(&views::wire(schema))
}

/// The names of the two texts of a schema.
fn constants(tool: &Tool, side: Side) -> (Ident, Ident) {
    let direction = match side {
        Side::Input => "INPUT",
        Side::Output => "OUTPUT",
    };
    let name = format!("{}_{direction}", constant_name(tool));
    (format_ident!("{name}"), format_ident!("{name}_ENFORCED"))
}

fn constant_name(tool: &Tool) -> String {
    names::value_name(&tool.spec.name)
        .trim_end_matches('_')
        .to_uppercase()
}

fn optional(value: Option<impl quote::ToTokens>) -> TokenStream {
    match value {
        Some(value) => quote!(Some(#value)),
        None => quote!(None),
    }
}
