//! Gates as constants.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use serde_json::Value;
use tabellion_runtime::spec;

use super::read::{Clause, Gate, GateExample};
use crate::{
    contract::{Contract, Tool},
    keys::{Emitted, EmittedTool, auth::of_operation, key::NO_SCHEMA},
    leak::{self, exact, list, texts, written},
    names,
    rust::{
        literal,
        text::{self, Texts},
    },
    views,
};

/// Returns the static of a gate.
fn constant(gate: &str) -> Ident {
    format_ident!("GATE_{}", names::constant(gate))
}

/// Returns the static of a clause's schema.
fn schema(gate: &str, clause: &Clause) -> Ident {
    format_ident!("{}_{}", names::constant(gate), names::constant(clause.id))
}

/// Returns the enforced schema of a clause.
fn enforced(clause: &Clause) -> Value {
    views::bare(&clause.schema)
}

/// Returns the documents of an example as JSON.
fn documents(example: &GateExample) -> Option<Value> {
    let documents = example.documents.as_ref()?.iter();
    let documents = documents.map(|(path, text)| ((*path).to_owned(), Value::from(*text)));
    Some(Value::Object(documents.collect()))
}

pub(super) fn contract(contract: &Contract) -> Emitted {
    let gates = &contract.spec.gates;
    if gates.is_empty() {
        return Emitted::default();
    }
    let constants = gates.keys().map(|gate| constant(gate));
    let mut texts = Texts::default();
    let mut schemas = vec![];
    for (gate, it) in gates {
        for clause in &it.clauses {
            let name = schema(gate, clause);
            let text = texts.keep(text_name(&name), enforced(clause));
            schemas.push(quote!(pub(super) static #name: Schema = Schema::exact(#text);));
        }
    }
    let mut items = vec![quote! {
        /// What the facts of calls must satisfy, by gate and clause.
        mod clause {
            use super::{Schema, TEXTS};
            #(#schemas)*
        }
    }];
    items.extend(gates.iter().map(|(name, gate)| self::gate(name, gate, &mut texts)));
    let members = contract.spec.gate_members.map(|members| {
        let members = literal::expression(&members);
        quote!(gate_members: #members,)
    });
    Emitted { texts, fields: quote!(gates: &[#(&#constants),*], #members), items, ..Emitted::default() }
}

/// Returns the name of a clause's schema in the file of texts.
fn text_name(constant: &Ident) -> String {
    format!("gate_{}", constant.to_string().to_lowercase())
}

fn gate(name: &str, gate: &Gate, texts: &mut Texts) -> TokenStream {
    let constant = constant(name);
    let docs = gate.description.unwrap_or(name);
    let docs = text::docs(docs);
    let clauses = gate.clauses.iter().map(|clause| self::clause(name, clause, texts));
    let clauses: Vec<_> = clauses.collect();
    quote! {
        #docs
        pub static #constant: spec::GateSpec = spec::GateSpec { name: #name, clauses: &[#(#clauses),*] };
    }
}

fn clause(gate: &str, clause: &Clause, texts: &mut Texts) -> TokenStream {
    let schema = schema(gate, clause);
    let examples = clause.examples.iter().enumerate().map(|(i, example)| {
        let (name, breaks) = (&example.name, example.breaks);
        let base = format!("{}_{i}", text_name(&schema));
        let json = texts.keep(format!("{base}_facts"), example.facts.clone());
        let documents = documents(example);
        let documents = documents.map(|it| texts.keep(format!("{base}_documents"), it));
        let documents = text::optional(documents);
        quote!(spec::GateExample { name: #name, json: #json, breaks: #breaks, documents: #documents })
    });
    let examples: Vec<_> = examples.collect();
    let given = [("schema", quote!(&clause::#schema)), ("examples", quote!(&[#(#examples),*]))];
    literal::with_fields(&table(clause), &given)
}

/// Returns the table of a clause, without its schema and its examples.
fn table(clause: &Clause) -> spec::ClauseSpec {
    spec::ClauseSpec {
        id: clause.id,
        tools: texts(&clause.tools),
        at: clause.at,
        asks: clause.asks,
        severity: clause.severity,
        issue: clause.issue,
        actionable: clause.actionable,
        schema: &NO_SCHEMA,
        examples: &[],
    }
}

pub(super) fn tool(tool: &Tool) -> EmittedTool {
    let gates = of_operation(tool, &tool.spec.gates);
    if gates.is_empty() {
        return EmittedTool::default();
    }
    let gates = gates.iter().map(|gate| constant(gate));
    EmittedTool::fields(quote!(gates: &[#(&#gates),*],))
}

pub(super) fn fill(contract: &Contract, table: &mut spec::ContractSpec) {
    table.gate_members = contract.spec.gate_members.unwrap_or(spec::GateMembers::USUAL);
    table.gates = list(contract.spec.gates.iter().map(|(name, gate)| leaked_gate(name, gate)));
}

pub(super) fn fill_tool(tool: &Tool, entry: &mut spec::ToolSpec) {
    let gates = of_operation(tool, &tool.spec.gates);
    let passed = gates.iter().filter_map(|gate| Some((gate, tool.spec.passed.get(gate)?)));
    entry.gates = list(passed.map(|(name, gate)| leaked_gate(name, gate)));
}

fn leaked_gate(name: &'static str, gate: &Gate) -> &'static spec::GateSpec {
    let clauses = gate.clauses.iter().map(|clause| spec::ClauseSpec {
        schema: exact(&enforced(clause)),
        examples: list(clause.examples.iter().map(|example| spec::GateExample {
            name: example.name,
            json: written(&example.facts),
            breaks: example.breaks,
            documents: documents(example).map(|documents| written(&documents)),
        })),
        ..table(clause)
    });
    leak::constant(spec::GateSpec { name, clauses: list(clauses) })
}
