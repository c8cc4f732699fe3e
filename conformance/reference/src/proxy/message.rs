//! Calls and their answers.

use serde_json::{Map, Value, json};

/// Names of the number of all entries, of which a list has some.
pub(super) const TOTALS: [&str; 2] = ["total", "total_results"];

/// A call of a tool.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
}

/// An answer to a call: the whole message.
pub(super) struct Reply(pub(super) Value);

impl Call {
    /// Returns an argument that is a text; empty if there is none.
    pub(super) fn text(&self, name: &str) -> &str {
        self.arguments.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns an argument that is a natural number; 0 if there is none.
    pub(super) fn number(&self, name: &str) -> u64 {
        self.arguments.get(name).and_then(Value::as_u64).unwrap_or_default()
    }

    pub(super) fn is(&self, tool: &str, action: &str) -> bool {
        self.tool == tool && self.text("action") == action
    }

    /// Returns an argument that is a list.
    pub(super) fn list(&self, name: &str) -> &[Value] {
        self.arguments.get(name).and_then(Value::as_array).map_or(&[], |list| list)
    }

    /// Returns the data to store.
    pub(super) fn data(&mut self) -> &mut Map<String, Value> {
        let data = self.arguments.entry("data").or_insert_with(|| json!({}));
        data.as_object_mut().expect("the data to store is an object")
    }

    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.arguments.insert(name.to_owned(), value.into());
        self
    }

    pub(super) fn without(mut self, names: &[&str]) -> Self {
        self.arguments.retain(|name, _| !names.contains(&&**name));
        self
    }

    /// Returns the limit of an answer, or all.
    pub(super) fn limit(&self) -> usize {
        let limit = self.arguments.get("limit").and_then(Value::as_u64).unwrap_or(10);
        usize::try_from(limit).unwrap_or(usize::MAX)
    }
}

impl Reply {
    /// Returns the response; `None` if the call was refused.
    pub(super) fn response(&mut self) -> Option<&mut Map<String, Value>> {
        if self.0["result"]["isError"] == true {
            return None;
        }
        let response = self.0.pointer_mut("/result/structuredContent")?;
        response.as_object_mut()
    }

    /// Returns true if the call was refused.
    pub(super) fn is_refused(&self) -> bool {
        self.0.get("error").is_some() || self.0["result"]["isError"] == true
    }

    /// Returns the details of an error; `null` if the call was not refused.
    pub(super) fn details(&self) -> &Value {
        &self.0["result"]["structuredContent"]["error"]["details"]
    }

    /// Returns the reason of an error; empty if the call was not refused.
    pub(super) fn reason(&self) -> &str {
        self.details()["reason"].as_str().unwrap_or_default()
    }

    /// Returns a list of the response; empty if it has none of that name.
    pub(super) fn list(&self, name: &str) -> &[Value] {
        let list = self.0["result"]["structuredContent"][name].as_array();
        list.map_or(&[], |list| list)
    }

    /// Replaces a member of the response.
    pub(super) fn set(mut self, name: &str, value: impl Into<Value>) -> Self {
        if let Some(response) = self.response() {
            response.insert(name.to_owned(), value.into());
        }
        self
    }

    /// Replaces a member of the response, if it is there.
    pub(super) fn reset(self, name: &str, value: impl Into<Value>) -> Self {
        if self.0["result"]["structuredContent"].get(name).is_some() { self.set(name, value) } else { self }
    }

    /// Changes a list of the response, if it has one of that name, and the numbers of its entries.
    pub(super) fn edit(mut self, name: &str, change: impl FnOnce(&mut Vec<Value>)) -> Self {
        let Some(response) = self.response() else {
            return self;
        };
        let Some(list) = response.get_mut(name).and_then(Value::as_array_mut) else {
            return self;
        };
        let before = list.len();
        change(list);
        let after = list.len();
        TOTALS.iter().fold(self.reset("count", after), |reply, name| {
            let total = reply.0["result"]["structuredContent"][name].as_u64();
            let total = usize::try_from(total.unwrap_or_default()).unwrap_or(usize::MAX);
            reply.reset(name, (total + after).saturating_sub(before))
        })
    }

    /// Changes each entry of a list of the response.
    pub(super) fn each(self, name: &str, mut change: impl FnMut(&mut Value)) -> Self {
        self.edit(name, |list| list.iter_mut().for_each(&mut change))
    }

    /// Leaves entries out of a list of the response.
    pub(super) fn retain(self, name: &str, keeps: impl FnMut(&Value) -> bool) -> Self {
        self.edit(name, |list| list.retain(keeps))
    }

    /// Repeats the response as text, as servers do for clients that read no structured content.
    pub(super) fn restate(&mut self) {
        if let Some(response) = self.response() {
            let text = Value::from(response.clone()).to_string();
            self.0["result"]["content"] = json!([{ "type": "text", "text": text }]);
        }
    }
}

/// Returns the id of a note in a response.
pub(super) fn id(entry: &Value) -> &Value {
    let names = ["id", "observation_id", "summary_id", "note_id"];
    let named = names.iter().find_map(|name| entry.get(*name));
    named.unwrap_or(&Value::Null)
}
