import type { NamedSecret } from '@turnpike/config/secrets';
import { createBodyReader } from '@turnpike/http-service/createBodyReader';
import { toChangeLog } from '@turnpike/http-service/toRequestLog';
import type { Logger } from '@turnpike/logging/createLogger';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { Db } from '../database/openDatabases.ts';
import { registerKey } from '../keys/registerKey.ts';
import { displayName, keySha256, lastFour, limitNanoUsd, workspaceId } from '../wire/internalFields.ts';

const perMinute = z.number().int().min(1).max(1_000_000_000);

const bodySchema = z.strictObject({
  key_sha256: keySha256,
  last_four: lastFour,
  name: displayName,
  workspace_id: workspaceId,
  rpm: perMinute.default(600),
  tpm: perMinute.default(1_000_000),
  max_budget_nano_usd: limitNanoUsd,
  expires_at: z.iso.datetime({ offset: true }).nullable().default(null),
});

/** POST /internal/keys: registers a key made elsewhere, by its hash. */
export function postKey({ log, db, peppers }: { log: Logger; db: Db; peppers: NamedSecret[] }): RequestHandler {
  const readBody = createBodyReader(bodySchema, { limitBytes: 16 * 1_024 });
  return async (req, res) => {
    const body = await readBody(req, res);
    const newKey = {
      keySha256: body.key_sha256,
      lastFour: body.last_four,
      name: body.name,
      workspaceId: body.workspace_id,
      rpm: body.rpm,
      tpm: body.tpm,
      maxBudgetNanoUsd: body.max_budget_nano_usd,
      expiresAt: body.expires_at === null ? null : new Date(body.expires_at),
    };
    const { keyId } = await registerKey(db, newKey, { peppers });
    toChangeLog(log, res).info({ keyId, workspaceId: body.workspace_id }, 'key created');
    res.json({ key_id: keyId });
  };
}
