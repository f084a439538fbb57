import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { EngineRegistry } from '../engines/engineRegistry.ts';
import type { OperatorDrains } from '../engines/operatorDrains.ts';

const paramsSchema = z.object({ engine_id: z.string().min(1).max(256) });

/**
 * POST /internal/engines/{engine_id}/drain and …/undrain: an operator holds an engine back, on every router of the region, or
 * lets it take calls again. What it has under way goes on. `is_known` tells whether an engine of that id is there now: one
 * that is not can be held back before it comes.
 */
export function drainEngine({
  engines,
  drains,
  isDraining,
}: {
  engines: Pick<EngineRegistry, 'list'>;
  drains: Pick<OperatorDrains, 'set'>;
  isDraining: boolean;
}): RequestHandler {
  return async (req, res) => {
    const { engine_id: id } = paramsSchema.parse(req.params);
    await drains.set(id, isDraining);
    const engine = engines.list().find((candidate) => candidate.id === id);
    res.json({ id, is_known: engine !== undefined, open_calls: engine?.traffic.openCalls ?? 0 });
  };
}
