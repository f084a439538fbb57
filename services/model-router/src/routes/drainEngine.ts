import { flat } from '@turnpike/api-errors/wireError';
import { sendWireError } from '@turnpike/http-service/sendWireError';
import { toChangeLog } from '@turnpike/http-service/toRequestLog';
import type { Logger } from '@turnpike/logging/createLogger';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { EngineRegistry } from '../fleet/engineRegistry.ts';
import type { OperatorDrains } from '../fleet/operatorDrains.ts';

const paramsSchema = z.object({ engine_id: z.string().min(1).max(256) });

/**
 * POST /internal/engines/{engine_id}/drain and …/undrain: an operator holds an engine back, on every router of the region, or
 * lets it take calls again. What it has under way goes on. 404 where no engine of that id is there, unless it is held back: one
 * that left meanwhile can still be released.
 */
export function drainEngine({
  log,
  engines,
  drains,
  isDraining,
}: {
  log: Logger;
  engines: Pick<EngineRegistry, 'list'>;
  drains: Pick<OperatorDrains, 'has' | 'set'>;
  isDraining: boolean;
}): RequestHandler {
  return async (req, res) => {
    const { engine_id: id } = paramsSchema.parse(req.params);
    const engine = engines.list().find((candidate) => candidate.id === id);
    if (!engine && !drains.has(id)) {
      sendWireError(res, flat(404, 'engine_not_found', { message: 'There is no such engine.' }));
      return;
    }
    await drains.set(id, isDraining);
    toChangeLog(log, res).info({ engineId: id }, isDraining ? 'engine drained' : 'engine undrained');
    res.json({ id, open_calls: engine?.traffic.openCalls ?? 0 });
  };
}
