import { callingKey } from '@turnpike/authentication/keyGuard';
import { spanOf } from '@turnpike/http-service/observeRequests';
import type { RequestHandler } from 'express';
import type { RouterClient } from '../router/routerClient.ts';
import { toKeyInformationBody } from '../wire/keyInformationBody.ts';

/** GET /v1/svc/key: the calling key's limits and live spend. Answers whatever is left to spend. */
export function getKey({ getKeySpend }: Pick<RouterClient, 'getKeySpend'>): RequestHandler {
  return async (_req, res) => {
    const key = callingKey(res);
    const { workspaceId } = key.workspace;
    const { spentNanoUsd } = await getKeySpend({ workspaceId, keyId: key.keyId }, spanOf(res));
    res.json(toKeyInformationBody(key, { spend: spentNanoUsd, now: new Date() }));
  };
}
