import type { Cell } from '../cell.ts';
import { appendEvents } from '../stack/topic.ts';

const POISON = [
  'not JSON',
  '{"version":1}',
  '{"version":99,"callId":"a"}',
  '{"callId":"nul \\u0000"}',
  `{"version":1,"promptTokens":${2 ** 70}}`,
  `{"deep":${'['.repeat(5_000)}${']'.repeat(5_000)}}`,
  '',
];
const COUNT = 100;
const WITHIN_MS = 30_000;

export const cell: Cell = {
  name: 'poison',
  group: 'broker',
  breaks: '100 events that nobody can read, between those of the calls',
  holds: 'all 100 end among the dead letters within 30 s, and every other is counted',
  eventLog: 'kafka',
  async run(context) {
    const { kafkaBrokers, ledger } = context.stack;
    const countLetters = async () => Number((await ledger.query('SELECT count(*) AS n FROM dead_letter')).rows[0]?.n);
    const before = await countLetters();
    const load = context.startLoad({ calls: context.calls });
    for (let written = 0; written < COUNT; written += 10) {
      await load.untilSent((context.calls * written) / COUNT);
      const records = Array.from({ length: 10 }, (_, index) => ({
        key: String(context.random.between(0, 1_000)),
        value: POISON[(written + index) % POISON.length] ?? '',
      }));
      await appendEvents(kafkaBrokers ?? '', records);
    }
    context.checkOutcomes(await load.done, { ok: true });
    await context.until('all dead letters', async () => (await countLetters()) - before === COUNT, WITHIN_MS);
  },
};
