import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { toInstantCell } from '../report/amounts.ts';

const COLUMNS = [{ title: 'job' }, { title: 'kind' }, { title: 'ended' }, { title: 'lacks' }];

export const listOverdueJobs = defineCommand({
  words: 'media overdue',
  summary: 'media jobs of which something is overdue: end, settlement, backend, removal; exit code 1 if there is one',
  input: z.object({}),
  async run(_input, { services, table }) {
    const { jobs } = await services.media.listOverdueJobs();
    const rows = jobs.map(({ id, modality, ended_at: endedAt, lacks }) => [
      id,
      modality,
      toInstantCell(endedAt),
      lacks,
    ]);
    return {
      document: { jobs },
      text: rows.length > 0 ? table(COLUMNS, rows) : 'No media job lacks anything.',
      isFailure: rows.length > 0,
    };
  },
});
