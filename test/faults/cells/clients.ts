import type { CellTable } from '../cell.ts';
import type { CellContext } from '../cellContext.ts';
import { AGENT_APIS, type Api } from '../load/callRecord.ts';

export const clients: CellTable = {
  'client-leaves': {
    breaks: 'clients leave whole answers and streams after 0 to 150 ms, many before anything came',
    holds:
      'a whole answer is finished and charged in full, a stream by the first count; none ends as unknown, nothing is held in the end',
    eventLog: 'kafka',
    async run(context) {
      const calls = await context.startLoad({
        calls: context.calls,
        tokens: [1, 60],
        cut: (random) => ({ afterMs: random.between(0, 150) }),
      }).done;
      context.checkOutcomes(calls, { ok: true, left: true });
    },
  },
  'streams-outlast': {
    breaks: 'half of the streams come at 2.5 tokens a second, and the base time of a stream is 2 s',
    holds:
      'slow ones end in an error event and are charged what had come, quick ones of any length end well; the engine is told to stop',
    eventLog: 'embedded',
    serviceSettings: {
      edge: { LIMITS: { STREAM_TIMEOUT_MS: 2_000 } },
      'model-router': { LIMITS: { STREAM_TIMEOUT_MS: 2_000 } },
    },
    async run(context) {
      const startedAt = Date.now();
      const calls = await context.startLoad({
        calls: Math.ceil(context.calls / 10),
        tokens: [60, 300],
        streamShare: 1,
        directives: (random) => `itl_ms=${random.share() < 0.5 ? 400 : 20}`,
      }).done;
      context.checkOutcomes(calls, { ok: true, error_event: true, '500': true });
      for (const outcome of ['ok', 'error_event'] as const)
        context.check(
          calls.filter((call) => call.outcome === outcome).length > calls.length / 4,
          `fewer than a quarter of the streams ended in ${outcome}`,
        );
      const isLong = calls.some((call) => call.outcome === 'ok' && call.endedAt - call.startedAt > 4_000);
      context.check(isLong, 'no stream ended well that took twice its base time');
      await context.untilEnginesStop(startedAt, 2_000);
    },
  },
  'client-cuts': {
    breaks: 'twice as many streams as calls of a cell, each cut by its client at a random byte',
    holds: 'what is charged lies between what was delivered and what the engine made; the engine is told to stop',
    eventLog: 'embedded',
    run: (context) => cutStreams(context, { calls: 2 * context.calls, mostBytes: 20_000 }),
  },
  ...Object.fromEntries(AGENT_APIS.map((api) => [`client-cuts-${api}`, cutUnder(api)])),
};

function cutUnder(api: Api): CellTable[string] {
  return {
    breaks: `streams of the API ${api}, each cut by its client at a random byte`,
    holds: 'what is charged lies between what was delivered and what the engine made; the engine is told to stop',
    eventLog: 'embedded',
    // The events of these APIs are about twice as long.
    run: (context) => cutStreams(context, { calls: context.calls, mostBytes: 40_000, apis: [api] }),
  };
}

async function cutStreams(
  context: CellContext,
  { calls: count, mostBytes, apis }: { calls: number; mostBytes: number; apis?: readonly Api[] },
): Promise<void> {
  const startedAt = Date.now();
  const calls = await context.startLoad({
    calls: count,
    tokens: [20, 400],
    streamShare: 1,
    ...(apis && { apis }),
    cut: (random) => ({ afterBytes: random.between(0, mostBytes) }),
  }).done;
  context.checkOutcomes(calls, { ok: true, left: true });
  await context.untilEnginesStop(startedAt, 2_000);
}
