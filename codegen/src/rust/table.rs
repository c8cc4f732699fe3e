//! `CONTRACT` and `TOOLS`: what a contract says of itself, as constants.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};
use serde_json::Value;

use super::text;
use crate::{
    contract::{Contract, Effect, Example, Prompt, Resource, Side, Tool},
    names, views,
};

/// The statics, and the schemas that they lean on.
pub(super) fn items(contract: &Contract) -> Vec<TokenStream> {
    let tools = contract.tools.iter().map(tool);
    let count = Literal::usize_unsuffixed(contract.tools.len());
    let of_tools = contract
        .tools
        .iter()
        .flat_map(|tool| Side::ALL.map(|side| texts(&tool_constant(tool, side), tool.schema(side))));
    let of_resources = contract
        .spec
        .resources
        .iter()
        .map(|resource| texts(&resource_constant(resource), &resource.schema));
    let schemas = of_tools.chain(of_resources);
    let names = contract.tools.iter().map(|tool| {
        let (constant, name) = (
            format_ident!("{}", constant_name(&tool.spec.name)),
            &tool.spec.name,
        );
        quote!(pub const #constant: &str = #name;)
    });
    let mut items = vec![
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
    ];
    items.extend(others(contract));
    items.push(quote! {
            /// The schemas of requests and responses: as clients see them, and as they are enforced where that is more.
            mod schema {
                #(#schemas)*
            }
    });
    items
}

/// The limits, the resources and the prompts, where the contract has any.
fn others(contract: &Contract) -> Vec<TokenStream> {
    let (resources, prompts) = (&contract.spec.resources, &contract.spec.prompts);
    let limits = &contract.spec.rate_limits;
    let mut items = vec![];
    if !limits.is_empty() {
        let count = Literal::usize_unsuffixed(limits.len());
        let limits = limits.iter().map(|(name, limit)| {
            let (calls, seconds) = (
                Literal::u32_unsuffixed(limit.calls),
                Literal::u32_unsuffixed(limit.seconds),
            );
            quote!(RateLimit { name: #name, calls: NonZeroU32::new(#calls).unwrap(), seconds: #seconds })
        });
        items.push(quote! {
            /// How often tools may be called.
            pub static RATE_LIMITS: [RateLimit; #count] = [#(#limits),*];
        });
    }
    if !resources.is_empty() {
        let count = Literal::usize_unsuffixed(resources.len());
        let resources = resources.iter().map(resource);
        items.push(quote! {
            /// The resources, in the order in which clients see them.
            pub static RESOURCES: [ResourceSpec; #count] = [#(#resources),*];
        });
    }
    if !prompts.is_empty() {
        let count = Literal::usize_unsuffixed(prompts.len());
        let prompts = prompts.iter().map(prompt);
        items.push(quote! {
            /// The prompts, in the order in which clients see them.
            pub static PROMPTS: [PromptSpec; #count] = [#(#prompts),*];
        });
    }
    items
}

fn resource(resource: &Resource) -> TokenStream {
    let Resource {
        name,
        uri,
        title,
        description,
        mime_type,
        ..
    } = resource;
    let schema = schema(&resource_constant(resource), &resource.schema);
    quote! {
        ResourceSpec {
            name: #name,
            uri: #uri,
            title: #title,
            description: #description,
            mime_type: #mime_type,
            schema: #schema,
        }
    }
}

fn contract(contract: &Contract) -> TokenStream {
    let spec = &contract.spec;
    let (id, version, title, document) = (&spec.contract, &spec.version, &spec.title, spec.document);
    let channel = text::variant(spec.error_channel);
    let error_details = optional(spec.error_details.as_ref());
    let guarantees = spec.guarantees.iter().map(|guarantee| {
        let (id, text) = (&guarantee.id, &guarantee.text);
        let kind = optional(guarantee.kind.map(|kind| {
            let kind = text::variant(kind);
            quote!(GuaranteeKind::#kind)
        }));
        quote!(Guarantee { id: #id, kind: #kind, text: #text })
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
    let [rate_limits, resources, prompts] = [
        (spec.rate_limits.is_empty(), quote!(&RATE_LIMITS)),
        (spec.resources.is_empty(), quote!(&RESOURCES)),
        (spec.prompts.is_empty(), quote!(&PROMPTS)),
    ]
    .map(|(is_empty, table)| if is_empty { quote!(&[]) } else { table });
    quote! {
        /// What the contract says of itself.
        pub static CONTRACT: ContractSpec = ContractSpec {
            id: #id,
            version: #version,
            title: #title,
            document: #document,
            error_channel: ErrorChannel::#channel,
            error_details: #error_details,
            errors: &ERRORS,
            guarantees: &[#(#guarantees),*],
            previews: &[#(#previews),*],
            log: #log,
            rate_limits: #rate_limits,
            tools: &TOOLS,
            resources: #resources,
            prompts: #prompts,
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
    let path_in = optional(spec.path_in.as_ref());
    let paths = optional(spec.paths.as_ref().map(|paths| {
        let (allow, deny) = (&paths.allow, &paths.deny);
        quote!(PathPolicy { allow: &[#(#allow),*], deny: &[#(#deny),*] })
    }));
    let approval = optional(spec.approval.map(|approval| {
        let shows = text::variant(approval.shows);
        quote!(Approval { shows: Shows::#shows })
    }));
    let rate_limit = optional(spec.rate_limit.as_ref());
    let commit = optional(spec.commit.as_ref());
    let effects = spec.effects.iter().map(effect);
    let [input, output] = Side::ALL.map(|side| schema(&tool_constant(tool, side), tool.schema(side)));
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
            path_in: #path_in,
            paths: #paths,
            commit: #commit,
            approval: #approval,
            rate_limit: #rate_limit,
            errors: &[#(#errors),*],
            effects: &[#(#effects),*],
            input: #input,
            output: #output,
            examples: &[#(#examples),*],
        }
    }
}

fn prompt(prompt: &Prompt) -> TokenStream {
    let (name, description, template) = (&prompt.name, &prompt.description, &prompt.template);
    let arguments = prompt.arguments.iter().map(|argument| {
        let (name, description) = (&argument.name, &argument.description);
        let (required, completes) = (argument.required, argument.completes);
        quote!(ArgumentSpec { name: #name, description: #description, required: #required, completes: #completes })
    });
    quote! {
        PromptSpec {
            name: #name,
            description: #description,
            arguments: &[#(#arguments),*],
            template: #template,
        }
    }
}

fn effect(effect: &Effect) -> TokenStream {
    let kind = text::variant(effect.kind);
    let when = optional(effect.when.as_ref().map(|when| {
        let (at, is) = (&when.at, &when.is);
        quote!(When { at: #at, is: #is })
    }));
    let content = optional(effect.content.as_ref());
    let target = optional(effect.target.as_ref());
    let section = optional(effect.section.as_ref());
    let position = optional(effect.position.as_ref());
    quote! {
        Effect {
            kind: EffectKind::#kind,
            when: #when,
            content: #content,
            target: #target,
            section: #section,
            position: #position,
        }
    }
}

/// An example of a request; those of responses are judged when code is generated, and nobody asks for them later.
fn example(example: &Example) -> Option<TokenStream> {
    let (name, json, valid) = (&example.name, text::json(example.input.as_ref()?), example.valid);
    let (at, rule) = (optional(example.at.as_ref()), optional(example.rule.as_ref()));
    Some(quote!(Example { name: #name, json: #json, valid: #valid, at: #at, rule: #rule }))
}

fn schema(constant: &str, schema: &Value) -> TokenStream {
    let (wire, enforced) = texts_of(constant);
    let enforced = if enforces_more(schema) {
        enforced
    } else {
        wire.clone()
    };
    let rules = views::rules(schema);
    let rules = rules.iter().map(|rule| {
        let (at, id, message) = (&rule.enforced, &rule.id, &rule.message);
        quote!(Rule { at: #at, id: #id, message: #message })
    });
    quote!(Schema::new(schema::#wire, schema::#enforced, &[#(#rules),*]))
}

fn texts(constant: &str, schema: &Value) -> TokenStream {
    let (wire_name, enforced_name) = texts_of(constant);
    let wire = text::json(&views::wire(schema));
    let enforced = enforces_more(schema).then(|| {
        let enforced = text::json(&views::enforced(schema));
        quote!(pub(super) const #enforced_name: &str = #enforced;)
    });
    quote! {
        pub(super) const #wire_name: &str = #wire;
        #enforced
    }
}

fn enforces_more(schema: &Value) -> bool {
    views::enforced(schema) != views::bare(&views::wire(schema))
}

/// The names of the two texts of a schema.
fn texts_of(constant: &str) -> (Ident, Ident) {
    (format_ident!("{constant}"), format_ident!("{constant}_ENFORCED"))
}

fn tool_constant(tool: &Tool, side: Side) -> String {
    let direction = match side {
        Side::Input => "INPUT",
        Side::Output => "OUTPUT",
    };
    format!("{}_{direction}", constant_name(&tool.spec.name))
}

fn resource_constant(resource: &Resource) -> String {
    format!("{}_RESOURCE", constant_name(&resource.name))
}

fn constant_name(name: &str) -> String {
    names::value_name(name).trim_end_matches('_').to_uppercase()
}

fn optional(value: Option<impl quote::ToTokens>) -> TokenStream {
    match value {
        Some(value) => quote!(Some(#value)),
        None => quote!(None),
    }
}
