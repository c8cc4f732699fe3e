// An authorization server on this machine: npm's `oidc-provider`, and a person who consents to all that is asked.
//
//     node authority.mjs PACKAGE PORT
//
// PACKAGE is the folder that npm has made. Once it listens, prints the secrets of the clients that need no person, as JSON. Each
// start makes new keys, and knows nothing of what was before. Ends when its standard input does.

import { generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, port] = process.argv.slice(2);
const { default: Provider } = await import(pathToFileURL(join(resolve(folder), "lib/index.js")));

const PERSON = "Ada";
// Tokens of this client are too old when it gets them.
const LATE = "late";
const secrets = { robot: randomUUID(), [LATE]: randomUUID() };

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const key = { ...privateKey.export({ format: "jwk" }), alg: "RS256", kid: randomUUID(), use: "sig" };

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: Object.entries(secrets).map(([client_id, client_secret]) => ({
    client_id,
    client_secret,
    grant_types: ["client_credentials"],
    redirect_uris: [],
    response_types: [],
  })),
  cookies: { keys: [randomUUID()] },
  // Clients register for the scope that they are asked for first. They are not held to it.
  extraClientMetadata: { properties: ["software_id"], validator: (_, __, ___, client) => delete client.scope },
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: () => ({ accessTokenFormat: "jwt", scope: "read write" }),
    },
  },
  findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
  formats: {
    customizers: {
      jwt(_, { clientId }, { payload }) {
        if (clientId === LATE) {
          payload.exp = payload.iat - 60;
        }
      },
    },
  },
  interactions: { url: (_, { uid }) => `/consent/${uid}` },
  jwks: { keys: [key] },
  scopes: ["openid", "offline_access", "read", "write"],
});

// What a person does at the pages that they are shown: logs in, and consents.
async function consent(request, response) {
  const { params } = await provider.interactionDetails(request, response);
  const grant = new provider.Grant({ accountId: PERSON, clientId: params.client_id });
  grant.addOIDCScope(params.scope);
  grant.addResourceScope(params.resource, params.scope);
  const consent = { grantId: await grant.save() };
  await provider.interactionFinished(request, response, { login: { accountId: PERSON }, consent });
}

const answer = provider.callback();
const server = createServer((request, response) => {
  if (!request.url.startsWith("/consent/")) {
    return answer(request, response);
  }
  consent(request, response).catch((error) => response.writeHead(500).end(String(error)));
});
server.listen(Number(port), "127.0.0.1", () => console.log(JSON.stringify(secrets)));
process.stdin.resume().on("end", () => process.exit());
