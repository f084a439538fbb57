import type { ServerResponse } from 'node:http';
import type { Clock } from '../engine/clock.ts';
import type { Generation } from '../engine/generation.ts';
import type { Delta } from '../engine/outputQueue.ts';
import type { Sequence } from '../engine/sequence.ts';
import type { Fault } from '../faults/fault.ts';
import type { Knobs } from '../knobs.ts';
import { engineDead, internalError, toErrorEventBody } from '../wire/engineError.ts';
import { DONE_EVENT, type StreamChunks, toEvent } from '../wire/streamChunks.ts';
import type { Usage } from '../wire/usage.ts';
import { keepAlive } from './keepAlive.ts';
import { openBody } from './openBody.ts';

export interface StreamOptions {
  chunks: StreamChunks;
  includeUsage: boolean;
  usage: () => Usage;
  fault: Fault | undefined;
  errorShape: Knobs['errorShape'];
  /** Silence after which a comment is sent; undefined is never. */
  keepaliveMs: number | undefined;
  clock: Clock;
}

/**
 * Streams a generation: headers at once, then silence until the first token, what opens a choice, deltas, a finish chunk
 * a choice, usage where asked, `[DONE]`. While the socket is full nothing is written and deltas merge.
 */
export function writeStream(res: ServerResponse, generation: Generation, options: StreamOptions): void {
  const { chunks, includeUsage, usage, fault, errorShape, keepaliveMs, clock } = options;
  const indexOf = new Map(generation.sequences.map((sequence, index) => [sequence, index]));
  const withFinish = new Set<Sequence>();
  let isOpened = false;
  let isBlocked = false;
  let isFinished = false;

  /** One chunk a delta; the last one of a choice that ended also says how. */
  function eventsOf(sequence: Sequence): string {
    const index = indexOf.get(sequence) ?? 0;
    const deltas = sequence.output.take();
    let events = '';
    const isFinishing = sequence.hasEnded && !sequence.failure && !withFinish.has(sequence);
    if (!isOpened && (deltas.length > 0 || isFinishing)) {
      isOpened = true;
      // What the first choice brings opens all of them.
      for (const opened of indexOf.values()) events += chunks.opening(opened);
    }
    const last = isFinishing ? takeFinalDelta(deltas, sequence) : undefined;
    for (const delta of deltas) events += chunks.delta(index, delta);
    if (isFinishing) {
      withFinish.add(sequence);
      events += chunks.finish(index, {
        last,
        finishReason: sequence.finishReason ?? 'stop',
        stopReason: sequence.stopReason,
        completionTokens: sequence.generated.length,
        isLastChunk: !includeUsage,
      });
    }
    return events;
  }

  function write(text: string): void {
    if (text === '') return;
    alive.noteWrite();
    if (body.write(text)) return;
    isBlocked = true;
    for (const sequence of generation.sequences) sequence.output.isMerging = true;
    body.onceDrained(() => {
      isBlocked = false;
      for (const sequence of generation.sequences) sequence.output.isMerging = false;
      flush(generation.sequences);
    });
  }

  function flush(sequences: readonly Sequence[]): void {
    if (isBlocked || isFinished || res.destroyed) return;
    const events = sequences.map(eventsOf).join('');
    if (!generation.hasEnded) write(events);
    else finish(events);
  }

  function finish(events: string): void {
    isFinished = true;
    alive.stop();
    switch (generation.sequences.find(({ failure }) => failure)?.failure?.kind) {
      case 'reset_mid_stream':
        // Only once the bytes before it have left, so that the client sees a stream break and not a refused call.
        if (events === '') res.socket?.resetAndDestroy();
        else res.write(events, () => res.socket?.resetAndDestroy());
        return;
      case 'close_without_done':
        body.end(events);
        return;
      case 'close_inside_event':
        body.end(events + chunks.delta(0, UNFINISHED).slice(0, -UNFINISHED.text.length));
        return;
      case 'error_event':
        body.end(events + toEvent(toErrorEventBody(internalError(), errorShape)) + DONE_EVENT);
        return;
      case 'engine_dies':
        body.end(events + toEvent(toErrorEventBody(engineDead(), errorShape)) + DONE_EVENT);
        return;
      default:
        if (fault?.kind === 'close_before_usage') body.end(events);
        else body.end(events + (includeUsage ? chunks.usage(usage()) : '') + DONE_EVENT);
    }
  }

  const body = openBody(res, { contentType: 'text/event-stream; charset=utf-8', fault, length: undefined });
  const alive = keepAlive({ everyMs: keepaliveMs, clock, send: (comment) => isBlocked || body.write(comment) });
  res.once('close', alive.stop);
  res.flushHeaders();
  generation.start((sequence) => flush(generation.hasEnded ? generation.sequences : [sequence]));
}

/** Text of an event that the connection is closed in. */
const UNFINISHED: Delta = { kind: 'content', text: 'this never arrives as a whole', completionTokens: 0 };

/** The text a choice ended with goes into its finish chunk, unless the stop token came after it. */
function takeFinalDelta(deltas: Delta[], sequence: Sequence): Delta | undefined {
  const last = deltas.at(-1);
  return last?.completionTokens === sequence.generated.length && last.kind !== 'tool_name' ? deltas.pop() : undefined;
}
