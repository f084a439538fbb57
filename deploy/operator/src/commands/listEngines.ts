import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';

const answerSchema = z.object({
  engines: z.array(
    z.object({
      id: z.string(),
      url: z.string(),
      model: z.string().nullable(),
      is_healthy: z.boolean(),
      tokens_in_flight: z.number(),
    }),
  ),
});

const COLUMNS = [
  { title: 'id' },
  { title: 'model' },
  { title: 'address' },
  { title: 'healthy' },
  { title: 'tokens in flight', isNumber: true },
];

export const listEngines = defineCommand({
  words: 'engines',
  summary: 'the engines as the router that answers sees them now',
  input: z.object({}),
  async run(_input, { services, table }) {
    const request = { service: 'model-router', method: 'GET', path: '/internal/engines' } as const;
    const { engines } = await services.call(request, answerSchema);
    const rows = engines.map(({ id, model, url, is_healthy: isHealthy, tokens_in_flight: tokens }) => {
      return [id, model ?? '-', url, isHealthy ? 'yes' : 'no', String(tokens)];
    });
    return { document: { engines }, text: rows.length > 0 ? table(COLUMNS, rows) : 'No engines are configured.' };
  },
});
