import { setTimeout as pause } from 'node:timers/promises';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import type { Bench } from '../bench.ts';
import { readProcessorTime } from '../calls/readProcess.ts';
import { untilIdle } from '../calls/untilIdle.ts';
import { withStack } from '../inFolder.ts';
import { operatorOf } from '../region.ts';
import { type Counts, openCoverage } from './coverage.ts';

const WARM_UP_CALLS = 200;
const PAID_CALLS = 200;
const ROUNDS = 3;
const TOKENS = 40;
const WINDOWS = 5;
/** A chat and all that it leaves behind take less. Connections that it used stay open for longer. */
const WINDOW_MS = 3_000;
const MAX_FILES = 60;
const MAX_FUNCTIONS = 250;
const PLENTY = 100_000_000;

/** The way of one streamed chat through a warm router: what only runs then, by V8's precise coverage. */
export const bench: Bench = {
  isOnRequest: true,
  measures: 'files and functions of the router that one streamed chat passes, and its processor time',
  async run({ progress, isLong, timed }) {
    const port = await findFreePort();
    progress('starting a stack');
    const serviceSettings = {
      edge: { LIMITS: { FLOOD_REQUESTS_PER_MINUTE: PLENTY, FLOOD_BURST: PLENTY } },
      // A busy machine answers later; what is counted takes no notice.
      'model-router': {
        NODE_OPTIONS: `--inspect=127.0.0.1:${port}`,
        AUTH_TIMEOUT_MS: '30000',
        REDIS_TIMEOUT_MS: '30000',
      },
    };
    return withStack({ timed, serviceSettings }, async (running) => {
      const { services, base_url: baseUrl } = running.stack.regions.us;
      const operator = await operatorOf(running);
      const apiKey = await operator.makeFundedKey({ rpm: 1_000_000, tpm: 1_000_000_000 }, { creditUsd: '1000' });
      const router = services['model-router'].pid;
      const model =
        running.regions.us.models.find(({ category }) => category === 'text')?.id ?? running.regions.us.models[0]?.id;
      const chat = async (): Promise<void> => {
        const answer = await fetch(`${baseUrl}/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
          body: JSON.stringify({
            model,
            stream: true,
            max_tokens: TOKENS,
            messages: [
              { role: 'user', content: `[[sim: ttft_ms=0 itl_ms=0 tokens=${TOKENS}]] ${'What is this? '.repeat(80)}` },
            ],
          }),
        });
        const text = await answer.text();
        if (!text.includes('[DONE]')) throw new Error(`a chat came to ${answer.status}: ${text.slice(-300)}`);
      };
      progress('warming up');
      for (let call = 0; call < WARM_UP_CALLS; call += 1) await chat();
      const costs: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        progress(`round ${round + 1} of ${ROUNDS}`);
        await untilIdle([router]);
        const before = readProcessorTime(router);
        for (let call = 0; call < PAID_CALLS; call += 1) await chat();
        costs.push((readProcessorTime(router) - before) / PAID_CALLS);
      }
      progress('counting');
      const coverage = await openCoverage(port);
      // Each window begins soon after a chat, so that the one in it finds open connections, as among others it does.
      const takeWindow = async (act: () => Promise<void>): Promise<Counts> => {
        await chat();
        await pause(WINDOW_MS);
        await coverage.take();
        await Promise.all([act(), pause(WINDOW_MS)]);
        return await coverage.take();
      };
      const idle: Counts[] = [];
      const called: Counts[] = [];
      for (let window = 0; window < WINDOWS; window += 1) {
        idle.push(await takeWindow(async () => {}));
        called.push(await takeWindow(chat));
      }
      coverage.close();
      progress('');
      const way = findWay(idle, called);
      const files = Map.groupBy(way, (each) => each.split(' ')[0] ?? '');
      for (const [file, functions] of [...files].sort()) {
        process.stdout.write(`${String(functions.length).padStart(4)}  ${file}\n`);
        if (isLong) for (const each of functions) process.stdout.write(`        ${each.split(' ')[1]}\n`);
      }
      return [
        { name: 'files of a streamed chat in the router', rounds: [files.size], atMost: MAX_FILES },
        { name: 'functions of a streamed chat in the router', rounds: [way.length], atMost: MAX_FUNCTIONS },
        { name: 'processor time of the router for a streamed chat', rounds: costs, unit: 'µs' },
      ];
    });
  },
};

/** Functions that each window with a chat called more often than any window without one. */
function findWay(idle: readonly Counts[], called: readonly Counts[]): string[] {
  const [first = new Map()] = called;
  const mostIdle = (each: string): number => Math.max(...idle.map((counts) => counts.get(each) ?? 0));
  return [...first.keys()].filter((each) => called.every((counts) => (counts.get(each) ?? 0) > mostIdle(each)));
}
