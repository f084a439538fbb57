import type { ServerResponse } from 'node:http';
import type { Delta } from '../engine/outputQueue.ts';
import type { Sequence } from '../engine/sequence.ts';
import { DONE_EVENT, type StreamChunks, toEvent } from '../wire/answer.ts';
import { type EngineError, engineDead, internalError, toErrorBody } from '../wire/engineError.ts';
import type { Usage } from '../wire/usage.ts';
import type { Generation } from './generation.ts';
import { openBody } from './openBody.ts';

export interface StreamOptions {
  chunks: StreamChunks;
  includeUsage: boolean;
  usage: () => Usage;
}

/**
 * Streams a generation: headers at once, silence until the first token, the opening chunk, deltas, a finish chunk,
 * usage if requested, `[DONE]`. While the socket is full nothing is written and deltas merge.
 */
export function writeStream(
  res: ServerResponse,
  generation: Generation,
  { chunks, includeUsage, usage }: StreamOptions,
): void {
  const { sequence } = generation;
  const { fault } = sequence.options;
  let isOpened = false;
  let isBlocked = false;
  let isFinished = false;

  /** Writes one chunk a delta. The last one of an ended answer has the finish reason. */
  function takeEvents(): string {
    const deltas = sequence.output.take();
    const isFinishing = sequence.hasEnded && !sequence.failure;
    let events = '';
    if (!isOpened && (deltas.length > 0 || isFinishing)) {
      isOpened = true;
      events += chunks.opening();
    }
    const last = isFinishing ? takeFinalDelta(deltas, sequence) : undefined;
    for (const delta of deltas) events += chunks.delta(delta);
    if (isFinishing) {
      const { finishReason = 'stop', stopReason, generated } = sequence;
      const completionTokens = generated.length;
      events += chunks.finish({ last, finishReason, stopReason, completionTokens, isLastChunk: !includeUsage });
    }
    return events;
  }

  function flush(): void {
    if (isBlocked || isFinished || res.destroyed) return;
    const events = takeEvents();
    if (generation.hasEnded) finish(events);
    else if (events !== '' && !body.write(events)) block();
  }

  function block(): void {
    isBlocked = true;
    sequence.output.isMerging = true;
    body.onceDrained(() => {
      isBlocked = false;
      sequence.output.isMerging = false;
      flush();
    });
  }

  function finish(events: string): void {
    isFinished = true;
    switch (sequence.failure?.kind) {
      case 'reset_mid_stream':
        // Only once the bytes before it have left, so that the client sees a stream break and not a refused call.
        if (events === '') res.socket?.resetAndDestroy();
        else res.write(events, () => res.socket?.resetAndDestroy());
        return;
      case 'close_without_done':
        body.end(events);
        return;
      case 'close_inside_event':
        body.end(events + chunks.delta(UNFINISHED).slice(0, -UNFINISHED.text.length));
        return;
      case 'error_event':
        body.end(events + toErrorEvents(internalError()));
        return;
      case 'engine_dies':
        body.end(events + toErrorEvents(engineDead()));
        return;
      default:
        if (fault?.kind === 'close_before_usage') body.end(events);
        else body.end(events + (includeUsage ? chunks.usage(usage()) : '') + DONE_EVENT);
    }
  }

  const body = openBody(res, { contentType: 'text/event-stream; charset=utf-8', fault, length: undefined });
  res.flushHeaders();
  generation.start(flush);
}

const toErrorEvents = (error: EngineError): string => toEvent(toErrorBody(error)) + DONE_EVENT;

/** Text of an event that the connection is closed in. */
const UNFINISHED: Delta = { kind: 'content', text: 'this never arrives as a whole', completionTokens: 0 };

/** The text an answer ended with goes into its finish chunk, unless the stop token came after it. */
function takeFinalDelta(deltas: Delta[], sequence: Sequence): Delta | undefined {
  const last = deltas.at(-1);
  return last?.completionTokens === sequence.generated.length && last.kind !== 'tool_name' ? deltas.pop() : undefined;
}
