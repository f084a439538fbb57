import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { Html } from '@turnpike/http-service/html';
import { type Configuration, interactionPolicy, type JWK } from 'oidc-provider';
import type { Client } from './config.ts';
import { createMemoryAdapter } from './memoryAdapter.ts';
import { errorPage, findUser, signedOutPage, signOutPage } from './pages.ts';

/** The sign-in page of an interaction is at this path and the interaction's id. */
export const SIGN_IN_PATH = '/sign-in/';
const SCOPE = 'openid email profile';
const MINUTE_S = 60;
const DAY_S = 86_400;

/** Returns the provider's whole configuration, with new keys. */
export function toConfiguration(issuer: string, clients: Client[]): Configuration {
  const { port } = new URL(issuer);
  return {
    adapter: createMemoryAdapter(),
    clients: clients.map((client) => ({ ...client, require_auth_time: true, id_token_signed_response_alg: 'ES256' })),
    jwks: { keys: [makeSigningKey()] },
    responseTypes: ['code'],
    pkce: { required: () => true },
    scopes: SCOPE.split(' '),
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    // Otherwise the address is in the answer of userinfo alone.
    conformIdTokenClaims: false,
    async findAccount(_ctx, id) {
      const user = findUser(id);
      if (!user) return undefined;
      const { name, email, emailVerified } = user;
      return { accountId: id, claims: () => ({ sub: id, name, email, email_verified: emailVerified }) };
    },
    cookies: {
      keys: [randomBytes(32).toString('hex')],
      // Cookies of `localhost` reach every port: each stack has names of its own.
      names: { session: `idp_${port}`, interaction: `idp_${port}_interaction`, resume: `idp_${port}_resume` },
    },
    ttl: {
      AccessToken: 10 * MINUTE_S,
      AuthorizationCode: MINUTE_S,
      IdToken: 10 * MINUTE_S,
      Interaction: 10 * MINUTE_S,
      Session: DAY_S,
      Grant: DAY_S,
    },
    interactions: { policy: toPolicy(), url: (_ctx, { uid }) => `${SIGN_IN_PATH}${uid}` },
    /** Grants the client what it may ask for: no page asks the user. */
    async loadExistingGrant({ oidc }) {
      const { client, session, provider } = oidc;
      if (!client || !session?.accountId) return undefined;
      const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
      grant.addOIDCScope(SCOPE);
      await grant.save();
      return grant;
    },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: {
        logoutSource(ctx, form) {
          ctx.body = signOutPage(new Html(form));
        },
        postLogoutSuccessSource(ctx) {
          ctx.body = signedOutPage();
        },
      },
    },
    // Clients ask from their servers.
    clientBasedCORS: () => false,
    renderError(ctx, problems) {
      ctx.type = 'html';
      ctx.body = errorPage(problems);
    },
  };
}

/** Sign-in without a page of consent, and with `prompt=select_account`. */
function toPolicy(): interactionPolicy.DefaultPolicy {
  const policy = interactionPolicy.base();
  policy.remove('consent');
  policy.add(new interactionPolicy.Prompt({ name: 'select_account', requestable: true }), 0);
  return policy;
}

function makeSigningKey(): JWK {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { ...(privateKey.export({ format: 'jwk' }) as JWK), alg: 'ES256', use: 'sig' };
}
