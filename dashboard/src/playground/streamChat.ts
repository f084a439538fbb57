import { Refused } from '@turnpike/console-api/callRoute';
import { CHAT_ROUTE, KEY_HEADER } from '@turnpike/console-api/chatRoute';
import * as z from 'zod/mini';
import type { Workspace } from '../account.ts';
import { withToken } from '../console.ts';

/** A message of the conversation. */
export interface Turn {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

export interface ChatBody {
  model: string;
  messages: Turn[];
  max_tokens: number;
  temperature: number;
}

const chunkSchema = z.object({
  choices: z.array(
    z.object({
      delta: z.object({ content: z.nullish(z.string()), reasoning: z.nullish(z.string()) }),
      finish_reason: z.nullish(z.string()),
    }),
  ),
  usage: z.nullish(z.object({ prompt_tokens: z.number(), completion_tokens: z.number(), cost: z.nullish(z.number()) })),
});
export type Chunk = z.output<typeof chunkSchema>;

const envelopeSchema = z.object({
  error: z.object({
    message: z.string(),
    code: z.nullish(z.string()),
    /** The sentence and the bare code of a gate. */
    provider_specific_fields: z.optional(z.object({ error: z.string(), message: z.optional(z.string()) })),
  }),
});
const flatSchema = z.object({ error: z.string(), message: z.string() });

const CALL_ID_HEADER = 'x-router-call-id';
const UNREACHABLE = { error: 'unreachable', message: 'The region does not answer. Try again.' };
const BROKEN = 'The stream broke off before its end, so the answer is not whole. The call may be charged.';

/**
 * Makes a streamed chat call through the console host, and calls `onChunk` for each chunk. `onCallId` gets the id of the call once the
 * router has taken it. Throws `Refused` for a refusal, and an error for an event of an error and a stream that breaks off.
 */
export async function streamChat(
  workspace: Workspace,
  { secret, body, signal }: { secret: string; body: ChatBody; signal: AbortSignal },
  { onCallId, onChunk }: { onCallId: (id: string) => void; onChunk: (chunk: Chunk) => void },
): Promise<void> {
  const response = await withToken(workspace, async (token) => {
    const answer = await fetch(workspace.consoleUrl + CHAT_ROUTE.path, {
      method: CHAT_ROUTE.method,
      credentials: 'same-origin',
      headers: { authorization: `Bearer ${token}`, [KEY_HEADER]: secret, 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }),
      signal,
    }).catch((error: unknown) => {
      throw signal.aborted ? error : new Refused(0, UNREACHABLE);
    });
    const callId = answer.headers.get(CALL_ID_HEADER);
    if (callId !== null) onCallId(callId);
    if (!answer.ok) throw toRefused(answer.status, await answer.json().catch(() => undefined));
    return answer;
  });
  for await (const data of readEvents(response.body, signal)) {
    if (data === '[DONE]') return;
    const content: unknown = JSON.parse(data);
    const failure = z.safeParse(envelopeSchema, content);
    if (failure.success) throw toRefused(response.status, content);
    onChunk(z.parse(chunkSchema, content));
  }
  throw new Error(BROKEN);
}

/** Yields the data of each event. A connection that breaks ends the events. */
async function* readEvents(stream: ReadableStream<BufferSource> | null, signal: AbortSignal): AsyncGenerator<string> {
  const reader = stream?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const read = await reader?.read().catch((error: unknown) => {
      if (signal.aborted) throw error;
      return undefined;
    });
    if (!read?.value) return;
    const lines = (rest + read.value).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('data: ')) yield line.slice('data: '.length).trimEnd();
  }
}

function toRefused(status: number, content: unknown): Refused {
  const envelope = z.safeParse(envelopeSchema, content);
  if (envelope.success) {
    const { message, code, provider_specific_fields: gate } = envelope.data.error;
    return new Refused(status, { error: gate?.error ?? code ?? 'failed', message: gate?.message ?? message });
  }
  const flat = z.safeParse(flatSchema, content);
  return new Refused(
    status,
    flat.success ? flat.data : { error: 'unreadable_answer', message: `The call was refused with status ${status}.` },
  );
}
