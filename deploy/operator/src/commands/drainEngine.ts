import { z } from 'zod';
import { type Context, defineCommand, type Report } from '../cli/command.ts';
import { engineId } from '../cli/fields.ts';

async function change(id: string, how: 'drainEngine' | 'undrainEngine', { services }: Context): Promise<Report> {
  const answer = await services.router[how]({ params: { engine_id: id } });
  const text =
    how === 'drainEngine'
      ? `${id} takes nothing new, on every router within 2 s. The router that answered has ${answer.open_calls} calls there.`
      : `${id} takes calls again, on every router within 2 s.`;
  return { document: answer, text };
}

const operands = { engine: 'ENGINE' };
const input = z.object({ engine: engineId });

export const drainEngine = defineCommand({
  words: 'engines drain',
  summary: 'give an engine nothing new until it is undrained, and let it finish what it has',
  operands,
  input,
  run: ({ engine }, context) => change(engine, 'drainEngine', context),
});

export const undrainEngine = defineCommand({
  words: 'engines undrain',
  summary: 'let a drained engine take calls again',
  operands,
  input,
  run: ({ engine }, context) => change(engine, 'undrainEngine', context),
});
