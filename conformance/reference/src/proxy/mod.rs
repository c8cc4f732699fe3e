//! A proxy: a process between the suite and a correct server, which changes calls, answers or files.
//!
//! The correct server is any program that serves the contract over standard input and output. Messages pass in turn: the next request
//! is read once the last one is answered. Without a mutant, each passes as it is.

mod board;
mod code;
mod database;
mod disk;
mod entries;
mod memory;
mod message;
mod notes;
mod operations;
mod origin;
mod record;
mod rest;
mod rows;
mod sections;
mod server;

use std::{
    io::{self, BufRead as _},
    process::Command,
};

use serde_json::Value;
use tabellion_contracts::{learning_os, safe_markdown_editor};

use self::{
    message::Call,
    server::{Proxy, data_folder, print},
};
use crate::mutant::{self, Mutant};

pub use notes::decide;
pub use rest::serve_at;
pub(crate) use {
    board::CONTRACT as BULLETIN,
    operations::CONTRACT as DESK,
    rest::{CLOCK_OFFSET, role_headers},
    rows::CONTRACT as TRACKER,
};

/// Serves with the server that `command` starts until the input ends.
pub fn serve(command: &[String]) -> io::Result<()> {
    let (program, arguments) =
        command.split_first().ok_or_else(|| io::Error::other("name the correct server after `--`"))?;
    rows::drop_torn_file(&data_folder(command))?;
    let mut server = Command::new(program);
    origin::set_mode(&mut server, &board::with_role(arguments));
    server.args(code::more_arguments());
    let mut proxy = Proxy::start(command, server)?;
    for line in io::stdin().lock().lines() {
        let message = serde_json::from_str(&line?)?;
        if let Some(answer) = answer(&mut proxy, message)? {
            print(&answer)?;
            proxy.after_answer.take().map_or(Ok(()), |rest| rest())?;
        }
    }
    proxy.end()
}

/// Returns the answer to a message; `None` if it is a notification.
fn answer(proxy: &mut Proxy, message: Value) -> io::Result<Option<Value>> {
    if message["id"].is_null() {
        proxy.notify(&message)?;
        return Ok(None);
    }
    let Some(mutant) = mutant::current() else {
        return proxy.exchange(&message).map(Some);
    };
    if message["method"] == "resources/read" {
        return read(mutant, &message, proxy).map(Some);
    }
    if message["method"] == "tools/list" && mutant == Mutant::HidesTools {
        let answer = proxy.exchange(&message)?;
        return Ok(Some(origin::hide_tools(proxy, answer)));
    }
    if message["method"] != "tools/call" {
        return proxy.exchange(&message).map(Some);
    }
    let params = &message["params"];
    let call = Call {
        tool: params["name"].as_str().unwrap_or_default().to_owned(),
        arguments: params["arguments"].as_object().cloned().unwrap_or_default(),
    };
    proxy.request = message;
    let mut answer = if let Some(answer) = database::answer(mutant, &call, proxy)? {
        answer
    } else if let Some(answer) = origin::answer(mutant, &call, proxy)? {
        answer
    } else {
        match &*call.tool {
            "memory" => memory::answer(mutant, call, proxy)?,
            "search" if call.text("resource") != "code" => memory::answer(mutant, call, proxy)?,
            "track" => rows::answer(mutant, call, proxy)?,
            "search" | "index" | "vcs" | "validate" => code::answer(mutant, call, proxy)?,
            name if learning_os::CONTRACT.tool(name).is_some() => entries::answer(mutant, call, proxy)?,
            name if safe_markdown_editor::CONTRACT.tool(name).is_some() => {
                sections::answer(mutant, call, proxy)?
            }
            name if BULLETIN.tool(name).is_some() => board::answer(mutant, call, proxy)?,
            name => match DESK.tool(name) {
                Some(tool) => operations::answer(mutant, tool, &call, proxy)?,
                None => notes::answer(mutant, call, proxy)?,
            },
        }
    };
    answer.0["id"] = proxy.request["id"].clone();
    answer.restate();
    Ok(Some(answer.0))
}

/// Answers a request for a resource as the mutant does: some entries of a list are missing.
fn read(mutant: Mutant, request: &Value, proxy: &mut Proxy) -> io::Result<Value> {
    let mut answer = proxy.exchange(request)?;
    let uri = request["params"]["uri"].as_str().unwrap_or_default();
    let (list, change): (_, fn(&mut Vec<Value>)) = match mutant {
        Mutant::ForgetsVersions if uri.ends_with("/versions") => ("versions", |all| all.truncate(1)),
        Mutant::UndoIsNotLogged if uri.ends_with("/history") => {
            ("history", |all| all.retain(|entry| entry["operation"] != safe_markdown_editor::tool::UNDO))
        }
        _ => return Ok(answer),
    };
    let text = &mut answer["result"]["contents"][0]["text"];
    let mut resource: Value = serde_json::from_str(text.as_str().unwrap_or_default())?;
    if let Some(entries) = resource[list].as_array_mut() {
        change(entries);
    }
    *text = resource.to_string().into();
    Ok(answer)
}
