import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { generateApiKey, toKeySha256, toStoredKeyHash } from '@turnpike/api-keys/apiKey';
import { openDatabases } from '../../services/auth/src/database/openDatabases.ts';
import { OPEN_LIMITS } from '../calls/startOpenStack.ts';
import type { GrowthStack } from './startGrowthStack.ts';

const KEYS_OF_A_WORKSPACE = 10;
const WORKSPACES_AT_ONCE = 16;
const KEYS_AT_ONCE = 1_000;
const VERDICT_TIMEOUT_MS = 500;

interface Wanted {
  count: number;
  progress(text: string): void;
}

/**
 * Makes keys of funded workspaces, ten of each. It makes workspaces as an operator does. It writes keys into auth's database in
 * thousands, in auth's own form, because 100,000 requests to register one take most of an hour.
 */
export async function makeKeys(stack: GrowthStack, { count, progress }: Wanted): Promise<string[]> {
  const { postgres_url: postgresUrl, secrets_file: secretsFile } = stack.running.stack.regions.us;
  const { keyPeppers } = JSON.parse(await readFile(secretsFile, 'utf8')) as { keyPeppers: string };
  const [pepperId = '', pepper = ''] = keyPeppers.split(':');
  const workspaces = await makeWorkspaces(stack, { count: Math.ceil(count / KEYS_OF_A_WORKSPACE), progress });
  const apiKeys = Array.from({ length: count }, generateApiKey);
  const auth = openDatabases(postgresUrl.replace(/\/postgres$/, '/auth'), { verdictTimeoutMs: VERDICT_TIMEOUT_MS });
  try {
    const rows = apiKeys.map((apiKey, index) => ({
      keyId: `key_${randomUUID().replaceAll('-', '')}`,
      workspaceId: workspaces[Math.floor(index / KEYS_OF_A_WORKSPACE)] ?? '',
      storedHash: toStoredKeyHash(toKeySha256(apiKey), pepper),
      pepperId,
      lastFour: apiKey.slice(-4),
      name: 'Growth',
      ...OPEN_LIMITS,
    }));
    for (let made = 0; made < count; made += KEYS_AT_ONCE) {
      progress(`making keys: ${made} of ${count}`);
      await auth.db.apiKey.createMany({ data: rows.slice(made, made + KEYS_AT_ONCE) });
    }
  } finally {
    await auth.close();
  }
  return apiKeys;
}

async function makeWorkspaces({ operator }: GrowthStack, { count, progress }: Wanted): Promise<string[]> {
  const workspaces: string[] = [];
  while (workspaces.length < count) {
    progress(`making workspaces: ${workspaces.length} of ${count}`);
    const length = Math.min(WORKSPACES_AT_ONCE, count - workspaces.length);
    const made = Array.from({ length }, () => operator.makeWorkspace({ creditUsd: '1000000' }));
    workspaces.push(...(await Promise.all(made)));
  }
  return workspaces;
}
