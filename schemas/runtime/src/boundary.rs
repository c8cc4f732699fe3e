//! The boundary between JSON and a tool's typed method: arguments on the way in, responses and errors on the way out.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    answer::Rejection,
    failure::{ContractError, ErrorAnswer, Failure},
    schema::Violation,
    spec::ToolSpec,
};

/// Validates the arguments, checks their path against the policy, and decodes them.
pub(crate) fn decode<Request: DeserializeOwned, Error: ContractError>(
    tool: &'static ToolSpec,
    mut arguments: Value,
) -> Result<Request, Rejection> {
    let invalid = |violations: Vec<Violation>| failed::<Error>(tool, Failure::violations(&violations));
    tool.input.check(&arguments).map_err(invalid)?;
    if let (Some(policy), Some(path)) = (tool.paths, tool.path_of(&arguments)) {
        policy
            .judge(&path)
            .map_err(|failure| failed::<Error>(tool, failure))?;
    }
    fold_integral(&mut arguments);
    Request::deserialize(arguments)
        .map_err(|error| Rejection::breach(tool.name, format!("valid arguments do not decode: {error}")))
}

/// Encodes a response and validates it.
pub(crate) fn encode(tool: &'static ToolSpec, response: impl Serialize) -> Result<Value, Rejection> {
    let value = serde_json::to_value(response).map_err(|error| Rejection::breach(tool.name, error))?;
    match tool.output.check(&value) {
        Ok(()) => Ok(value),
        Err(violations) => Err(Rejection::breach(tool.name, Failure::violations(&violations))),
    }
}

/// Returns the rejection for a failure of the runtime or the store.
pub(crate) fn failed<Error: ContractError>(tool: &'static ToolSpec, failure: Failure) -> Rejection {
    declared(tool, Error::from(failure).answer())
}

/// Returns the rejection for an error that a method answered with. One that the tool does not declare is a breach.
pub(crate) fn declared(tool: &'static ToolSpec, error: ErrorAnswer) -> Rejection {
    if tool.errors.contains(&error.name) {
        return Rejection::Declared(error);
    }
    let detail = format!("undeclared error {}: {}", error.name, error.message);
    Rejection::breach(tool.name, detail)
}

/// Makes integral floats integers: JSON Schema calls 10.0 an integer, serde does not.
fn fold_integral(value: &mut Value) {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(float) = number
                .as_f64()
                .filter(|float| float.fract() == 0.0 && float.abs() < EXACT)
            {
                *value = (float as i64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(fold_integral),
        Value::Object(members) => members.values_mut().for_each(fold_integral),
        _ => {}
    }
}
