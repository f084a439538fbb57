import {
  generateSigningKey,
  type PublicKey,
  publicKeysSchema,
  type SigningKey,
  signingKeySchema,
  toPublicKey,
} from '@turnpike/config/internalKeys';
import { SERVICE_NAMES } from '@turnpike/config/services';

/** The keys of a fleet, for tests. */
export interface Fleet {
  /** Keys in the form of the settings. */
  signingKeys: Record<string, string>;
  publicKeysText: string;
  publicKeys: PublicKey[];
  /** The key of a service, or of the operator. Throws if there is none. */
  keyOf(service: string): SigningKey;
}

/** Makes a key for each service of a region, and for its operator. */
export function aFleet(scope = 'us'): Fleet {
  const names = [...SERVICE_NAMES, 'operator'];
  const signingKeys = Object.fromEntries(names.map((name) => [name, generateSigningKey(`${scope}/${name}`)]));
  const publicKeysText = Object.values(signingKeys).map(toPublicKey).join(',');
  return {
    signingKeys,
    publicKeysText,
    publicKeys: publicKeysSchema.parse(publicKeysText),
    keyOf: (service) => signingKeySchema.parse(signingKeys[service]),
  };
}
