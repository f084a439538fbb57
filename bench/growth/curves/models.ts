import { rename, writeFile } from 'node:fs/promises';
import { listModels } from '@turnpike/local-stack/listModels';
import { waitFor } from '@turnpike/local-stack/waitFor';
import { toCatalogFile } from '../../calls/catalogFile.ts';
import { listChatModels, toBytes, toChatRequest } from '../../calls/wire.ts';
import { measureInOrder, OF_CALLS, toLines } from '../callLines.ts';
import type { Curve } from '../curve.ts';
import { measureCalls, readRest, sendAll } from '../measureCalls.ts';
import type { GrowthStack } from '../startGrowthStack.ts';

const SIZES = [1, 200];
const LONG_SIZES = [1, 20, 200];
const READY_TIMEOUT_MS = 60_000;
const WARM_UP_CALLS = 1_000;

/** Models of the catalog, all on one engine, which calls name in turn. */
export const models: Curve = {
  name: 'models',
  async measure({ rounds, isLong, progress, startStack }) {
    const stack = await startStack();
    const { router, redis, ledger, postgres } = stack.behind;
    const parts = { router, redis, ledger, postgres };
    let requests: string[] = [];
    let atRest: Record<string, number> = {};
    const measured = await measureInOrder(isLong ? LONG_SIZES : SIZES, rounds, {
      async grow(size) {
        progress(`${size} models`);
        await listInCatalog(stack, size);
        requests = Array.from({ length: WARM_UP_CALLS }, (_, index) => {
          const model = listChatModels(size)[index % size] ?? '';
          const apiKey = stack.apiKeys[index % stack.apiKeys.length] ?? '';
          return toBytes(toChatRequest({ model }), { port: stack.ports.router, apiKey });
        });
        await sendAll(stack, requests, 1);
        atRest = await readRest(parts);
      },
      measure: () => measureCalls(stack, { requests, parts, atRest }),
    });
    await listInCatalog(stack, 1);
    const lines = toLines(measured, OF_CALLS);
    return [{ name: 'models', title: 'Processor time of a call by models', along: 'models', isRelative: true, lines }];
  },
};

async function listInCatalog({ running, catalogFile, engine }: GrowthStack, count: number): Promise<void> {
  await engine.ask({ tokens: 1, everyMs: 20, models: count });
  await writeFile(`${catalogFile}.partial`, toCatalogFile(listChatModels(count)));
  await rename(`${catalogFile}.partial`, catalogFile);
  const { base_url: baseUrl, api_key: apiKey } = running.stack.regions.us;
  const areReady = await waitFor(
    async () => {
      const listed = await listModels(baseUrl, apiKey).catch(() => undefined);
      // Beside those that chat there is one of embeddings.
      return listed?.filter((model) => model.is_ready).length === count + 1 || undefined;
    },
    { timeoutMs: READY_TIMEOUT_MS, intervalMs: 250 },
  );
  if (!areReady) throw new Error(`not all of ${count} models became ready`);
}
