import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { Db } from '../database/createDb.ts';

const paramsSchema = z.object({ router_id: z.string().min(1).max(128) });

/** DELETE /internal/routers/{router_id}: a router that has ended all its calls and sent every event leaves. */
export function deleteRouter({ db }: { db: Db }): RequestHandler {
  return async (req, res) => {
    const { router_id: routerId } = paramsSchema.parse(req.params);
    await db.router.deleteMany({ where: { routerId } });
    res.json({});
  };
}
