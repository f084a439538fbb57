import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { anEngineRegistry } from '../../test/anEngineRegistry.ts';
import { engineChunks } from '../../test/engineChunks.ts';
import { begin, createStreamHouse } from '../../test/serveStreams.ts';
import type { CallNews } from '../engines/engineRegistry.ts';

const house = createStreamHouse();
afterEach(() => house.closeAll());

const DEADLINE_MS = 500;
const WHOLE = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'whole' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
});

/** Holds this process up for longer than the deadline. What comes then is not there at once. */
async function standStill(): Promise<void> {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * DEADLINE_MS);
  await pause(DEADLINE_MS / 10);
}
const end = (res: ServerResponse) => res.end(engineChunks.text('late') + engineChunks.ending(3));

it.each<[string, object, (res: ServerResponse) => Promise<unknown>]>([
  ['the first event', { stream: true }, (res) => standStill().then(() => end(begin(res)))],
  [
    'an event after another',
    { stream: true },
    (res) => pause(20, begin(res, engineChunks.text('early'))).then((begun) => standStill().then(() => end(begun))),
  ],
  ['a whole answer', {}, (res) => standStill().then(() => res.writeHead(200).end(WHOLE))],
])('says nothing of an engine where this process stood still while %s was due', async (_what, fields, answer) => {
  const engine = await house.engineThat((res) => void answer(res));
  const news: CallNews[] = [];
  const registry = anEngineRegistry(() => [engine.engine], { report: (_engine, told) => news.push(told) });
  const served = await house.streamed([engine], {
    registry,
    fields,
    timeouts: { firstEventMs: DEADLINE_MS, betweenEventsMs: DEADLINE_MS, wholeMs: DEADLINE_MS },
  });
  const response = await fetch(served.url);
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('stop')]);
  expect(news.map(({ kind }) => kind)).toEqual(['completed']);
});
