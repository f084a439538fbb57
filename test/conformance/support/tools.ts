import { z } from 'zod';

const PARAMETERS = {
  type: 'object',
  properties: { city: { type: 'string', minLength: 40 }, days: { type: 'integer', minimum: 1, maximum: 7 } },
  required: ['city', 'days'],
  additionalProperties: false,
};

/** Two functions, `forecast` and `history`, as a client declares them. */
export const TOOLS = ['forecast', 'history'].map((name) => ({
  type: 'function',
  function: { name, description: `Weather ${name}, « où » 天気`, parameters: PARAMETERS },
}));

/** The schema of the arguments of a call of either tool. */
export const toolArgumentsSchema = z.fromJSONSchema(PARAMETERS as z.core.JSONSchema.JSONSchema);

/** A `tool_choice` that names a function. */
export const naming = (name: string) => ({ type: 'function', function: { name } });

/** The ways in which a model comes to call tools: what the engine is told, what the client chooses, what is called. */
export const TOOL_CALLS = [
  { directives: 'tool_call=history', fields: {}, names: ['history'] },
  {
    directives: 'tool_call=history tool_call=forecast',
    fields: { tool_choice: 'auto' },
    names: ['history', 'forecast'],
  },
  { directives: '', fields: { tool_choice: 'required' }, names: ['forecast'] },
  { directives: '', fields: { tool_choice: naming('history') }, names: ['history'] },
].map(({ fields, ...way }) => ({ ...way, fields: { tools: TOOLS, ...fields } }));
