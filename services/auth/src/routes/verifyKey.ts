import type { NamedSecret } from '@turnpike/config/secrets';
import { createBodyReader } from '@turnpike/http-service/createBodyReader';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { Db } from '../database/openDatabases.ts';
import { findKey } from '../keys/findKey.ts';
import { keySha256 } from '../wire/internalFields.ts';
import { toKeyRecordBody } from '../wire/keyRecordBody.ts';

const bodySchema = z.strictObject({ key_sha256: keySha256 });

/** POST /internal/keys/verify: who a key is, for every service that serves the public; null if it is not to be let in. */
export function verifyKey({ verdictDb, peppers }: { verdictDb: Db; peppers: NamedSecret[] }): RequestHandler {
  const readBody = createBodyReader(bodySchema, { limitBytes: 1_024 });
  return async (req, res) => {
    const body = await readBody(req, res);
    const key = await findKey(verdictDb, { keySha256: body.key_sha256, peppers });
    res.json({ key: key ? toKeyRecordBody(key) : null });
  };
}
