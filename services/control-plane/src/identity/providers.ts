import { jsonSchema } from '@turnpike/config/sharedSettings';
import { allowInsecureRequests, type Configuration, discovery } from 'openid-client';
import { z } from 'zod';

const isLocal = (address: string): boolean => new URL(address).hostname === 'localhost';

/** The identity providers by which people sign in, as JSON. Addresses are https, but on `localhost`. */
export const providersSchema = jsonSchema.pipe(
  z.array(
    z.object({
      id: z.string().regex(/^[a-z0-9-]{1,32}$/, 'must be lower-case letters, digits and dashes'),
      name: z.string().min(1),
      issuer: z
        .url({ protocol: /^https?$/ })
        .refine((issuer) => issuer.startsWith('https:') || isLocal(issuer), 'must be https'),
      client_id: z.string().min(1),
      client_secret: z.string().min(1),
    }),
  ),
);
export type ProviderSettings = z.infer<typeof providersSchema>[number];

const TIMEOUT_S = 5;

/** An identity provider. Its description is fetched when it is first needed, and again after a failure. */
export class Provider {
  readonly #settings: ProviderSettings;
  #configuration: Promise<Configuration> | undefined;

  constructor(settings: ProviderSettings) {
    this.#settings = settings;
  }

  get id(): string {
    return this.#settings.id;
  }

  get name(): string {
    return this.#settings.name;
  }

  /** Throws where the provider does not answer within 5 s. */
  async configuration(): Promise<Configuration> {
    const { issuer, client_id: clientId, client_secret: clientSecret } = this.#settings;
    this.#configuration ??= discovery(new URL(issuer), clientId, clientSecret, undefined, {
      timeout: TIMEOUT_S,
      ...(isLocal(issuer) && { execute: [allowInsecureRequests] }),
    });
    return this.#configuration.catch((error: unknown) => {
      this.#configuration = undefined;
      throw error;
    });
  }
}
