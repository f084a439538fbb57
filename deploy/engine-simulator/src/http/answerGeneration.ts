import type { ServerResponse } from 'node:http';
import { bendBody, bendChunks } from '../faults/bentJson.ts';
import type { Fault } from '../faults/fault.ts';
import type { StreamChunks, WholeAnswer } from '../wire/answer.ts';
import { engineDead, internalError } from '../wire/engineError.ts';
import type { SamplingRequest } from '../wire/samplingFields.ts';
import type { Usage } from '../wire/usage.ts';
import type { Generation } from './generation.ts';
import { openBody } from './openBody.ts';
import { refuseByFault } from './refuseByFault.ts';
import { sendError } from './sendAnswer.ts';
import { writeStream } from './writeStream.ts';

/** The wire format of the answer to a generation. */
export interface Answer {
  sampling: SamplingRequest;
  /** `runningUsageOf`: prompt tokens, where every chunk carries the running usage. */
  toChunks: (runningUsageOf: number | undefined) => StreamChunks;
  toBody: (answer: WholeAnswer) => object;
  usage: () => Usage;
}

/** Answers a request that passed every check, as a stream or whole, or as its fault has it. */
export function answerGeneration(
  res: ServerResponse,
  generation: Generation,
  { sampling, toChunks, toBody, usage }: Answer,
): void {
  if (!sampling.stream) {
    answerWhole(res, generation, toBody);
    return;
  }
  if (!begin(res, generation)) return;
  const { fault } = generation.sequence.options;
  const includeUsage = fault?.kind !== 'no_usage' && sampling.stream_options?.include_usage === true;
  const isContinuous = includeUsage && sampling.stream_options?.continuous_usage_stats === true;
  const chunks = toChunks(isContinuous ? generation.entry.promptTokens : undefined);
  writeStream(res, generation, { chunks: fault ? bendChunks(chunks, fault) : chunks, includeUsage, usage });
}

/** Starts a generation and answers in one piece when it has ended. */
export function answerWhole(res: ServerResponse, generation: Generation, toBody: Answer['toBody']): void {
  if (!begin(res, generation)) return;
  const { sequence } = generation;
  const { fault } = sequence.options;
  sequence.output.isMerging = true;
  generation.start(() => {
    if (!generation.hasEnded || res.writableEnded || res.destroyed) return;
    if (sequence.failure) {
      sendFailure(res, sequence.failure);
      return;
    }
    const { finishReason = 'stop', stopReason } = sequence;
    const json = bendBody(JSON.stringify(toBody({ deltas: sequence.output.take(), finishReason, stopReason })), fault);
    openBody(res, { contentType: 'application/json', fault, length: Buffer.byteLength(json) }).end(json);
  });
}

/** False where a fault has answered already. A client that leaves aborts the generation. */
function begin(res: ServerResponse, generation: Generation): boolean {
  const { fault } = generation.sequence.options;
  if (fault && refuseByFault(res, fault)) {
    generation.refuse();
    return false;
  }
  res.once('close', () => generation.abort());
  return true;
}

function sendFailure(res: ServerResponse, { kind }: Fault): void {
  if (kind === 'error_event') sendError(res, internalError());
  else if (kind === 'engine_dies') sendError(res, engineDead());
  else res.socket?.resetAndDestroy();
}
