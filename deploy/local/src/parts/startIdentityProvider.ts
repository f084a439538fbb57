import { join } from 'node:path';
import type { Part, Parts } from '../process/startParts.ts';
import { repositoryRoot } from '../repositoryRoot.ts';
import { isHealthy } from './startSimulator.ts';

const PROGRAM = join(repositoryRoot, 'deploy/identity-provider/src/main.ts');

export interface IdentityProviderOptions {
  parts: Parts;
  port: number;
  /** The account layer, as the provider's client. */
  client: { client_id: string; client_secret: string; redirect_uris: string[] };
}

/** Starts the identity provider, and resolves when it serves. */
export async function startIdentityProvider({ parts, port, client }: IdentityProviderOptions): Promise<Part> {
  const part = parts.start({
    name: 'identity-provider',
    layer: 0,
    command: process.execPath,
    args: [PROGRAM],
    env: { PORT: String(port), CLIENTS: JSON.stringify([client]) },
    stopSignal: 'SIGTERM',
    hasChannel: true,
  });
  await parts.untilReady(part, () => isHealthy(port));
  return part;
}
