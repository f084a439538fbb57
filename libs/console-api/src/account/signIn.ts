import * as z from 'zod/mini';
import { address, defineRoutes, displayName, done, idSchema, instant, TOO_MANY, token } from './accountRoute.ts';

export const userSchema = z.object({ user_id: z.string(), name: z.string(), addresses: z.array(z.string()) });
export type UserBody = z.output<typeof userSchema>;
const sessionSchema = z.object({
  session_id: z.string(),
  is_current: z.boolean(),
  created_at: instant,
  /** To the minute. */
  seen_at: instant,
  ends_at: instant,
  address: z.string(),
  browser: z.string(),
});
/** Characters of a credential id: 1,023 bytes as base64url. */
const MAX_CREDENTIAL_ID = 1_400;
const base64Url = z.string().check(z.regex(/^[A-Za-z0-9_-]+$/, 'must be base64url'));
const credentialId = base64Url.check(z.maxLength(MAX_CREDENTIAL_ID));
const ofCredential = { id: credentialId, rawId: credentialId, type: z.literal('public-key') };
/** The answer of `navigator.credentials.create`, by its `toJSON`. Fields that no verification needs are passed over. */
export const newCredentialSchema = z.object({
  ...ofCredential,
  response: z.object({
    clientDataJSON: base64Url,
    attestationObject: base64Url,
    transports: z._default(
      z.array(z.string().check(z.regex(/^[a-z-]{1,32}$/, 'must be a transport'))).check(z.maxLength(10)),
      [],
    ),
  }),
});
/** The answer of `navigator.credentials.get`, by its `toJSON`. */
export const credentialSchema = z.object({
  ...ofCredential,
  response: z.object({
    clientDataJSON: base64Url,
    authenticatorData: base64Url,
    signature: base64Url,
    userHandle: z.nullish(base64Url),
  }),
});
/** `PublicKeyCredentialCreationOptionsJSON` or `PublicKeyCredentialRequestOptionsJSON` of the Web Authentication API. */
const passkeyOptions = z.object({ options: z.looseObject({ challenge: z.string() }) });
const passkeySchema = z.object({
  passkey_id: z.string(),
  name: z.string(),
  created_at: instant,
  used_at: z.nullable(instant),
});
const LINK_IS_OVER = {
  link_is_over: { status: 400, message: 'This link was used already, or is too old. Ask for a new one.' },
};
const PASSKEY_REFUSED = {
  passkey_refused: {
    status: 400,
    message: 'The passkey was not accepted: it is unknown here, or the 5 minutes for it are over. Try again.',
  },
};
const UNKNOWN_PASSKEY = { unknown_passkey: { status: 404, message: 'You have no such passkey.' } };
const UNKNOWN_PROVIDER = { unknown_provider: { status: 404, message: 'There is no such identity provider here.' } };
const PROVIDER_AWAY = {
  provider_away: { status: 502, message: 'The identity provider does not answer. Try again, or sign in by mail.' },
};

