import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { organizationId } from '../cli/fields.ts';
import { toInstantCell } from '../report/amounts.ts';

const COLUMNS = [{ title: 'user' }, { title: 'name' }, { title: 'address' }, { title: 'role' }, { title: 'joined' }];

export const listMembers = defineCommand({
  words: 'members list',
  summary: 'the members of an organization and their roles',
  isOfAllRegions: true,
  operands: { organizationId: 'ORG' },
  input: z.object({ organizationId }),
  async run({ organizationId: id }, { services, table }) {
    const { members } = await services.account.listMembers({ params: { organization_id: id } });
    const rows = members.map((member) => [
      member.user_id,
      member.name,
      member.address ?? '-',
      member.role,
      toInstantCell(member.joined_at),
    ]);
    return { document: { organization_id: id, members }, text: table(COLUMNS, rows) };
  },
});
