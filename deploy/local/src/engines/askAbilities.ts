import { request } from 'undici';
import { z } from 'zod';
import type { DiscoveredModel } from './discoverModels.ts';
import { parseJson, readAtMost } from './readAnswer.ts';

/** For each question; an engine may load its model for the first. */
const DEADLINE_MS = 20_000;
const MAX_ANSWER_BYTES = 1024 * 1024;

/** A green square of 64 × 64 pixels. */
const PICTURE =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAATElEQVR42u3PQQkAAAgAseufwqhG8C0MVmA1/SYgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgcFlT0gCXrcLQywAAAABJRU5ErkJggg==';

const TOOL = {
  type: 'function',
  function: {
    name: 'greet',
    description: 'Greets a person.',
    parameters: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  },
};
const SCHEMA = {
  type: 'object',
  properties: { is_odd: { type: 'boolean' } },
  required: ['is_odd'],
  additionalProperties: false,
};
const keptSchema = z.strictObject({ is_odd: z.boolean() });

const answerSchema = z.object({
  choices: z
    .array(
      z.object({
        message: z.object({
          content: z.string().nullish().catch(null),
          tool_calls: z.array(z.unknown()).nullish().catch(null),
        }),
      }),
    )
    .min(1),
  usage: z.object({ prompt_tokens: z.number() }).optional().catch(undefined),
});
type Answer = z.infer<typeof answerSchema>;

const propsSchema = z.object({ default_generation_settings: z.object({ n_ctx: z.number().int().positive() }) });

/**
 * Tests the abilities of an engine's model by calls, and returns the model with them. An ability that does not show
 * within the deadline is not listed. Throws `signal`'s reason if it is aborted.
 */
export async function askAbilities(
  url: string,
  model: DiscoveredModel,
  signal: AbortSignal | undefined,
): Promise<DiscoveredModel> {
  const send = async (path: string, body?: object): Promise<unknown> => {
    const deadline = AbortSignal.timeout(DEADLINE_MS);
    try {
      const answer = await request(url + path, {
        ...(body && { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
        signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
        reset: true,
      });
      if (answer.statusCode === 200) return parseJson((await readAtMost(answer.body, MAX_ANSWER_BYTES)) ?? '');
      await answer.body.dump();
      return undefined;
    } catch {
      signal?.throwIfAborted();
      return undefined;
    }
  };
  const chat = async (content: string | object[], more: object): Promise<Answer | undefined> => {
    const messages = [{ role: 'user', content }];
    const body = { model: model.servedName, messages, temperature: 0, max_tokens: 64, ...more };
    return answerSchema.safeParse(await send('/v1/chat/completions', body)).data;
  };
  const callsTool = async (choice: 'auto' | 'required') => {
    const answer = await chat('Greet Ada by the tool.', { tools: [TOOL], tool_choice: choice });
    return answer && (answer.choices[0]?.message.tool_calls?.length ?? 0) > 0;
  };
  const keepsSchema = async () => {
    const format = { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema: SCHEMA } };
    const answer = await chat('Say hello.', { response_format: format });
    return keptSchema.safeParse(parseJson(answer?.choices[0]?.message.content ?? '')).success;
  };
  /** Compares prompt tokens, because an engine that ignores an image counts the same prompt. */
  const takesPictures = async () => {
    const text = { type: 'text', text: 'Name this color.' };
    const without = await chat([text], { max_tokens: 1 });
    const withOne = await chat([text, { type: 'image_url', image_url: { url: PICTURE } }], { max_tokens: 1 });
    return (withOne?.usage?.prompt_tokens ?? 0) > (without?.usage?.prompt_tokens ?? Number.POSITIVE_INFINITY);
  };

  // `auto` needs a parser of calls, which an engine may lack, and `required` shows a call of a model that would not make one.
  const auto = await callsTool('auto');
  const hasTools = auto === true || (auto === false && (await callsTool('required')) === true);
  const hasSchemas = model.features.includes('json_schema') || (await keepsSchema());
  const takesImages = await takesPictures();
  // llama.cpp states its window there.
  const props = model.contextLength === undefined ? propsSchema.safeParse(await send('/props')).data : undefined;
  return {
    ...model,
    contextLength: model.contextLength ?? props?.default_generation_settings.n_ctx,
    category: takesImages ? 'multimodal' : 'text',
    features: [...(hasTools ? ['tools'] : []), ...(hasSchemas ? ['json_mode', 'json_schema'] : [])],
  };
}
