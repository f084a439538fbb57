import type { IncomingMessage, ServerResponse } from 'node:http';
import { renderChat, renderText } from '../inference/renderChat.ts';
import type { TinyEngine } from '../inference/tinyEngine.ts';
import { MAX_MODEL_LEN } from '../model/tinyModel.ts';
import { unknownModel } from '../wire/engineError.ts';
import { toMetricsText } from '../wire/metricsText.ts';
import { tokenizeRequestSchema } from '../wire/requests.ts';
import { readJson } from './readJson.ts';
import { sendJson, sendText } from './sendAnswer.ts';

/** The one model's name. */
export const MODEL = 'tiny-random-llama';

/** Throws the 404 for any other model. No name means the one there is. */
export function checkModel(model: string | undefined): void {
  if (model !== undefined && model !== MODEL) throw unknownModel(model);
}

/** GET /v1/models. `created` is the moment of asking, as in vLLM. */
export function getModels(res: ServerResponse): void {
  const created = Math.floor(Date.now() / 1_000);
  const card = { id: MODEL, object: 'model', created, owned_by: 'turnpike', root: MODEL, parent: null };
  sendJson(res, { object: 'list', data: [{ ...card, max_model_len: MAX_MODEL_LEN }] });
}

/** POST /tokenize: exactly the prompt tokens that a request with this prompt uses. The length is not checked. */
export async function postTokenize(req: IncomingMessage, res: ServerResponse, engine: TinyEngine): Promise<void> {
  const request = await readJson(req, tokenizeRequestSchema);
  checkModel(request.model);
  const { encode } = engine;
  const tokens =
    'prompt' in request
      ? renderText(request.prompt, encode)
      : renderChat(request.messages, { encode, addGenerationPrompt: request.add_generation_prompt });
  sendJson(res, { count: tokens.length, max_model_len: MAX_MODEL_LEN, tokens, token_strs: null });
}

/** GET /metrics. */
export function getMetrics(res: ServerResponse, engine: TinyEngine): void {
  sendText(res, toMetricsText(engine, MODEL), { contentType: 'text/plain; version=0.0.4; charset=utf-8' });
}
