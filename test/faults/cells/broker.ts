import { setTimeout as pause } from 'node:timers/promises';
import { readRows } from '../books/readLedger.ts';
import type { CellTable } from '../cell.ts';
import type { CellContext } from '../cellContext.ts';
import { disturb, freeze, kill } from '../fault.ts';
import { appendEvents, countEvents, deleteTopic, readEvents } from '../stack/topic.ts';

export const broker: CellTable = {
  'broker-kill': {
    breaks: 'kill -9 of the Kafka broker under load, back after 4 s',
    holds: 'every call ends well, as if nothing had happened',
    eventLog: 'kafka',
    fault: kill('kafka'),
    forMs: 4_000,
    ends: { ok: true },
  },
  'broker-freeze': {
    breaks: 'SIGSTOP of the Kafka broker for 12 s, longer than any request to it may take',
    holds: 'every call ends well; what was sent twice is counted once',
    eventLog: 'kafka',
    fault: freeze('kafka'),
    forMs: 12_000,
    ends: { ok: true },
  },
  'broker-slow': {
    breaks: 'every acknowledgement of the broker takes 2 s longer, for 6 s',
    holds: 'every call ends well',
    eventLog: 'kafka',
    fault: disturb({ from: 'model-router', to: 'kafka' }, { delayMs: 1_000 }),
    forMs: 6_000,
    ends: { ok: true },
  },
  'broker-cut': {
    breaks: 'the ledger is cut off from the broker without a word, for longer than its session lasts',
    holds: 'every call ends well; rows come late and never twice',
    eventLog: 'kafka',
    fault: disturb({ from: 'usage-ledger', to: 'kafka' }, { blackHole: true }),
    forMs: 13_000,
    ends: { ok: true },
  },
  'broker-away': {
    breaks: 'the broker is away for longer than the spool of 16 MiB lasts',
    holds: 'at nine tenths of it new calls get 503, before anything is lost; /v1/models goes on; the spool drains',
    eventLog: 'kafka',
    serviceSettings: {},
    run: fillTheSpool,
  },
  replays: {
    breaks: 'the ledger’s offsets go back to the beginning three times, as after a restored backup',
    holds: 'every event that comes again changes nothing',
    eventLog: 'kafka',
    fault: {
      ...kill('usage-ledger'),
      async strike({ stack: { ledger, parts } }) {
        await ledger.query('UPDATE event_offset SET next_offset = 0');
        // The offset is read anew when partitions are assigned.
        await parts.kill('usage-ledger');
      },
    },
    forMs: 200,
    times: 3,
    ends: { ok: true },
  },
  reordered: {
    breaks: 'every event is written to the topic twice more, in a drawn order and under other partition keys',
    holds: 'the rows and sums are those of one event a call',
    eventLog: 'kafka',
    run: writeEventsAgain,
  },
  poison: {
    breaks: '100 events that nobody can read, between those of the calls',
    holds: 'all 100 end among the dead letters within 30 s, and every other is counted',
    eventLog: 'kafka',
    run: writePoison,
  },
  'topic-deleted': {
    breaks: 'the topic is deleted with events that the dead ledger has not read',
    holds: 'calls go on, and what was deleted is sent again within a minute: every call has its row',
    eventLog: 'kafka',
    serviceSettings: {},
    run: deleteUnreadEvents,
  },
};

/** Events of 0.7 KB: a little more than a spool of 16 MiB holds. */
const MOST_CALLS = 40_000;
const CALLS_PER_SECOND = 450;

async function fillTheSpool(context: CellContext): Promise<void> {
  const { parts } = context.stack;
  await parts.kill('kafka');
  const load = context.startLoad({
    calls: MOST_CALLS,
    perSecond: CALLS_PER_SECOND,
    openAtMost: 200,
    tokens: [1, 1],
    streamShare: 0,
  });
  const isRefused = (): boolean => load.records.some(({ outcome }) => outcome === '503');
  while (!isRefused() && load.sent < MOST_CALLS) await pause(20);
  await pause(500);
  load.stop();
  const calls = await load.done;
  context.check(
    calls.some(({ outcome }) => outcome === '503'),
    'the spool never was full',
  );
  context.checkOutcomes(calls, { ok: true, '503': true });
  const { status } = await context.ask('/models');
  context.check(status === 200, `GET /v1/models answers ${status} while the spool is full`);
  await parts.restart('kafka');
  await context.repaired();
}

