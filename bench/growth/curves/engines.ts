import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from '@turnpike/local-stack/waitFor';
import { listLoopbacks, MODEL, toChatRequest } from '../../calls/wire.ts';
import { median } from '../../median.ts';
import { measureInOrder } from '../callLines.ts';
import { type Curve, toLine } from '../curve.ts';
import { measureCalls, sendAll, toAll } from '../measureCalls.ts';
import { type GrowthStack, MOST_ENGINES } from '../startGrowthStack.ts';

const SIZES = [1, 100];
const LONG_SIZES = [1, 10, 100, MOST_ENGINES];
const HEARD_OF_TIMEOUT_MS = 60_000;
/** Few engines are lost in what else a router does at rest. */
const LEAST_TOLD_APART = 100;
/** Some of what a router asks engines it asks every few seconds, all of them at once. */
const LONG_REST_SECONDS = 6;
const WARM_UP_CALLS = 1_000;

/**
 * Engines of one model: many addresses that lead to the one raw engine. What a router does for engines without any call is taken
 * off what a call costs, and told apart.
 */
export const engines: Curve = {
  name: 'engines',
  title: 'Processor time by the engines of a model',
  async measure({ rounds, isLong, progress, startStack }) {
    const stack = await startStack();
    const { router, redis, ledger, postgres } = stack.behind;
    const requests = toAll(stack.apiKeys, toChatRequest());
    const warmUp = Array.from({ length: WARM_UP_CALLS }, (_, index) => requests[index % requests.length] ?? '');
    const measured = await measureInOrder(isLong ? LONG_SIZES : SIZES, rounds, {
      async grow(size) {
        progress(`${size} engines`);
        await listEngines(stack, size);
        await sendAll(stack, warmUp, 1);
      },
      measure: () =>
        measureCalls(stack, {
          requests,
          parts: { router, redis, ledger, postgres },
          ...(isLong && { restSeconds: LONG_REST_SECONDS }),
        }),
    });
    await listEngines(stack, 1);
    const aCall = toLine('router, a call', measured, ({ beyondRest }) => of(beyondRest));
    const ofOne = median(measured.get(1)?.map(({ atRest }) => of(atRest)) ?? []);
    const looking = toLine(
      'router, looking after an engine more',
      measured,
      ({ atRest }, size) => (of(atRest) - ofOne) / (size - 1),
    );
    looking.points = looking.points.filter(({ size }) => size >= LEAST_TOLD_APART);
    return [aCall, looking];
  },
};

const of = ({ router = Number.NaN }: Record<string, number>): number => router;

/** Resolves when the router sends calls to so many at least: its metrics name for good what has once been there. */
async function listEngines({ running, stateDir, enginePort }: GrowthStack, count: number): Promise<void> {
  const file = join(stateDir, 'engines.json');
  const entries = listLoopbacks(count).map((address, index) => ({
    id: `engine-${index + 1}/${MODEL}`,
    url: `http://${address}:${enginePort}`,
    model: MODEL,
  }));
  await writeFile(`${file}.partial`, JSON.stringify({ engines: entries }));
  await rename(`${file}.partial`, file);
  const metrics = `${running.stack.regions.us.services['model-router'].internal_url}/metrics`;
  const areTaken = await waitFor(
    async () => {
      const text = await (await fetch(metrics)).text();
      const taken = text.match(/^turnpike_engine_breaker\{.*\} 0$/gm) ?? [];
      return taken.length >= count || undefined;
    },
    { timeoutMs: HEARD_OF_TIMEOUT_MS, intervalMs: 250 },
  );
  if (!areTaken) throw new Error(`not all of ${count} engines were taken`);
}
