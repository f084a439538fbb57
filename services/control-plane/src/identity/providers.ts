import { jsonSchema } from '@turnpike/config/sharedSettings';
import {
  type AuthorizationCodeGrantChecks,
  allowInsecureRequests,
  authorizationCodeGrant,
  type Configuration,
  discovery,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'openid-client';
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
/** Errors of a token endpoint about us. Others are about the browser's code. */
const REFUSALS_OF_US = ['invalid_client', 'unauthorized_client'];

/**
 * Why a request to a provider failed by no doing of a browser. `away`: no answer in time, or one that is no answer of the protocol.
 * `refused_us`: the client secret or another setting is wrong.
 */
export const PROVIDER_FAILURES = ['away', 'refused_us'] as const;
export type ProviderFailure = (typeof PROVIDER_FAILURES)[number];

/** An identity provider. Its description is fetched when it is first needed, again after a failure, and by each check. */
export class Provider {
  readonly #settings: ProviderSettings;
  #configuration: Promise<Configuration> | undefined;
  #listener: (failure: ProviderFailure) => void = () => {};

  constructor(settings: ProviderSettings) {
    this.#settings = settings;
  }

  get id(): string {
    return this.#settings.id;
  }

  get name(): string {
    return this.#settings.name;
  }

  /** Sets the callback for requests of sign-ins that failed by no doing of a browser. */
  onFailure(listener: (failure: ProviderFailure) => void): void {
    this.#listener = listener;
  }

  /** Throws where the provider does not answer within 5 s. */
  async configuration(): Promise<Configuration> {
    this.#configuration ??= this.#discover();
    return this.#configuration.catch((error: unknown) => {
      this.#configuration = undefined;
      this.#listener('away');
      throw error;
    });
  }

  /** Redeems the code in the URL to which the provider sent a browser back. Throws where it is not a valid one. */
  async redeem(returnUrl: URL, checks: AuthorizationCodeGrantChecks): ReturnType<typeof authorizationCodeGrant> {
    const configuration = await this.configuration();
    return authorizationCodeGrant(configuration, returnUrl, checks).catch((error: unknown) => {
      const failure = toProviderFailure(error);
      if (failure) this.#listener(failure);
      throw error;
    });
  }

  /** Fetches the description anew, and keeps it. Throws where the provider does not answer within 5 s. */
  async check(): Promise<void> {
    this.#configuration = Promise.resolve(await this.#discover());
  }

  #discover(): Promise<Configuration> {
    const { issuer, client_id: clientId, client_secret: clientSecret } = this.#settings;
    return discovery(new URL(issuer), clientId, clientSecret, undefined, {
      timeout: TIMEOUT_S,
      ...(isLocal(issuer) && { execute: [allowInsecureRequests] }),
    });
  }
}

/** Names of errors of `fetch` for a connection that failed, and for one that was silent for too long. */
const NO_ANSWER = ['TypeError', 'TimeoutError'];

/** Returns the failure of a provider that made a grant fail, or undefined where a browser could have caused it. */
function toProviderFailure(error: unknown): ProviderFailure | undefined {
  if (error instanceof WWWAuthenticateChallengeError) return 'refused_us';
  if (error instanceof ResponseBodyError) return REFUSALS_OF_US.includes(error.error) ? 'refused_us' : undefined;
  const { name, cause } = error as Error & { cause?: { name?: string; status?: number } };
  if (NO_ANSWER.includes(name) || NO_ANSWER.includes(cause?.name ?? '')) return 'away';
  return (cause?.status ?? 0) >= 500 ? 'away' : undefined;
}
