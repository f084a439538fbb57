import type { ServerResponse } from 'node:http';
import type { Generation } from '../engine/generation.ts';
import { BentChunks } from '../faults/bentChunks.ts';
import type { Fault } from '../faults/fault.ts';
import type { FinishedChoice } from '../wire/chatCompletion.ts';
import type { SamplingRequest } from '../wire/samplingFields.ts';
import type { StreamChunks } from '../wire/streamChunks.ts';
import type { Usage } from '../wire/usage.ts';
import type { EngineContext } from './engineContext.ts';
import { refuseByFault } from './refuseByFault.ts';
import { sendWhole } from './sendWhole.ts';
import { writeStream } from './writeStream.ts';

/** How the answer to a generation looks in its wire format. */
export interface AnswerFormat {
  /** `runningUsageOf`: prompt tokens, where every chunk carries the running usage. */
  toChunks: (options: { runningUsageOf: number | undefined }) => StreamChunks;
  toBody: (choices: FinishedChoice[]) => object;
  usage: () => Usage;
}

export interface Answer {
  generation: Generation;
  sampling: SamplingRequest;
  fault: Fault | undefined;
  format: AnswerFormat;
}

/** Answers a request that passed every check, as a stream or whole, or as its fault has it. */
export function answerGeneration(
  res: ServerResponse,
  { generation, sampling, fault, format }: Answer,
  context: EngineContext,
): void {
  if (!sampling.stream) {
    answerWhole(res, { generation, fault, toBody: format.toBody }, context);
    return;
  }
  beginUnlessRefused(res, { generation, fault }, context, () => {
    const { errorShape, forceIncludeUsage, keepaliveCommentsSeconds } = context.engine.knobs;
    const options = sampling.stream_options;
    const includeUsage = fault?.kind !== 'no_usage' && (forceIncludeUsage || options?.include_usage === true);
    const isContinuous = includeUsage && (forceIncludeUsage || options?.continuous_usage_stats === true);
    const chunks = format.toChunks({ runningUsageOf: isContinuous ? generation.entry.promptTokens : undefined });
    writeStream(res, generation, {
      chunks: fault ? new BentChunks(chunks, fault) : chunks,
      includeUsage,
      usage: format.usage,
      fault,
      errorShape,
      keepaliveMs: keepaliveCommentsSeconds === null ? undefined : keepaliveCommentsSeconds * 1_000,
      clock: context.clock,
    });
  });
}

/** Answers in one piece. */
export function answerWhole(
  res: ServerResponse,
  { generation, fault, toBody }: Pick<Answer, 'generation' | 'fault'> & Pick<AnswerFormat, 'toBody'>,
  context: EngineContext,
): void {
  beginUnlessRefused(res, { generation, fault }, context, () =>
    sendWhole(res, generation, { toBody, fault, errorShape: context.engine.knobs.errorShape }),
  );
}

/** Begins at once, after the delay of a fault, or not at all. A client that leaves aborts the generation. */
function beginUnlessRefused(
  res: ServerResponse,
  { generation, fault }: Pick<Answer, 'generation' | 'fault'>,
  { engine, clock }: EngineContext,
  begin: () => void,
): void {
  if (fault && refuseByFault(res, fault, engine.knobs.errorShape)) {
    generation.refuse();
    return;
  }
  res.once('close', () => generation.abort());
  if (fault?.kind !== 'slow_headers') begin();
  else if (fault.forMs !== undefined) res.once('close', clock.wakeAfter(fault.forMs, begin));
}
