import { z } from 'zod';
import type { SeenUsage } from './callRecord.ts';
import { BAD, COMMENT, type ReadAnswer } from './readAnswer.ts';

// Answers of the Responses API and of the Messages API, as their clients read them.

const errorSchema = z.object({ message: z.string(), code: z.union([z.string(), z.number()]).nullish() });
const responseSchema = z.object({
  status: z.enum(['in_progress', 'completed', 'incomplete', 'failed']),
  error: errorSchema.nullable(),
  usage: z.object({ input_tokens: z.number(), output_tokens: z.number() }).nullable(),
});
type ResponseBody = z.output<typeof responseSchema>;
const responseEventSchema = z.object({
  type: z.string(),
  sequence_number: z.number(),
  response: responseSchema.optional(),
});
const messageUsageSchema = z.object({
  input_tokens: z.number(),
  cache_read_input_tokens: z.number(),
  cache_creation_input_tokens: z.number(),
  output_tokens: z.number(),
});
const messageSchema = z.object({ type: z.literal('message'), usage: messageUsageSchema });
const messageEventSchema = z.object({
  type: z.string(),
  delta: z.object({ type: z.string().optional() }).optional(),
  usage: messageUsageSchema.optional(),
  error: errorSchema.optional(),
});

/** Reads a whole answer of the Responses API, of any status. */
export function readResponseWhole(status: number, text: string): ReadAnswer {
  if (status !== 200) return readRefusal(status, text);
  const body = parse(responseSchema, text);
  const usage = body?.usage && toUsage(body);
  return usage ? { ...BAD, outcome: 'ok', usage } : BAD;
}

/** Reads a whole answer of the Messages API, of any status. */
export function readMessageWhole(status: number, text: string): ReadAnswer {
  if (status !== 200) return readRefusal(status, text);
  const body = parse(messageSchema, text);
  return body ? { ...BAD, outcome: 'ok', usage: toMessageUsage(body.usage) } : BAD;
}

function readRefusal(status: number, text: string): ReadAnswer {
  const body = parse(z.object({ error: errorSchema }), text);
  return body ? { ...BAD, outcome: `${status}`, error: toErrorText(body.error) } : BAD;
}

/** Reads what arrived of a stream of the Responses API: its events are counted, and one of three is the last. */
export function readResponseStream(text: string, { hasEnded }: { hasEnded: boolean }): ReadAnswer {
  const read: ReadAnswer = { ...BAD };
  for (const [index, { name, data }] of eventsOf(text).entries()) {
    const event = parse(responseEventSchema, data);
    const isInOrder = event?.type === name && event.sequence_number === index && read.outcome === 'malformed';
    if (!isInOrder) return { ...read, outcome: 'malformed' };
    if (name === 'response.output_text.delta') read.deltas += 1;
    const { response } = event;
    if (name === 'response.completed' || name === 'response.incomplete') {
      read.outcome = 'ok';
      read.usage = response && toUsage(response);
    }
    if (name === 'response.failed') {
      read.outcome = response?.error ? 'error_event' : 'malformed';
      read.error = response?.error ? toErrorText(response.error) : undefined;
    }
  }
  return hasEnded ? read : { ...read, outcome: 'broken' };
}

/** Reads what arrived of a stream of the Messages API: `message_stop` is its last event, or an error. */
export function readMessageStream(text: string, { hasEnded }: { hasEnded: boolean }): ReadAnswer {
  const read: ReadAnswer = { ...BAD };
  for (const [index, { name, data }] of eventsOf(text).entries()) {
    const event = parse(messageEventSchema, data);
    const isFirst = index === 0 && name !== 'error';
    const isInOrder = event?.type === name && isFirst === (name === 'message_start') && read.outcome === 'malformed';
    if (!isInOrder) return { ...read, outcome: 'malformed' };
    if (event.delta?.type === 'text_delta') read.deltas += 1;
    if (name === 'message_delta') read.usage = event.usage && toMessageUsage(event.usage);
    if (name === 'message_stop') read.outcome = 'ok';
    if (name === 'error') {
      read.outcome = event.error ? 'error_event' : 'malformed';
      read.error = event.error && toErrorText(event.error);
    }
  }
  return hasEnded ? read : { ...read, outcome: 'broken' };
}

/** The events that arrived whole, each with its name. */
function eventsOf(text: string): { name: string; data: string }[] {
  const events = text.replaceAll(COMMENT, '').split('\n\n');
  events.pop(); // empty, or an event under way
  return events.map((event) => {
    const [, name = '', data = ''] = /^event: (.+)\ndata: (.*)$/s.exec(event) ?? [];
    return { name, data };
  });
}

function parse<Schema extends z.ZodType>(schema: Schema, text: string): z.output<Schema> | undefined {
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

const toUsage = ({ usage }: ResponseBody): SeenUsage | undefined =>
  usage ? { promptTokens: usage.input_tokens, completionTokens: usage.output_tokens } : undefined;

const toMessageUsage = (usage: z.output<typeof messageUsageSchema>): SeenUsage => ({
  promptTokens: usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
  completionTokens: usage.output_tokens,
});

const toErrorText = ({ code, message }: z.output<typeof errorSchema>): string =>
  code ? `${code}: ${message}` : message;
