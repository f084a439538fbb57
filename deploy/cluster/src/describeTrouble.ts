import { z } from 'zod';
import { getJson, kubectl } from './kubectl.ts';

const LINES = 3;

const podsSchema = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string() }),
      status: z.object({
        phase: z.string(),
        conditions: z
          .array(z.object({ type: z.string(), status: z.string(), message: z.string().optional() }))
          .optional(),
        containerStatuses: z
          .array(
            z.object({
              ready: z.boolean(),
              restartCount: z.number(),
              state: z.object({ waiting: z.object({ reason: z.string(), message: z.string().optional() }).optional() }),
            }),
          )
          .optional(),
      }),
    }),
  ),
});

/** A line for each pod of a namespace that is not ready, with what it waits for and the last that it wrote. */
export async function describeTrouble(namespace: string): Promise<string> {
  const { items } = podsSchema.parse(await getJson(['get', 'pods', '-n', namespace]));
  const troubled = items.filter(
    ({ status }) => status.phase !== 'Succeeded' && status.containerStatuses?.every(({ ready }) => ready) !== true,
  );
  const lines = troubled.map(async ({ metadata: { name }, status }) => {
    const waits = status.containerStatuses?.flatMap(({ state }) => state.waiting?.reason ?? []) ?? [];
    const unmet = status.conditions?.flatMap((condition) =>
      condition.status === 'False' ? (condition.message ?? []) : [],
    );
    const logs = await kubectl(['logs', '-n', namespace, name, `--tail=${LINES}`]).catch(() => '');
    return [`  ${name}: ${[status.phase, ...waits, ...(unmet ?? [])].join(', ')}`, ...logs.trim().split('\n')].join(
      '\n    ',
    );
  });
  return (await Promise.all(lines)).join('\n');
}
