import { z } from 'zod';
import { type Context, defineCommand, type Report } from '../cli/command.ts';
import { modelId } from '../cli/fields.ts';

async function change(id: string, how: 'disable' | 'enable', { services }: Context): Promise<Report> {
  const call = { params: { model_id: id } };
  const { model, version } = await (how === 'disable'
    ? services.catalog.disableModel(call)
    : services.catalog.enableModel(call));
  const state = `${how}d`;
  return {
    document: { model, state, version },
    text: `${model} is ${state} by catalog version ${version}, which every router has within 5 s.`,
  };
}

const operands = { model: 'MODEL' };
const input = z.object({ model: modelId });

export const disableModel = defineCommand({
  words: 'models disable',
  summary: 'take a model out of service until it is enabled, whatever the catalog file says',
  operands,
  input,
  run: ({ model }, context) => change(model, 'disable', context),
});

export const enableModel = defineCommand({
  words: 'models enable',
  summary: 'put a disabled model back into service',
  operands,
  input,
  run: ({ model }, context) => change(model, 'enable', context),
});
