import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { keyId } from '../cli/fields.ts';
import { toInstantCell } from '../report/amounts.ts';

const COLUMNS = [
  { title: 'line' },
  { title: 'at' },
  { title: 'member' },
  { title: 'role' },
  { title: 'action' },
  { title: 'before' },
  { title: 'after' },
];
const toCell = (value: unknown): string => (value === null ? '-' : JSON.stringify(value));

export const auditKey = defineCommand({
  words: 'audit key',
  summary:
    'the last 100 changes of a key that members made, the newest first; those of operators are lines in auth’s log',
  operands: { keyId: 'KEY_ID' },
  options: { before: { value: 'LINE', help: 'the 100 before this line' } },
  input: z.object({
    keyId,
    before: z
      .string()
      .regex(/^\d{1,18}$/, 'must be the number of a line')
      .optional(),
  }),
  async run({ keyId: id, before }, { services, table }) {
    const { changes, next_before: next } = await services.auth.listKeyChanges({ params: { key_id: id, before } });
    const rows = changes.map((change) => [
      change.change_id,
      toInstantCell(change.at),
      change.user_id,
      change.role,
      change.action,
      toCell(change.before),
      toCell(change.after),
    ]);
    return {
      document: { key_id: id, changes, next },
      text: rows.length > 0 ? table(COLUMNS, rows) : 'No member has changed this key.',
    };
  },
});
