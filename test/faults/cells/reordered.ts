import type { Cell } from '../cell.ts';
import { appendEvents, countEvents, readEvents } from '../stack/topic.ts';

export const cell: Cell = {
  name: 'reordered',
  group: 'broker',
  breaks: 'every event is written to the topic twice more, in a drawn order and under other partition keys',
  holds: 'the rows and sums are those of one event a call',
  eventLog: 'kafka',
  async run(context) {
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
  },
};
