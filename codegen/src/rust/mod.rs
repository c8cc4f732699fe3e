//! Last pass: the text of a Rust module.

mod errors;
mod fields;
mod imports;
mod layout;
pub(crate) mod literal;
pub(crate) mod schemas;
mod service;
mod table;
mod tables;
pub(crate) mod text;
mod tidy;
mod types;
mod union;

pub(crate) use imports::may_import;
use quote::{format_ident, quote};
pub(crate) use table::tool as table_entry;

use self::text::Texts;
use crate::{contract::Contract, files::HEAD, keys::KEYS, names, problem::Problem, types::Types};

/// Returns the texts of `src/generated/<module>.rs`, which `command` writes from the folder `from`, and of the `.json` beside it.
pub(crate) fn module(
    contract: &Contract,
    types: &Types,
    from: &str,
    command: &str,
) -> Result<[String; 2], Problem> {
    let spec = &contract.spec;
    let trait_name = format_ident!("{}", spec.rust.trait_name);
    let types = types::items(types).map_err(|message| {
        contract.document.problem(
            "/tools",
            format!("typify can't make the types: {message}"),
            "this is a gap in the lints of tabellion-codegen; please report the contract",
        )
    })?;
    let mut keys: Vec<_> = KEYS.iter().map(|key| key.emit(contract)).collect();
    let mut texts = Texts::default();
    for key in &mut keys {
        texts.extend(std::mem::take(&mut key.texts));
    }
    let mut items = service::traits(contract, &trait_name, &keys);
    items.extend(errors::items(contract));
    items.extend(service::items(contract, &trait_name, &keys));
    items.extend(types);
    items.extend(keys.iter().flat_map(|key| key.types.clone()));
    items.extend(table::items(contract, &keys, &mut texts));
    items.insert(0, imports::of(&items));

    let mut docs = format!(
        "{}, {} {}.",
        spec.title.trim_end_matches('.'),
        spec.contract,
        spec.version
    );
    if let Some(description) = &spec.description {
        docs = format!("{docs}\n\n{description}");
    }
    let docs = text::inner_docs(&docs);
    let head = quote! {
        #docs
        #![allow(missing_docs, unreachable_pub, dead_code, rustdoc::all, clippy::all, reason = "names are the contract's, and a program may leave a part unused")]
    };
    let parse = |tokens| {
        syn::parse2::<syn::File>(tokens).map_err(|error| {
            contract.document.problem(
                "",
                format!("the generated code does not parse: {error}"),
                "this is a defect of tabellion-codegen; please report the contract",
            )
        })
    };
    let mut files = vec![parse(head)?];
    for item in items {
        files.push(parse(item)?);
    }
    let code = format!(
        "{HEAD}{command}` from {from}. Do not edit: change the contract and run it again.\n\
         // {id} {version}, sha256:{digest}\n{code}",
        id = spec.contract,
        version = spec.version,
        digest = contract.digest,
        code = layout::file(&files),
    );
    Ok([code, texts.file()])
}

/// Returns the text of `src/generated/mod.rs`.
pub(crate) fn index(contracts: &[Contract], command: &str) -> String {
    let mut text = format!(
        "{HEAD}{command}`. Do not edit: change the contracts and run it again.\n\
         //! The contracts' generated code: one module each.\n"
    );
    let mut modules: Vec<_> = contracts
        .iter()
        .map(|contract| &contract.spec.rust.module)
        .collect();
    modules.sort();
    for module in &modules {
        text += &format!("\n#[rustfmt::skip]\npub mod {module};\n");
    }
    text += "\n/// All contracts, in the order of their modules.\n\
             #[rustfmt::skip]\n\
             #[allow(dead_code, unreachable_pub, reason = \"a program may leave a part unused\")]\n\
             pub static CONTRACTS: &[&tabellion_runtime::ContractSpec] = &[\n";
    for module in &modules {
        text += &format!("    &{module}::CONTRACT,\n");
    }
    text += "];\n";
    text
}

/// Returns the trait's method for a tool.
fn method(tool: &str) -> proc_macro2::Ident {
    format_ident!("{}", names::value_name(tool))
}
