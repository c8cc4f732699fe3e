//! The least that a server over stdio can do: a loop over lines that reads the file that a call names. What it promises
//! is nothing; benchmarks measure servers beside it.

use std::{
    env, fs,
    io::{self, BufRead, Write},
    path::PathBuf,
};

use serde_json::{Value, json};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::args_os().nth(1).expect("the folder to read from"));
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        if request.get("id").is_none() {
            continue;
        }
        let result = match request["method"].as_str() {
            Some("tools/call") => {
                let path = request["params"]["arguments"]["path"].as_str().unwrap_or_default();
                let content = fs::read_to_string(root.join(path))?;
                json!({ "content": [], "structuredContent": { "path": path, "content": content } })
            }
            _ => json!({ "tools": [] }),
        };
        let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}
