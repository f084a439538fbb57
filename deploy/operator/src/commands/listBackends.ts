import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';

const COLUMNS = [
  { title: 'id' },
  { title: 'state' },
  { title: 'model' },
  { title: 'engine' },
  { title: 'slots', isNumber: true },
  { title: 'address' },
];

export const listBackends = defineCommand({
  words: 'media backends',
  summary: 'the media backends as the process that answers sees them; the backends file drains one by "draining": true',
  input: z.object({}),
  async run(_input, { services, table }) {
    const { backends } = await services.media.listBackends();
    const rows = backends.map(({ id, state, is_draining: isDraining, model, engine, slots, url }) => [
      id,
      isDraining ? `${state}, draining` : state,
      model,
      engine,
      String(slots),
      url,
    ]);
    return { document: { backends }, text: rows.length > 0 ? table(COLUMNS, rows) : 'There are no media backends.' };
  },
});
