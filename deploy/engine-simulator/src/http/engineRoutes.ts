import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { decode, encode } from '../tokenizer/tokenizer.ts';
import { promptFields } from '../wire/chatRequest.ts';
import { toMetricsText } from '../wire/metricsText.ts';
import type { EngineContext } from './engineContext.ts';
import { findServedModel } from './findServedModel.ts';
import { readJson } from './readJson.ts';
import { renderPrompt } from './renderPrompt.ts';
import { sendEmpty, sendJson, sendText } from './sendAnswer.ts';

/** GET /v1/models: one card for every served name, then the adapters; `created` is the moment of asking, as in vLLM. */
export function getModels(res: ServerResponse, { engine, clock }: EngineContext): void {
  const { servedModelNames, servedModelName, root, maxModelLen } = engine.config;
  const created = Math.floor(clock.unixMs() / 1_000);
  const toCard = (id: string, card: { root: string; parent: string | null; max_model_len: number | null }) => ({
    id,
    object: 'model',
    created,
    owned_by: 'vllm',
    ...card,
    permission: [toPermission(id, created)],
  });
  const told = engine.knobs.advertisedMaxModelLen ?? maxModelLen;
  const data = [
    ...servedModelNames.map((id) => toCard(id, { root, parent: null, max_model_len: told })),
    ...engine.adapters
      .list()
      .map(({ name, path }) => toCard(name, { root: path, parent: servedModelName, max_model_len: null })),
  ];
  sendJson(res, { object: 'list', data });
}

const toPermission = (id: string, created: number): object => ({
  id: `modelperm-${id}`,
  object: 'model_permission',
  created,
  allow_create_engine: false,
  allow_sampling: true,
  allow_logprobs: true,
  allow_search_indices: false,
  allow_view: true,
  allow_fine_tuning: false,
  organization: '*',
  group: null,
  is_blocking: false,
});

const tokenizeSchema = z.union([
  z.object({ model: promptFields.model, prompt: z.string() }),
  z.object({ ...promptFields, add_generation_prompt: z.boolean().default(true) }),
]);

/** POST /tokenize: the exact count a request with these messages would be billed for; the length is not checked. */
export async function postTokenize(
  req: IncomingMessage,
  res: ServerResponse,
  { engine }: EngineContext,
): Promise<void> {
  const request = await readJson(req, tokenizeSchema);
  const maxModelLen = engine.knobs.advertisedMaxModelLen ?? engine.config.maxModelLen;
  findServedModel(request.model, engine);
  const tokens =
    'prompt' in request
      ? encode(request.prompt)
      : renderPrompt(request, engine, { addGenerationPrompt: request.add_generation_prompt });
  sendJson(res, { count: tokens.length, max_model_len: maxModelLen, tokens, token_strs: null });
}

const detokenizeSchema = z.object({ model: promptFields.model, tokens: z.array(z.int().min(0)) });

/** POST /detokenize: the text of token ids. */
export async function postDetokenize(
  req: IncomingMessage,
  res: ServerResponse,
  { engine }: EngineContext,
): Promise<void> {
  const request = await readJson(req, detokenizeSchema);
  findServedModel(request.model, engine);
  sendJson(res, { prompt: decode(request.tokens) });
}

/** GET /load: requests that run or wait. */
export function getLoad(res: ServerResponse, { engine }: EngineContext): void {
  sendJson(res, { server_load: engine.runningCount + engine.waitingCount });
}

/** GET /metrics, in Prometheus' text format; the knobs make it slow or fail. */
export function getMetrics(res: ServerResponse, { engine, clock, servingState }: EngineContext): void {
  const { metricsDelayMs, failingMetrics } = engine.knobs;
  const send = () => {
    if (failingMetrics || servingState() === 'dead')
      sendText(res, 'Internal Server Error', { status: 500, contentType: 'text/plain' });
    else sendText(res, toMetricsText(engine), { contentType: 'text/plain; version=1.0.0; charset=utf-8' });
  };
  if (metricsDelayMs === 0) send();
  else res.once('close', clock.wakeAfter(metricsDelayMs, send));
}

/** GET /health and /ping: an empty 200, or 503 when the engine is dead. One that drains or sleeps is healthy. */
export function getHealth(res: ServerResponse, { servingState }: EngineContext): void {
  sendEmpty(res, servingState() === 'dead' ? 503 : 200);
}
