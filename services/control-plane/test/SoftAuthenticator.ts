import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';

const FLAGS = { userPresent: 0x01, userVerified: 0x04, hasKey: 0x40 };
const ES256 = -7;

const sha256 = (data: Uint8Array | string) => createHash('sha256').update(data).digest();
const toBase64Url = (data: Uint8Array | string) => Buffer.from(data).toString('base64url');

/** The conditions of one ceremony, as browser and authenticator find them. */
export interface Conditions {
  origin: string;
  relyingParty: string;
  isUserVerified: boolean;
  /** The count of uses that the authenticator states; unset: one more than before. */
  counter?: number;
  /** The id of a new passkey; unset: a random one. */
  credentialId?: Uint8Array;
}

interface Held {
  privateKey: KeyObject;
  userHandle: string;
  counter: number;
}

/** A browser with an authenticator in software. It signs with real ES256 keys and writes real CBOR. */
export class SoftAuthenticator {
  readonly #held = new Map<string, Held>();
  readonly #conditions: Conditions;

  constructor(conditions: Conditions) {
    this.#conditions = conditions;
  }

  /** Does what `navigator.credentials.create` does. */
  // biome-ignore lint/suspicious/noExplicitAny: the options are those that the service sends
  create({ challenge, user }: any, conditions: Partial<Conditions> = {}) {
    const all = { counter: 0, credentialId: randomBytes(32), ...this.#conditions, ...conditions };
    const { origin, relyingParty, isUserVerified, counter, credentialId } = all;
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
    const coordinateOf = (text: string) => new Uint8Array(Buffer.from(text, 'base64url'));
    const coseKey = isoCBOR.encode(
      new Map<number, number | Uint8Array>([
        [1, 2],
        [3, ES256],
        [-1, 1],
        [-2, coordinateOf(x)],
        [-3, coordinateOf(y)],
      ]) as Parameters<typeof isoCBOR.encode>[0],
    );
    const id = toBase64Url(credentialId);
    this.#held.set(id, { privateKey, userHandle: user.id, counter });
    const authenticatorData = Buffer.concat([
      toHead({ relyingParty, isUserVerified, counter, flags: FLAGS.hasKey }),
      Buffer.alloc(16),
      Buffer.from([0, credentialId.length]),
      credentialId,
      coseKey,
    ]);
    const attestation = new Map<string, unknown>([
      ['fmt', 'none'],
      ['attStmt', new Map()],
      ['authData', new Uint8Array(authenticatorData)],
    ]);
    return {
      id,
      rawId: id,
      type: 'public-key',
      response: {
        clientDataJSON: toClientData('webauthn.create', { challenge, origin }),
        attestationObject: toBase64Url(isoCBOR.encode(attestation as Parameters<typeof isoCBOR.encode>[0])),
        transports: ['internal'],
      },
    };
  }

  /** Does what `navigator.credentials.get` does, with the passkey of this id. */
  get(id: string, { challenge }: { challenge: string }, conditions: Partial<Conditions> = {}) {
    const held = this.#held.get(id);
    if (!held) throw new Error(`the authenticator has no passkey ${id}`);
    const { origin, relyingParty, isUserVerified, counter = held.counter + 1 } = { ...this.#conditions, ...conditions };
    held.counter = counter;
    const authenticatorData = toHead({ relyingParty, isUserVerified, counter, flags: 0 });
    const clientDataJSON = toClientData('webauthn.get', { challenge, origin });
    const signed = Buffer.concat([authenticatorData, sha256(Buffer.from(clientDataJSON, 'base64url'))]);
    return {
      id,
      rawId: id,
      type: 'public-key',
      response: {
        clientDataJSON,
        authenticatorData: toBase64Url(authenticatorData),
        signature: toBase64Url(sign('sha256', signed, held.privateKey)),
        userHandle: held.userHandle,
      },
    };
  }
}

/** The part of the authenticator data that every ceremony has. */
function toHead({
  relyingParty,
  isUserVerified,
  counter,
  flags,
}: {
  relyingParty: string;
  isUserVerified: boolean;
  counter: number;
  flags: number;
}): Buffer {
  const count = Buffer.alloc(4);
  count.writeUInt32BE(counter);
  const all = flags | FLAGS.userPresent | (isUserVerified ? FLAGS.userVerified : 0);
  return Buffer.concat([sha256(relyingParty), Buffer.from([all]), count]);
}

const toClientData = (type: string, fields: { challenge: string; origin: string }): string =>
  toBase64Url(JSON.stringify({ type, ...fields, crossOrigin: false }));
