// A certified OpenID provider (oidc-provider) on this machine, for tests that log people in.
//
// The only argument is JSON: {port, tls: {key, cert}, clients, groupsIn, authMethods}. Its login page
// takes any password. `POST /control/keys` replaces its keys, as a provider that rotates does. The
// process ends when its stdin does, so that it never outlives its test.

import { generateKeyPairSync, randomUUID } from "node:crypto";
import http from "node:http";
import https from "node:https";

import { Provider } from "oidc-provider";

const options = JSON.parse(process.argv[2]);

const PEOPLE = {
  ann: { name: "Ann Example", email: "ann@example.org", groups: ["ops", "/team/a b"] },
  bob: { name: "Bob Example", email: "bob@example.org" },
};

function privateKey(kind, parameters) {
  const { privateKey } = generateKeyPairSync(kind, parameters);
  return { ...privateKey.export({ format: "jwk" }), kid: randomUUID(), use: "sig" };
}

function providerWithNewKeys(issuer) {
  const provider = new Provider(issuer, {
    clients: options.clients,
    clientAuthMethods: options.authMethods,
    jwks: {
      keys: [
        privateKey("rsa", { modulusLength: 2048 }),
        privateKey("ec", { namedCurve: "P-256" }),
        privateKey("ed25519"),
      ],
    },
    scopes: ["openid", "profile", "email", "groups"],
    claims: { openid: ["sub"], profile: ["name"], email: ["email"], groups: ["groups"] },
    // With `true` the claims of scopes are left to the userinfo endpoint (OpenID Connect Core 1.0, 5.4).
    conformIdTokenClaims: options.groupsIn === "userinfo",
    cookies: { keys: [randomUUID()] },
    features: { devInteractions: { enabled: true }, rpInitiatedLogout: { enabled: true } },
    findAccount: (_, sub) =>
      PEOPLE[sub] && { accountId: sub, claims: async () => ({ sub, ...PEOPLE[sub] }) },
    pkce: { required: () => true },
  });
  return provider.callback();
}

let answer;
const server = (options.tls ? https : http).createServer(options.tls ?? {}, (request, response) => {
  if (request.url === "/control/keys" && request.method === "POST") {
    answer = providerWithNewKeys(issuer);
    response.writeHead(204).end();
  } else {
    answer(request, response);
  }
});

let issuer;
server.listen(options.port, "127.0.0.1", () => {
  issuer = `${options.tls ? "https" : "http"}://localhost:${server.address().port}`;
  answer = providerWithNewKeys(issuer);
  console.log(`issuer ${issuer}`);
});

process.stdin.resume().on("end", () => process.exit(0));