/** The routes of sign-in, passkeys and sessions. */
export const signInRoutes = defineRoutes({
  listProviders: {
    access: { of: 'anyone' },
    method: 'GET',
    path: '/account/sign-in/providers',
    promise: 'Lists the identity providers by which one may sign in.',
    answer: z.object({ providers: z.array(z.object({ provider_id: z.string(), name: z.string() })) }),
  },
  mailLink: {
    access: { of: 'anyone' },
    method: 'POST',
    path: '/account/sign-in/link',
    promise:
      'Mails a link that signs in, valid for 15 minutes and once. The answer is the same whether or not the address is known.',
    body: z.object({ address }),
    status: 202,
    answer: done,
    faults: TOO_MANY,
  },
  signInByLink: {
    access: { of: 'anyone' },
    method: 'POST',
    path: '/account/sign-in/link/complete',
    promise: 'Signs in by the token of a mailed link, and makes the user where the address is new.',
    body: z.object({ token }),
    answer: userSchema,
    faults: { ...LINK_IS_OVER, ...TOO_MANY },
  },
  beginOidc: {
    access: { of: 'anyone' },
    method: 'POST',
    path: '/account/sign-in/oidc',
    promise:
      'Gives the page of an identity provider to go to. It has to be opened in the same browser within 10 minutes.',
    body: z.object({ provider_id: idSchema }),
    answer: z.object({ url: z.string() }),
    faults: { ...UNKNOWN_PROVIDER, ...PROVIDER_AWAY, ...TOO_MANY },
  },
  linkOidc: {
    access: { of: 'session', recent: true },
    method: 'POST',
    path: '/account/identities',
    promise: 'As sign-in, and the identity becomes one more way to sign in as this user.',
    body: z.object({ provider_id: idSchema }),
    answer: z.object({ url: z.string() }),
    faults: { ...UNKNOWN_PROVIDER, ...PROVIDER_AWAY },
  },
  stepUpByOidc: {
    access: { of: 'session' },
    method: 'POST',
    path: '/account/step-up/oidc',
    promise:
      'As sign-in, where the provider asks anew who it is. The session counts as proved for 10 minutes afterwards.',
    body: z.object({ provider_id: idSchema }),
    answer: z.object({ url: z.string() }),
    faults: { ...UNKNOWN_PROVIDER, ...PROVIDER_AWAY },
  },
  mailStepUpLink: {
    access: { of: 'session' },
    method: 'POST',
    path: '/account/step-up/link',
    promise: 'Mails a link to an address of the user that proves the session anew.',
    body: z.object({ address }),
    status: 202,
    answer: done,
    faults: { ...TOO_MANY, unknown_address: { status: 404, message: 'This is no address of yours.' } },
  },
  stepUpByLink: {
    access: { of: 'session' },
    method: 'POST',
    path: '/account/step-up/link/complete',
    promise: 'Proves the session by the token of a mailed link. The session gets a new id.',
    body: z.object({ token }),
    answer: userSchema,
    faults: LINK_IS_OVER,
  },
  beginPasskeySignIn: {
    access: { of: 'anyone' },
    method: 'POST',
    path: '/account/sign-in/passkey',
    promise: 'Gives the options for `navigator.credentials.get`, valid for 5 minutes and one sign-in.',
    answer: passkeyOptions,
    faults: TOO_MANY,
  },
  signInByPasskey: {
    access: { of: 'anyone' },
    method: 'POST',
    path: '/account/sign-in/passkey/complete',
    promise: 'Signs in by a passkey whose authenticator verified the user.',
    body: z.object({ credential: credentialSchema }),
    answer: userSchema,
    faults: { ...PASSKEY_REFUSED, ...TOO_MANY },
  },
  beginPasskeyStepUp: {
    access: { of: 'session' },
    method: 'POST',
    path: '/account/step-up/passkey',
    promise:
      'Gives the options for `navigator.credentials.get` with a passkey of the user, valid for 5 minutes and once.',
    answer: passkeyOptions,
  },
  stepUpByPasskey: {
    access: { of: 'session' },
    method: 'POST',
    path: '/account/step-up/passkey/complete',
    promise: 'Proves the session by a passkey of the user. The session gets a new id.',
    body: z.object({ credential: credentialSchema }),
    answer: userSchema,
    faults: PASSKEY_REFUSED,
  },
  listPasskeys: {
    access: { of: 'session' },
    method: 'GET',
    path: '/account/passkeys',
    promise: 'Lists the passkeys of the user, the oldest first.',
    answer: z.object({ passkeys: z.array(passkeySchema) }),
  },
  beginPasskey: {
    access: { of: 'session', recent: true },
    method: 'POST',
    path: '/account/passkeys/options',
    promise: 'Gives the options for `navigator.credentials.create`, valid for 5 minutes and one passkey.',
    answer: passkeyOptions,
  },
  addPasskey: {
    access: { of: 'session', recent: true },
    method: 'POST',
    path: '/account/passkeys',
    promise: 'Adds a passkey of an authenticator that verified the user. A user has 20 at most.',
    body: z.object({ name: displayName, credential: newCredentialSchema }),
    status: 201,
    answer: passkeySchema,
    faults: {
      ...PASSKEY_REFUSED,
      too_many_passkeys: { status: 409, message: 'One user may have 20 passkeys at most. Remove one first.' },
    },
  },
  renamePasskey: {
    access: { of: 'session' },
    method: 'PATCH',
    path: '/account/passkeys/:passkey_id',
    promise: 'Names a passkey of the user anew.',
    params: z.object({ passkey_id: idSchema }),
    body: z.object({ name: displayName }),
    answer: passkeySchema,
    faults: UNKNOWN_PASSKEY,
  },
  removePasskey: {
    access: { of: 'session', recent: true },
    method: 'DELETE',
    path: '/account/passkeys/:passkey_id',
    promise: 'Removes a passkey of the user, which signs in no more from then on. The last way to sign in stays.',
    params: z.object({ passkey_id: idSchema }),
    answer: done,
    faults: {
      ...UNKNOWN_PASSKEY,
      last_way_in: { status: 409, message: 'You could sign in no more without this passkey. Add another way first.' },
    },
  },
  getUser: {
    access: { of: 'session' },
    method: 'GET',
    path: '/account/user',
    promise: 'Says who is signed in.',
    answer: userSchema,
  },
  signOut: {
    access: { of: 'session' },
    method: 'POST',
    path: '/account/sign-out',
    promise: 'Ends the session.',
    answer: done,
  },
  listSessions: {
    access: { of: 'session' },
    method: 'GET',
    path: '/account/sessions',
    promise: "Lists the user's sessions that have not ended, the newest first.",
    answer: z.object({ sessions: z.array(sessionSchema) }),
  },
  endSession: {
    access: { of: 'session' },
    method: 'DELETE',
    path: '/account/sessions/:session_id',
    promise: 'Ends one of the sessions of the user at once.',
    params: z.object({ session_id: idSchema }),
    answer: done,
    faults: { unknown_session: { status: 404, message: 'There is no such session.' } },
  },
});
