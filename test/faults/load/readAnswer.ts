import { z } from 'zod';
import type { Outcome, SeenUsage } from './callRecord.ts';

const usageSchema = z.object({ prompt_tokens: z.number(), completion_tokens: z.number() });
const errorSchema = z.object({ message: z.string(), code: z.union([z.string(), z.number()]).nullish() });
const bodySchema = z.object({
  choices: z.array(z.object({ delta: z.object({ content: z.string().nullish() }).optional() })).optional(),
  usage: usageSchema.nullish(),
  error: z.union([errorSchema, z.string()]).optional(),
});

/** The content of an answer's body. */
export interface ReadAnswer {
  outcome: Outcome;
  usage: SeenUsage | undefined;
  error: string | undefined;
  deltas: number;
}

export const BAD: ReadAnswer = { outcome: 'malformed', usage: undefined, error: undefined, deltas: 0 };

/** Reads a whole answer of any status. */
export function readWhole(status: number, text: string): ReadAnswer {
  const body = parse(text);
  if (!body) return BAD;
  const error = toErrorText(body.error);
  if (status !== 200)
    return { outcome: error === undefined ? 'malformed' : `${status}`, usage: undefined, error, deltas: 0 };
  const usage = toUsage(body.usage);
  return { outcome: usage ? 'ok' : 'malformed', usage, error, deltas: 0 };
}

/** A line that fills a silence. */
export const COMMENT = /^:.*\n/gm;

/** Reads what arrived of a stream; `hasEnded` is false where the connection broke or the client left. */
export function readStream(text: string, { hasEnded }: { hasEnded: boolean }): ReadAnswer {
  const read: ReadAnswer = { ...BAD };
  const events = text.replaceAll(COMMENT, '').split('\n\n');
  events.pop(); // empty, or an event under way
  for (const event of events) {
    if (!event.startsWith('data: ')) continue;
    const data = event.slice('data: '.length);
    if (data === '[DONE]') {
      // Behind an error it would make a stream look whole.
      read.outcome = read.outcome === 'error_event' ? 'malformed' : 'ok';
      continue;
    }
    const body = parse(data);
    if (!body || read.outcome !== 'malformed') return { ...read, outcome: 'malformed' };
    if (body.error !== undefined) {
      read.error = toErrorText(body.error);
      read.outcome = 'error_event';
    }
    read.usage = toUsage(body.usage) ?? read.usage;
    if (body.choices?.some(({ delta }) => delta?.content)) read.deltas += 1;
  }
  return hasEnded ? read : { ...read, outcome: 'broken' };
}

function parse(text: string): z.output<typeof bodySchema> | undefined {
  try {
    return bodySchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function toUsage(usage: z.output<typeof usageSchema> | null | undefined): SeenUsage | undefined {
  return usage ? { promptTokens: usage.prompt_tokens, completionTokens: usage.completion_tokens } : undefined;
}

function toErrorText(error: z.output<typeof bodySchema>['error']): string | undefined {
  if (error === undefined || typeof error === 'string') return error;
  return error.code ? `${error.code}: ${error.message}` : error.message;
}
