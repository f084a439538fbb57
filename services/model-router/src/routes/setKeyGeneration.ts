import type { RequestHandler } from 'express';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { createRaiseGeneration } from '../money/gate/raiseGeneration.ts';

const paramsSchema = z.object({ workspace_id: z.string().min(1).max(128), key_id: z.string().min(1).max(128) });
const querySchema = z.object({ generation: z.coerce.number().int().min(0) });

/**
 * PUT /internal/workspaces/{workspace_id}/keys/{key_id}/generation?generation=N: auth says that a key changed. From the
 * next call on, a record of an older generation is not admitted, whatever a router has cached.
 */
export function setKeyGeneration({ redis }: { redis: Redis }): RequestHandler {
  const raiseGeneration = createRaiseGeneration(redis);
  return async (req, res) => {
    const { workspace_id: workspaceId, key_id: keyId } = paramsSchema.parse(req.params);
    const { generation } = querySchema.parse(req.query);
    res.json({ generation: await raiseGeneration({ workspaceId, keyId, generation }) });
  };
}
