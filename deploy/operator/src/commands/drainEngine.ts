import type { engineSchema } from '@turnpike/internal-api/modelRouter';
import { z } from 'zod';
import { type Context, defineCommand, type Report } from '../cli/command.ts';
import { engineId } from '../cli/fields.ts';

type ListedEngine = z.output<typeof engineSchema>;

/** Returns the other engines of the engine's model that take calls. */
function findOthers(engine: ListedEngine, engines: ListedEngine[]): ListedEngine[] {
  return engines.filter(
    ({ id, model, state, is_healthy: isHealthy }) =>
      id !== engine.id && model === engine.model && isHealthy && state === 'ready',
  );
}

const toCalls = (count: number): string => (count === 1 ? '1 call' : `${count} calls`);

/** Drains an engine. Asks first, unless `isSure`, where no other engine of its model takes calls. */
async function drain(id: string, isSure: boolean, { services, confirm }: Context): Promise<Report> {
  const { engines } = await services.router.listEngines();
  const engine = engines.find((each) => each.id === id);
  const model = engine?.model ?? null;
  const left = engine ? findOthers(engine, engines).length : 0;
  if (engine && model !== null && left === 0 && !isSure) {
    const question = `This is the last engine that takes calls of ${model}: they will get 503. Type ${id} to do it: `;
    await confirm(question, id);
  }
  const answer = await services.router.drainEngine({ params: { engine_id: id } });
  const ofModel = model === null ? '' : ` ${model} has ${left} engines left that take calls.`;
  return {
    document: { ...answer, model, engines_left: left },
    text: `${id} takes nothing new, on every router within 2 s. The router that answered has ${toCalls(answer.open_calls)} there.${ofModel}`,
  };
}

async function undrain(id: string, { services }: Context): Promise<Report> {
  const answer = await services.router.undrainEngine({ params: { engine_id: id } });
  const { engines } = await services.router.listEngines();
  const isListed = engines.some((engine) => engine.id === id);
  return {
    document: answer,
    text: isListed
      ? `${id} takes calls again, on every router within 2 s.`
      : `${id} is not drained any more, but no engine of this id is listed now.`,
  };
}

const operands = { engine: 'ENGINE' };
const input = z.object({ engine: engineId });

export const drainEngine = defineCommand({
  words: 'engines drain',
  summary: 'give an engine nothing new until it is undrained, and let it finish what it has',
  operands,
  options: { yes: { help: 'do not ask for a confirmation where it is the last engine of its model' } },
  input: input.extend({ yes: z.boolean().default(false) }),
  run: ({ engine, yes }, context) => drain(engine, yes, context),
});

export const undrainEngine = defineCommand({
  words: 'engines undrain',
  summary: 'let a drained engine take calls again',
  operands,
  input,
  run: ({ engine }, context) => undrain(engine, context),
});
