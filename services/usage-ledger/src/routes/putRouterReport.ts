import type { EventLogConsumer } from '@turnpike/event-log/eventLog';
import { createBodyReader } from '@turnpike/http-service/createBodyReader';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { Db } from '../database/createDb.ts';
import { reportRouter } from '../epoch/reportRouter.ts';

const id = z.string().regex(/^[A-Za-z0-9_-]{1,128}$/);
const paramsSchema = z.object({ router_id: id });
const epochNumber = z
  .number()
  .int()
  .min(0)
  .max(2 ** 31 - 2)
  .nullable();
const reportSchema = z.object({
  process_id: id,
  redis_id: id.nullable(),
  known_epoch: epochNumber,
  drained_epoch: epochNumber,
  asserted_epoch: epochNumber,
  is_blank: z.boolean(),
  misses_calls: z.boolean(),
});

export interface PutRouterReportDependencies {
  db: Db;
  consumer: Pick<EventLogConsumer, 'lag'>;
}

/** PUT /internal/routers/{router_id}: a router's sign of life, answered with the epoch of Redis. */
export function putRouterReport(dependencies: PutRouterReportDependencies): RequestHandler {
  const readBody = createBodyReader(reportSchema, { limitBytes: 4 * 1024 });
  return async (req, res) => {
    const { router_id: routerId } = paramsSchema.parse(req.params);
    const body = await readBody(req, res);
    const epoch = await reportRouter(dependencies, {
      routerId,
      processId: body.process_id,
      redisId: body.redis_id,
      knownEpoch: body.known_epoch,
      drainedEpoch: body.drained_epoch,
      assertedEpoch: body.asserted_epoch,
      isBlank: body.is_blank,
      missesCalls: body.misses_calls,
    });
    res.json({
      epoch: epoch.number,
      redis_id: epoch.redisId,
      phase: epoch.phase,
      is_member: epoch.isMember,
    });
  };
}
