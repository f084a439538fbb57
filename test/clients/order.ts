import { z } from 'zod';

/** A message as a person thinks of it; each client has its own way to write one. */
export interface Message {
  role: 'system' | 'user' | 'assistant';
  text: string;
  /** Shown after the text. */
  imageUrl?: string;
}

/** An order for a client: plain data, so that another process can read it. */
export type Order =
  | { do: 'listModels' }
  | {
      do: 'chat';
      model: string;
      messages: Message[];
      stream: boolean;
      seed?: number;
      maxTokens?: number;
      /** The client leaves the stream once it has so many pieces of text. */
      leaveAfter?: number;
    }
  /** The model has to call the tool `forecast`; it is told what that answered, and answers itself. */
  | { do: 'callTool'; model: string; question: string; stream: boolean }
  /** The answer is wanted as a `Trip`. */
  | { do: 'structure'; model: string; question: string }
  | { do: 'embed'; model: string; texts: string[]; encoding: 'float' | 'base64' }
  | { do: 'draw'; model: string; prompt: string; count: number; as: 'b64_json' | 'url'; size?: string }
  /** The clip is waited for, fetched, found in the list by pages of one, and deleted, so that it is gone. */
  | { do: 'film'; model: string; prompt: string; seconds: string }
  /** The speech is written into a file as it comes. */
  | { do: 'speak'; model: string; text: string; voice: string; format: 'mp3' | 'wav' }
  /** `audio` is base64. */
  | { do: 'hear'; model: string; audio: string; format: 'json' | 'verbose_json' | 'srt' };

/** A call that a client may lack, or a part of a call. */
export type Skill = Order['do'] | 'base64' | 'image addresses' | 'clips' | 'subtitles';

/** The answer of the tool `forecast` for every city. */
export const FORECAST = '{"rain":true,"note":"il pleut ☔ 雨"}';

/** The schema of answers in JSON, and of the arguments of `forecast`. The Python clients have a copy. */
export const tripSchema = z.object({ city: z.string(), days: z.number().int().min(1).max(7) });

const usageSchema = z.object({
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
  total_tokens: z.number(),
  cache_read_input_tokens: z.number(),
});

/** A client's view of one order; parts that it cannot express are absent. */
export const seenSchema = z.object({
  /** Every answer that reached the client, in order, seen below it: so a repeated call is seen too. */
  calls: z.array(z.object({ callId: z.string().nullable(), status: z.number() })),
  models: z.array(z.string()).optional(),
  text: z.string().optional(),
  /** Pieces that the text came in. */
  pieces: z.number().optional(),
  reasoning: z.string().optional(),
  finishReason: z.string().optional(),
  /** The usage of each call of the order. */
  usages: z.array(usageSchema).optional(),
  toolCalls: z.array(z.object({ name: z.string(), arguments: z.unknown() })).optional(),
  value: z.unknown().optional(),
  vectors: z.array(z.array(z.number())).optional(),
  /** Images as base64, or as addresses. */
  images: z.array(z.string()).optional(),
  clip: z
    .object({
      status: z.string(),
      bytes: z.string(),
      listed: z.array(z.string()),
      deleted: z.boolean(),
      /** The error of a look-up once it was deleted. */
      errorAfterwards: z.string(),
    })
    .optional(),
  audio: z.string().optional(),
  /** The error that the client raised. */
  refusal: z
    .object({
      errorName: z.string(),
      status: z.number().optional(),
      message: z.string(),
      /** `x-error-message` and `x-error-param`, where the error has the headers of its answer. */
      sentence: z.string().optional(),
      param: z.string().optional(),
      retryAfter: z.string().optional(),
      didYouMean: z.array(z.string()).optional(),
    })
    .optional(),
});

export type Seen = z.infer<typeof seenSchema>;
export type Usage = z.infer<typeof usageSchema>;
export type Refusal = NonNullable<Seen['refusal']>;
