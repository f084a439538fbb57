import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { generateApiKey, toKeySha256, toStoredKeyHash } from '@turnpike/api-keys/apiKey';
import { migrate } from '@turnpike/postgres/migrate';
import { openPostgres, type TestDatabases } from '@turnpike/test-support/startPostgres';
import { type Db, openDatabases } from '../src/database/openDatabases.ts';
import { findKey } from '../src/keys/findKey.ts';
import { rotateKey } from '../src/keys/rotateKey.ts';
import { currentPepper } from './startAuth.ts';

const SQL = new URL('../sql/', import.meta.url);
const peppers = [currentPepper];

let postgres: TestDatabases;
let folder: string;
beforeAll(async () => {
  postgres = await openPostgres();
  folder = await mkdtemp(join(tmpdir(), 'auth-sql-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await postgres.stop();
});

const hashOf = (apiKey: string) => toStoredKeyHash(toKeySha256(apiKey), currentPepper.secret);

/** Writes a key as the version before does, which knows of no second secret. */
function insertAsBefore(
  db: Db,
  { keyId, apiKey, replacedBy, endsAt }: { keyId: string; apiKey: string; replacedBy?: string; endsAt?: string },
) {
  return db.$executeRaw`
    INSERT INTO api_key (key_id, workspace_id, stored_hash, pepper_id, last_four, name, replaced_by, expires_at)
    VALUES (${keyId}, 'ws_1', ${hashOf(apiKey)}, ${currentPepper.id}, 'abcd', 'A key', ${replacedBy ?? null},
      ${endsAt ?? null}::timestamptz)`;
}

it('keeps all keys and a rotation that is under way, and the version before goes on making keys', async () => {
  await cp(SQL, folder, { recursive: true });
  await rm(join(folder, 'migrations', '0003_old_secret.sql'));
  const databaseUrl = await postgres.createDatabase();
  await migrate({ databaseUrl, folder: pathToFileURL(`${folder}/`) });
  const { db, close } = openDatabases(databaseUrl, { verdictTimeoutMs: 20_000, statementTimeoutMs: 20_000 });
  const secrets = {
    plain: generateApiKey(),
    newer: generateApiKey(),
    older: generateApiKey(),
    later: generateApiKey(),
  };
  const endsAt = new Date(Date.now() + 3_600_000).toISOString();
  try {
    await db.$executeRaw`INSERT INTO workspace VALUES ('ws_1', 'org_1', 'A workspace', 'us', 'active', NULL, DEFAULT)`;
    await insertAsBefore(db, { keyId: 'key_plain', apiKey: secrets.plain });
    await insertAsBefore(db, { keyId: 'key_newer', apiKey: secrets.newer });
    await insertAsBefore(db, { keyId: 'key_older', apiKey: secrets.older, replacedBy: 'key_newer', endsAt });

    expect(await migrate({ databaseUrl, folder: SQL })).toEqual(['0003_old_secret']);
    await insertAsBefore(db, { keyId: 'key_later', apiKey: secrets.later });

    const find = (apiKey: string) => findKey(db, { keySha256: toKeySha256(apiKey), peppers });
    expect(await find(secrets.plain)).toMatchObject({ keyId: 'key_plain', expiresAt: null });
    expect(await find(secrets.newer)).toMatchObject({ keyId: 'key_newer', expiresAt: null });
    expect(await find(secrets.older)).toMatchObject({ keyId: 'key_older', expiresAt: endsAt });
    expect(await find(secrets.later)).toMatchObject({ keyId: 'key_later' });

    const rotate = (keyId: string, apiKey: string) =>
      rotateKey(
        db,
        {
          keyId,
          by: 'operator',
          keySha256: toKeySha256(apiKey),
          lastFour: apiKey.slice(-4),
          oldEndsAt: new Date(endsAt),
        },
        { peppers, now: new Date() },
      );
    await expect(rotate('key_older', generateApiKey())).rejects.toMatchObject({
      fault: { kind: 'key_rotated', replacedBy: 'key_newer' },
    });
    const newest = generateApiKey();
    await rotate('key_newer', newest);
    expect([await find(secrets.newer), await find(newest)]).toMatchObject([
      { keyId: 'key_newer', expiresAt: endsAt },
      { keyId: 'key_newer', expiresAt: null },
    ]);
    // The version before finds the newer secret of a rotated key only.
    const found = await db.$queryRaw`
      SELECT key_id FROM api_key WHERE stored_hash IN (${hashOf(newest)}, ${hashOf(secrets.newer)})`;
    expect(found).toEqual([{ key_id: 'key_newer' }]);
  } finally {
    await close();
  }
});
