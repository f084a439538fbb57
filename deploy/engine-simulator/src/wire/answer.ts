import type { Delta } from '../engine/outputQueue.ts';
import { toFinalUsage, toRunningUsage, type Usage } from './usage.ts';

/** The engine's fields in every chunk and in every whole answer. */
export interface AnswerIdentity {
  id: string;
  createdAtSeconds: number;
  model: string;
  systemFingerprint: string;
}

/** All of an answer that was not streamed. */
export interface WholeAnswer {
  deltas: readonly Delta[];
  finishReason: string;
  stopReason: string | null;
}

/** How a stream ends; `last` is text that travels in its finish chunk. */
export interface StreamEnd {
  last: Delta | undefined;
  finishReason: string;
  stopReason: string | null;
  completionTokens: number;
  /** Whether no usage chunk follows. */
  isLastChunk: boolean;
}

/** Writes the events of one stream, as text. */
export interface StreamChunks {
  /** The bytes before the first delta; empty if there are none. */
  opening(): string;
  delta(delta: Delta): string;
  /** The last chunk of the answer itself. */
  finish(end: StreamEnd): string;
  /** Returns the chunk without choices, which only a client gets that requested usage. */
  usage(usage: Usage): string;
}

export const DONE_EVENT = 'data: [DONE]\n\n';

export const toEvent = (body: object): string => `data: ${JSON.stringify(body)}\n\n`;

/** The differences between streams of chats and of completions. */
export interface ChunkFormat {
  object: string;
  /** The JSON of the choice in a chunk; without `end` it is one on the way. */
  toChoice: (delta: Delta | undefined, end?: StreamEnd) => string;
  /** The choice and the other members of a first chunk without text. Undefined if streams begin with text. */
  opening?: { choice: string; behind: string };
  /** The details in the usage of a chunk, beside the counts. */
  runningDetails: object;
  /** Prompt tokens, where every chunk carries the running usage. */
  runningUsageOf: number | undefined;
}

/** Chunks byte for byte as vLLM orders their keys. What never changes is made once: a stream has thousands of them. */
export function createChunks(
  { id, createdAtSeconds, model, systemFingerprint }: AnswerIdentity,
  { object, toChoice, opening, runningDetails, runningUsageOf: promptTokens }: ChunkFormat,
): StreamChunks {
  const head = `data: ${JSON.stringify({ id, object, created: createdAtSeconds, model }).slice(0, -1)},"choices":[`;
  const fingerprint = `,"system_fingerprint":${JSON.stringify(systemFingerprint)}`;

  function write(choice: string, completionTokens: number, behind = ''): string {
    if (promptTokens === undefined) return `${head}${choice}]${behind}}\n\n`;
    const usage = { ...toRunningUsage({ promptTokens, completionTokens }), ...runningDetails };
    return `${head}${choice}],"usage":${JSON.stringify(usage)}${behind}}\n\n`;
  }

  return {
    opening: () => (opening ? write(opening.choice, 0, opening.behind) : ''),
    delta: (delta) => write(toChoice(delta), delta.completionTokens),
    finish: (end) => write(toChoice(end.last, end), end.completionTokens, end.isLastChunk ? fingerprint : ''),
    usage: (usage) => `${head}],"usage":${JSON.stringify(toFinalUsage(usage, { isStream: true }))}${fingerprint}}\n\n`,
  };
}

/** The body of a whole answer, with the null fields that recent engines send. */
export const toAnswerBody = (
  { id, createdAtSeconds, model, systemFingerprint }: AnswerIdentity,
  { object, choice, usage, promptFields }: { object: string; choice: object; usage: Usage; promptFields: object },
): object => ({
  id,
  object,
  created: createdAtSeconds,
  model,
  choices: [choice],
  service_tier: null,
  system_fingerprint: systemFingerprint,
  usage: toFinalUsage(usage, { isStream: false }),
  ...promptFields,
  kv_transfer_params: null,
  ec_transfer_params: null,
  metrics: null,
});
