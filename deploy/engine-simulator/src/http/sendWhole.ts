import type { ServerResponse } from 'node:http';
import type { Generation } from '../engine/generation.ts';
import { bendBody } from '../faults/bendBody.ts';
import type { Fault } from '../faults/fault.ts';
import type { Knobs } from '../knobs.ts';
import type { FinishedChoice } from '../wire/chatCompletion.ts';
import { engineDead, internalError } from '../wire/engineError.ts';
import { openBody } from './openBody.ts';
import { sendError } from './sendAnswer.ts';

export interface WholeOptions {
  toBody: (choices: FinishedChoice[]) => object;
  fault: Fault | undefined;
  errorShape: Knobs['errorShape'];
}

/** Starts a generation and answers in one piece when it has ended. */
export function sendWhole(res: ServerResponse, generation: Generation, options: WholeOptions): void {
  for (const sequence of generation.sequences) sequence.output.isMerging = true;
  generation.start(() => {
    if (!generation.hasEnded || res.writableEnded || res.destroyed) return;
    const failure = generation.sequences.find((sequence) => sequence.failure)?.failure;
    if (failure) sendFailure(res, failure, options);
    else sendBody(res, generation, options);
  });
}

function sendFailure(res: ServerResponse, { kind }: Fault, { errorShape }: WholeOptions): void {
  if (kind === 'error_event') sendError(res, internalError(), errorShape);
  else if (kind === 'engine_dies') sendError(res, engineDead(), errorShape);
  else res.socket?.resetAndDestroy();
}

function sendBody(res: ServerResponse, generation: Generation, { toBody, fault }: WholeOptions): void {
  const choices = generation.sequences.map((sequence) => ({
    deltas: sequence.output.take(),
    finishReason: sequence.finishReason ?? 'stop',
    stopReason: sequence.stopReason,
  }));
  const json = bendBody(JSON.stringify(toBody(choices)), fault);
  openBody(res, { contentType: 'application/json', fault, length: Buffer.byteLength(json) }).end(json);
}
