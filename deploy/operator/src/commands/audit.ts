import { z } from 'zod';
import { type Command, defineCommand } from '../cli/command.ts';
import { auditLine, keyId, organizationId } from '../cli/fields.ts';
import { toInstantCell } from '../report/cells.ts';
import { type Columns, tabulate } from '../report/entries.ts';

const toCell = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));

export const auditCommands: Command[] = [
  defineCommand({
    words: 'audit list',
    summary: 'the last 100 changes of an organization, the newest first',
    isOfAllRegions: true,
    input: z.object({ organizationId, before: auditLine }),
    async run({ organizationId: id, before }, { services, table }) {
      const { lines, next } = await services.account.listAudit({ params: { organization_id: id, before } });
      const columns = {
        line: 'audit_id',
        at: (line) => toInstantCell(line.at),
        actor: 'actor',
        action: 'action',
        target: 'target',
        before: (line) => toCell(line.before),
        after: (line) => toCell(line.after),
        from: 'address',
      } satisfies Columns<(typeof lines)[number]>;
      return {
        document: { organization_id: id, lines, next },
        text: lines.length > 0 ? tabulate(table, columns, lines) : 'There are no changes.',
      };
    },
  }),
  defineCommand({
    words: 'audit key',
    summary:
      'the last 100 changes of a key that members made, the newest first; those of operators are lines in auth’s log',
    input: z.object({ keyId, before: auditLine }),
    async run({ keyId: id, before }, { services, table }) {
      const { changes, next_before: next } = await services.auth.listKeyChanges({ params: { key_id: id, before } });
      const columns = {
        line: 'change_id',
        at: (change) => toInstantCell(change.at),
        member: 'user_id',
        role: 'role',
        action: 'action',
        before: (change) => toCell(change.before),
        after: (change) => toCell(change.after),
      } satisfies Columns<(typeof changes)[number]>;
      return {
        document: { key_id: id, changes, next },
        text: changes.length > 0 ? tabulate(table, columns, changes) : 'No member has changed this key.',
      };
    },
  }),
];
