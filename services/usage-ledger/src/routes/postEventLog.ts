import { ApiError } from '@turnpike/api-errors/apiError';
import type { EventLogStore } from '@turnpike/event-log/eventLogStore';
import { createBodyReader } from '@turnpike/http-service/createBodyReader';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { LedgerFault } from '../api/ledgerFault.ts';

const BODY_LIMIT_BYTES = 8 * 1024 * 1024;
/** Topics are `noun.past-verb.vN`. */
const TOPIC_PATTERN = /^[a-z0-9.-]{1,128}\.v\d{1,3}$/;
const paramsSchema = z.object({ topic: z.string() });
const batchSchema = z.object({
  records: z
    .array(
      z.object({
        key: z
          .string()
          .max(256)
          .regex(/^[^\0]*$/, 'must not hold a NUL'),
        value: z.string().max(64 * 1024),
      }),
    )
    .min(1)
    .max(1_000),
});

/** POST /internal/event-log/{topic}: appends a batch to the embedded event log; 200 once it is committed. */
export function postEventLog({ store }: { store: EventLogStore | undefined }): RequestHandler {
  const readBody = createBodyReader(batchSchema, { limitBytes: BODY_LIMIT_BYTES });
  return async (req, res) => {
    const { topic } = paramsSchema.parse(req.params);
    if (!store || !TOPIC_PATTERN.test(topic)) throw new ApiError<LedgerFault>({ kind: 'unknown_topic' });
    const { records } = await readBody(req, res);
    await store.append(topic, records);
    res.json({});
  };
}
