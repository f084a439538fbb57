import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { encode } from '../tokenizer/tokenizer.ts';
import { promptFields } from '../wire/chatRequest.ts';
import { toMetricsText } from '../wire/metricsText.ts';
import { checkModel } from './checkSampling.ts';
import type { EngineContext } from './engineContext.ts';
import { readJson } from './readJson.ts';
import { renderPrompt } from './renderPrompt.ts';
import { sendEmpty, sendJson, sendText } from './sendAnswer.ts';

/** GET /v1/models: one card for every served name; `created` is the moment of asking, as in vLLM. */
export function getModels(res: ServerResponse, { engine, clock }: EngineContext): void {
  const { servedModelNames, root, maxModelLen } = engine.config;
  const created = Math.floor(clock.unixMs() / 1_000);
  const data = servedModelNames.map((id) => ({
    id,
    object: 'model',
    created,
    owned_by: 'vllm',
    root,
    parent: null,
    max_model_len: maxModelLen,
    permission: [{ id: `modelperm-${id}`, object: 'model_permission', created, ...PERMISSION }],
  }));
  sendJson(res, { object: 'list', data });
}

const PERMISSION = {
  allow_create_engine: false,
  allow_sampling: true,
  allow_logprobs: true,
  allow_search_indices: false,
  allow_view: true,
  allow_fine_tuning: false,
  organization: '*',
  group: null,
  is_blocking: false,
};

const tokenizeSchema = z.union([
  z.object({ model: promptFields.model, prompt: z.string() }),
  z.object({ ...promptFields, add_generation_prompt: z.boolean().default(true) }),
]);

/** POST /tokenize: the exact count a request with these messages would be billed for; the length is not checked. */
export async function postTokenize(req: IncomingMessage, res: ServerResponse, context: EngineContext): Promise<void> {
  const { engine } = context;
  const request = await readJson(req, tokenizeSchema);
  checkModel(request.model, engine);
  const tokens =
    'prompt' in request
      ? encode(request.prompt)
      : renderPrompt(request, context, { addGenerationPrompt: request.add_generation_prompt });
  sendJson(res, { count: tokens.length, max_model_len: engine.config.maxModelLen, tokens, token_strs: null });
}

/** GET /metrics, in Prometheus' text format. */
export function getMetrics(res: ServerResponse, { engine, servingState }: EngineContext): void {
  if (servingState() === 'dead') sendText(res, 'Internal Server Error', { status: 500, contentType: 'text/plain' });
  else sendText(res, toMetricsText(engine), { contentType: 'text/plain; version=1.0.0; charset=utf-8' });
}

/** GET /health: an empty 200, or 503 when the engine is dead. One that drains or sleeps is healthy. */
export function getHealth(res: ServerResponse, { servingState }: EngineContext): void {
  sendEmpty(res, servingState() === 'dead' ? 503 : 200);
}
