import { drain } from '@turnpike/http-service/drain';
import { listen } from '@turnpike/http-service/listen';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Client } from './config.ts';
import { createProvider } from './createProvider.ts';

export interface IdentityProvider {
  /** The address of the provider, as browsers and clients know it. */
  issuer: string;
  close(): Promise<void>;
}

/** Serves the identity provider at `http://localhost:<port>`. Its keys, sessions and codes end with it. */
export async function startIdentityProvider({
  listenHost,
  port,
  clients,
  log,
}: {
  listenHost: string;
  port: number;
  clients: Client[];
  log: Logger;
}): Promise<IdentityProvider> {
  // Browsers accept a session with `Secure` at this name, and a passkey has no other name of this machine.
  const issuer = `http://localhost:${port}`;
  const server = await listen(createProvider({ issuer, clients, log }).callback(), { host: listenHost, port });
  return { issuer, close: () => drain([server], { settleMs: 0 }) };
}
