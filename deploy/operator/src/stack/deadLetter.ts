import { z } from 'zod';
import type { ServiceClient } from './createServiceClient.ts';
import { readPages } from './readPages.ts';

/** A record that the ledger could not read, as it shows it to the operator. */
export const deadLetterSchema = z.object({
  id: z.string(),
  topic: z.string(),
  partition: z.number(),
  offset: z.string(),
  reason: z.string(),
  bytes: z.number(),
  recorded_at: z.string(),
  replayed_at: z.string().nullable(),
});
export type DeadLetter = z.output<typeof deadLetterSchema>;

const pageSchema = z
  .object({ dead_letters: z.array(deadLetterSchema), next_after: z.string().nullable() })
  .transform(({ dead_letters: entries, next_after: nextAfter }) => ({ entries, nextAfter }));

/** Those that wait to be replayed, or with `isAll` every one there ever was. */
export function readDeadLetters(services: ServiceClient, { isAll }: { isAll: boolean }): Promise<DeadLetter[]> {
  const filter = isAll ? '&replayed=include' : '';
  return readPages((after) => {
    const path = `/internal/dead-letters?after=${after || '0'}${filter}`;
    return services.call({ service: 'usage-ledger', method: 'GET', path }, pageSchema);
  });
}