async function writeEventsAgain(context: CellContext): Promise<void> {
  const { kafkaBrokers, ledger } = context.stack;
  const brokers = kafkaBrokers ?? '';
  const calls = await context.startLoad({ calls: context.calls }).done;
  context.checkOutcomes(calls, { ok: true });
  const events = (await readEvents(brokers)).filter((value) => value.includes(context.account.workspaceId));
  const again = [...events, ...events]
    .map((value) => ({ value, turn: context.random.share() }))
    .sort((a, b) => a.turn - b.turn);
  await appendEvents(
    brokers,
    again.map(({ value, turn }) => ({ key: String(turn), value })),
  );
  await context.until('the ledger to have read them all', async () => {
    const { rows } = await ledger.query('SELECT sum(next_offset) AS read FROM event_offset');
    return Number(rows[0]?.read) >= (await countEvents(brokers));
  });
}

const POISON = [
  'not JSON',
  '{"version":1}',
  '{"version":99,"callId":"a"}',
  '{"callId":"nul \\u0000"}',
  `{"version":1,"promptTokens":${2 ** 70}}`,
  `{"deep":${'['.repeat(5_000)}${']'.repeat(5_000)}}`,
  '',
];
const POISON_COUNT = 100;
const DEAD_WITHIN_MS = 30_000;

async function writePoison(context: CellContext): Promise<void> {
  const { kafkaBrokers, ledger } = context.stack;
  const countLetters = async () => Number((await ledger.query('SELECT count(*) AS n FROM dead_letter')).rows[0]?.n);
  const before = await countLetters();
  const load = context.startLoad({ calls: context.calls });
  for (let written = 0; written < POISON_COUNT; written += 10) {
    await load.untilSent((context.calls * written) / POISON_COUNT);
    const records = Array.from({ length: 10 }, (_, index) => ({
      key: String(context.random.between(0, 1_000)),
      value: POISON[(written + index) % POISON.length] ?? '',
    }));
    await appendEvents(kafkaBrokers ?? '', records);
  }
  context.checkOutcomes(await load.done, { ok: true });
  await context.until('all dead letters', async () => (await countLetters()) - before === POISON_COUNT, DEAD_WITHIN_MS);
}

/** When an event that the log took and the ledger does not show is sent again, and some. */
const SENT_AGAIN_WITHIN_MS = 60_000;

async function deleteUnreadEvents(context: CellContext): Promise<void> {
  const { parts, ledger, kafkaBrokers } = context.stack;
  const { workspaceId, keys } = context.account;
  const countRows = async () => (await readRows(ledger, [workspaceId])).length;
  const calls = Math.ceil(context.calls / 10);

  context.checkOutcomes(await context.startLoad({ calls }).done, { ok: true });
  await context.until('the rows of before', async () => (await countRows()) === calls + keys.length);
  await parts.kill('usage-ledger');
  context.checkOutcomes(await context.startLoad({ calls }).done, { ok: true });
  const appended = 2 * calls + keys.length;
  await context.until('the events in the topic', async () => (await countEvents(kafkaBrokers ?? '')) >= appended);
  await deleteTopic(kafkaBrokers ?? '');
  await parts.restart('usage-ledger');
  context.checkOutcomes(await context.startLoad({ calls }).done, { ok: true });
  // Records that were deleted unread stay in the routers' spools until they are recorded.
  const all = 3 * calls + keys.length;
  await context.until('a row of every call', async () => (await countRows()) === all, SENT_AGAIN_WITHIN_MS);
}
