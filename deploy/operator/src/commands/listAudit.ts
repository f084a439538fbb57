import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { organizationId } from '../cli/fields.ts';
import { toInstantCell } from '../report/amounts.ts';

const COLUMNS = [
  { title: 'line' },
  { title: 'at' },
  { title: 'actor' },
  { title: 'action' },
  { title: 'target' },
  { title: 'before' },
  { title: 'after' },
  { title: 'from' },
];
const toCell = (value: unknown): string => (value === null ? '-' : JSON.stringify(value));

export const listAudit = defineCommand({
  words: 'audit list',
  summary: 'the last 100 changes of an organization, the newest first',
  isOfAllRegions: true,
  operands: { organizationId: 'ORG' },
  options: { before: { value: 'LINE', help: 'the 100 before this line' } },
  input: z.object({
    organizationId,
    before: z
      .string()
      .regex(/^\d{1,18}$/, 'must be the number of a line')
      .optional(),
  }),
  async run({ organizationId: id, before }, { services, table }) {
    const { lines, next } = await services.account.listAudit({ params: { organization_id: id, before } });
    const rows = lines.map((line) => [
      line.audit_id,
      toInstantCell(line.at),
      line.actor,
      line.action,
      line.target,
      toCell(line.before),
      toCell(line.after),
      line.address ?? '-',
    ]);
    return {
      document: { organization_id: id, lines, next },
      text: rows.length > 0 ? table(COLUMNS, rows) : 'There are no changes.',
    };
  },
});
