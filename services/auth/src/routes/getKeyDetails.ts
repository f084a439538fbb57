import type { RequestHandler } from 'express';
import type { Db } from '../database/openDatabases.ts';
import { getKeyDetails as get } from '../keys/keyDetails.ts';
import { toKeyDetailsBody } from '../wire/keyDetailsBody.ts';

/** GET /internal/keys/{key_id}: a key for the operator, revoked and expired ones too. */
export function getKeyDetails({ db }: { db: Db }): RequestHandler {
  return async (req, res) => {
    res.json(toKeyDetailsBody(await get(db, String(req.params.key_id))));
  };
}
