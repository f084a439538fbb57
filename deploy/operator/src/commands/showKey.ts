import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { keyId } from '../cli/fields.ts';
import { toAmountFields, toUsdCell } from '../report/amounts.ts';
import { DAY_MS, toDay } from '../report/days.ts';
import { formatTable } from '../report/formatTable.ts';
import { KEY_COLUMNS, toKeyDocument, toKeyRow, toShownKey } from '../stack/keyDetails.ts';

/** The days whose usage is looked at, today among them. */
const DAYS = 31;

export const showKey = defineCommand({
  words: 'keys show',
  summary: `a key, and its calls, spend and last day of use within ${DAYS} days (UTC), by the calls that are recorded`,
  operands: { keyId: 'KEY_ID' },
  input: z.object({ keyId }),
  async run({ keyId: id }, { services }) {
    const now = Date.now();
    const range = { start: toDay(now - (DAYS - 1) * DAY_MS), end: toDay(now + DAY_MS), group_by: 'day' };
    const [details, { usage }] = await Promise.all([
      services.auth.getKey({ params: { key_id: id } }),
      services.ledger.getUsage({ params: { key_id: id, ...range } }),
    ]);
    const key = toShownKey(details);
    const calls = usage.reduce((sum, { requests }) => sum + requests, 0);
    const spent = usage.reduce((sum, { charge_nano_usd: charge }) => sum + charge, 0n);
    const lastUsed = usage.reduce<string | null>((last, { day = '' }) => (last && last > day ? last : day), null);
    const cells = toKeyRow(key);
    return {
      document: {
        ...toKeyDocument(key),
        since: range.start,
        calls,
        ...toAmountFields('spent', spent),
        last_used_on: lastUsed,
      },
      text: formatTable([
        ...KEY_COLUMNS.map(({ title }, index) => [title, cells[index] ?? '']),
        ['workspace', key.workspace_id],
        [`calls since ${range.start}`, String(calls)],
        [`spent since ${range.start} USD`, toUsdCell(spent)],
        ['last used on', lastUsed ?? `not since ${range.start}`],
      ]),
    };
  },
});
