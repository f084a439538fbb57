import { type Dispatcher, request } from 'undici';
import type { Api, CallRecord, Outcome } from './callRecord.ts';
import { readMessageStream, readMessageWhole, readResponseStream, readResponseWhole } from './readAgentsAnswer.ts';
import { readStream, readWhole } from './readAnswer.ts';

/** Longest a client waits for the end of a call. */
const PATIENCE_MS = 60_000;

/** The point at which a client cuts a call. */
export interface Cut {
  /** After so many bytes of the body, */
  afterBytes?: number;
  /** or so long after it was sent. */
  afterMs?: number;
}

export interface CallPlan {
  apiKey: string;
  keyId: string;
  model: string;
  api: Api;
  isStream: boolean;
  /** Whether a stream asks for its usage. */
  wantsUsage: boolean;
  content: string;
  maxTokens: number | undefined;
  /** Whether the model has to call `TOOL`. */
  forcesTool: boolean;
  cut: Cut | undefined;
}

const APIS_READ: Readonly<Record<Api, { path: string; readStream: typeof readStream; readWhole: typeof readWhole }>> = {
  chat: { path: '/chat/completions', readStream, readWhole },
  responses: { path: '/responses', readStream: readResponseStream, readWhole: readResponseWhole },
  messages: { path: '/messages', readStream: readMessageStream, readWhole: readMessageWhole },
};

/** Sends one chat and reads it to its end, as a client without any retries does. Never rejects. */
export async function sendCall(
  plan: CallPlan,
  { baseUrl, dispatcher }: { baseUrl: string; dispatcher: Dispatcher },
): Promise<CallRecord> {
  const startedAt = Date.now();
  const { keyId, model, api, isStream, cut } = plan;
  const reader = APIS_READ[api];
  const leaving = new AbortController();
  const patience = AbortSignal.timeout(PATIENCE_MS);
  const timer = cut?.afterMs === undefined ? undefined : setTimeout(() => leaving.abort(), cut.afterMs);
  let status: number | undefined;
  let headers: Record<string, string | string[] | undefined> = {};
  let text = '';
  let hasEnded = false;
  let longestSilenceMs = 0;
  try {
    const answer = await request(`${baseUrl}${reader.path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${plan.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(toBody(plan)),
      signal: AbortSignal.any([leaving.signal, patience]),
      dispatcher,
    });
    status = answer.statusCode;
    headers = answer.headers;
    let bytes = 0;
    let heardAt = Date.now();
    const hear = (): void => {
      longestSilenceMs = Math.max(longestSilenceMs, Date.now() - heardAt);
      heardAt = Date.now();
    };
    answer.body.setEncoding('utf8');
    for await (const chunk of answer.body as AsyncIterable<string>) {
      hear();
      text += chunk;
      bytes += chunk.length;
      if (cut?.afterBytes !== undefined && bytes >= cut.afterBytes) leaving.abort();
    }
    hear();
    hasEnded = true;
  } catch {
    // How it ended is read from what arrived.
  } finally {
    clearTimeout(timer);
  }
  const isEventStream = String(headers['content-type']).startsWith('text/event-stream');
  const read = isEventStream ? reader.readStream(text, { hasEnded }) : reader.readWhole(status ?? 0, text);
  const callId = headers['x-router-call-id'];
  return {
    callId: typeof callId === 'string' ? callId : undefined,
    keyId,
    model,
    isStream,
    outcome: toOutcome(read.outcome, { hasEnded, hasLeft: leaving.signal.aborted, isHung: patience.aborted }),
    isAdmitted: 'x-ratelimit-limit-requests' in headers && status !== 402 && status !== 429,
    error: read.error,
    usage: read.usage,
    deltas: read.deltas,
    longestSilenceMs,
    startedAt,
    endedAt: Date.now(),
  };
}

function toOutcome(
  read: Outcome,
  { hasEnded, hasLeft, isHung }: { hasEnded: boolean; hasLeft: boolean; isHung: boolean },
): Outcome {
  if (hasEnded) return read;
  if (hasLeft) return 'left';
  return isHung ? 'hung' : 'broken';
}

/** More than any answer of a load has. */
const DEFAULT_MAX_TOKENS = 4_096;

const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const TOOL = { name: 'look_up', description: 'Looks up the weather of a city' };
/** The tool that a model has to call, as each API says it. */
const FORCED_TOOL: Readonly<Record<Api, object>> = {
  chat: { tools: [{ type: 'function', function: { ...TOOL, parameters: PARAMETERS } }], tool_choice: 'required' },
  responses: { tools: [{ type: 'function', ...TOOL, parameters: PARAMETERS }], tool_choice: 'required' },
  messages: { tools: [{ ...TOOL, input_schema: PARAMETERS }], tool_choice: { type: 'any' } },
};

function toBody({ model, api, isStream, wantsUsage, content, maxTokens, forcesTool }: CallPlan): object {
  const said = [{ role: 'user', content }];
  const fields = { ...(isStream && { stream: true }), ...(forcesTool && FORCED_TOOL[api]) };
  switch (api) {
    case 'responses':
      return { model, input: said, ...(maxTokens !== undefined && { max_output_tokens: maxTokens }), ...fields };
    case 'messages':
      return { model, messages: said, max_tokens: maxTokens ?? DEFAULT_MAX_TOKENS, ...fields };
    case 'chat':
      return {
        model,
        messages: said,
        ...(maxTokens !== undefined && { max_tokens: maxTokens }),
        ...fields,
        ...(isStream && wantsUsage && { stream_options: { include_usage: true } }),
      };
  }
}
