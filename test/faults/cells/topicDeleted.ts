import { toUsdText } from '@turnpike/money/nanoUsd';
import { readBalances } from '../books/readBalances.ts';
import { readRows } from '../books/readLedger.ts';
import type { Cell } from '../cell.ts';
import { reconcile } from '../stack/reconcile.ts';
import { countEvents, deleteTopic } from '../stack/topic.ts';

const SPENT = 'spent: Redis = ledger + not read yet';

export const cell: Cell = {
  name: 'topic-deleted',
  group: 'broker',
  breaks: 'the topic is deleted with events that the dead ledger has not read',
  holds: 'calls go on and are recorded again, and `turnpike reconcile` says what is missing, to the nano-dollar',
  eventLog: 'kafka',
  serviceSettings: {},
  async run(context) {
    context.booksAreGone = true;
    const { parts, ledger, redis, stackFile, kafkaBrokers } = context.stack;
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
    await context.until('a row of after', async () => (await countRows()) > calls + keys.length);

    // It waits for the log to be read to its end, so what is not in the ledger then is missing.
    const { agree, report } = await reconcile(stackFile, workspaceId);
    const spent = (await readBalances(redis, workspaceId, [])).wallet?.spent ?? 0n;
    const rows = await readRows(ledger, [workspaceId]);
    const missing = toUsdText(spent - rows.reduce((sum, { charge }) => sum + charge, 0n));
    const line = report.split('\n').find((text) => text.includes(SPENT)) ?? '';
    context.check(!agree && line.includes(missing), `reconcile says: ${line || report}; missing are ${missing} USD`);
    const lost = appended + calls - rows.length;
    context.check(lost >= calls, `${lost} calls are missing, though ${calls} were deleted unread`);
    context.notes.push(`${lost} calls are missing, and reconcile says so: ${line.trim().replace(/ {2,}/g, '  ')}`);
  },
};
