import { createServer, type Server } from 'node:http';
import { generateApiKey, toKeySha256 } from '@turnpike/api-keys/apiKey';
import type { KeyRecordBody } from '@turnpike/internal-api/keyRecord';
import { aKeyRecordBody } from '@turnpike/internal-api/keyRecord';
import { urlOf } from './startTestService.ts';

/** A stand-in for auth with a test's keys. */
export interface TestAuth {
  url: string;
  /** Adds a new valid key with a test's changes. */
  issueKey(keyId: string, changes?: Partial<KeyRecordBody>): string;
  /** Makes every request fail, as when auth's database is down. */
  breakDown(isBroken: boolean): void;
  close(): void;
}

export async function startTestAuth(): Promise<TestAuth> {
  const keys = new Map<string, KeyRecordBody>();
  let isBroken = false;
  const server: Server = createServer((req, res) => {
    req.setEncoding('utf8');
    let body = '';
    req.on('data', (chunk) => (body += chunk));
    req.on('end', () => {
      res.statusCode = isBroken ? 503 : 200;
      res.end(JSON.stringify({ key: keys.get(JSON.parse(body).key_sha256) ?? null }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: urlOf(server),
    issueKey(keyId, changes = {}) {
      const apiKey = generateApiKey();
      keys.set(toKeySha256(apiKey), aKeyRecordBody({ keyId, lastFour: apiKey.slice(-4), ...changes }));
      return apiKey;
    },
    breakDown(value) {
      isBroken = value;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
