//! The part of a client's introduction that its session keeps.

use rmcp::model::{ClientCapabilities, Implementation, InitializeRequestParams};
use tabellion_gateway::Client;

use super::app;

/// Returns the part of `initialize` that a session uses later.
pub(super) fn trim(params: InitializeRequestParams) -> InitializeRequestParams {
    let mut capabilities = ClientCapabilities::default();
    capabilities.extensions = app::declared(&params.capabilities);
    capabilities.elicitation = params.capabilities.elicitation;
    let Client { name, version } = Client::new(&params.client_info.name, &params.client_info.version);
    InitializeRequestParams::new(capabilities, Implementation::new(name, version))
        .with_protocol_version(params.protocol_version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const MAX_BYTES: usize = 256;

    #[test]
    fn a_session_keeps_little_of_a_client() {
        let long = "é".repeat(1 << 20);
        let many: Vec<_> = (0..1000).map(|_| json!({ "src": long.as_str()[..1000] })).collect();
        let told = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {
                "elicitation": { "form": {} },
                "experimental": { "x": { "y": long } },
                "extensions": { "x": { "y": long }, "io.modelcontextprotocol/ui": { "mimeTypes": [long] } },
            },
            "clientInfo": { "name": long, "version": long, "title": long, "websiteUrl": long, "icons": many },
            "_meta": { "x": long },
        });
        let params: InitializeRequestParams = serde_json::from_value(told).unwrap();
        let kept = serde_json::to_value(trim(params)).unwrap();
        let expected =
            json!({ "elicitation": { "form": {} }, "extensions": { "io.modelcontextprotocol/ui": {} } });
        assert_eq!(kept["capabilities"], expected);
        assert_eq!(kept["clientInfo"]["name"], "é".repeat(MAX_BYTES / 2));
        assert!(kept.to_string().len() < 3 * MAX_BYTES, "{kept}");
    }
}
