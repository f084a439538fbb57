import { credentialSchema, newCredentialSchema } from '@turnpike/console-api/account/signIn';
import { callRoute } from '@turnpike/console-api/callRoute';
import * as z from 'zod/mini';
import { routes } from './account.ts';

/** Old browsers have no passkeys, and pages then show none of the buttons for them. */
export const hasPasskeys = 'PublicKeyCredential' in globalThis && 'parseCreationOptionsFromJSON' in PublicKeyCredential;

/** Creates a passkey in the browser, and adds it to the user. Throws if the browser creates none. */
export async function addPasskey(name: string) {
  const { options }: { options: object } = await callRoute(routes.beginPasskey);
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as PublicKeyCredentialCreationOptionsJSON);
  const credential = await read(newCredentialSchema, navigator.credentials.create({ publicKey }));
  return callRoute(routes.addPasskey, { body: { name, credential } });
}

export async function signInByPasskey() {
  const { options } = await callRoute(routes.beginPasskeySignIn);
  return callRoute(routes.signInByPasskey, { body: { credential: await askForPasskey(options) } });
}

export async function stepUpByPasskey() {
  const { options } = await callRoute(routes.beginPasskeyStepUp);
  return callRoute(routes.stepUpByPasskey, { body: { credential: await askForPasskey(options) } });
}

function askForPasskey(options: object) {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options as PublicKeyCredentialRequestOptionsJSON);
  return read(credentialSchema, navigator.credentials.get({ publicKey }));
}

async function read<Schema extends z.core.$ZodType>(schema: Schema, asked: Promise<Credential | null>) {
  const credential = await asked.catch(() => null);
  if (!(credential instanceof PublicKeyCredential))
    throw new Error('The browser gave no passkey, or you cancelled. Try again, or use a mailed link.');
  return z.parse(schema, credential.toJSON());
}
