import type { Delta } from '../engine/outputQueue.ts';
import type { ChoiceEnd, StreamChunks } from '../wire/streamChunks.ts';
import type { Usage } from '../wire/usage.ts';
import { dropChoices, emptyChoices, enlarge, firstHalf, UNKNOWN_FINISH_REASON } from './bendBody.ts';
import { falsifyUsage } from './falsifyUsage.ts';
import type { Fault } from './fault.ts';

/** The events of a stream as a fault of the JSON leaves them: one event bent, or every count, or the finish. */
export class BentChunks implements StreamChunks {
  readonly #chunks: StreamChunks;
  readonly #fault: Fault;
  #hasStruck = false;

  constructor(chunks: StreamChunks, fault: Fault) {
    this.#chunks = chunks;
    this.#fault = fault;
  }

  opening(index: number): string {
    return this.#falsify(this.#chunks.opening(index));
  }

  delta(index: number, delta: Delta): string {
    return this.#bendOnce(this.#chunks.delta(index, delta), delta.completionTokens);
  }

  finish(index: number, end: ChoiceEnd): string {
    const { kind } = this.#fault;
    const finishReason = kind === 'unknown_finish' ? UNKNOWN_FINISH_REASON : end.finishReason;
    const event = this.#chunks.finish(index, { ...end, finishReason });
    if (kind === 'duplicate_finish') return event + event;
    return this.#bendOnce(event, Number.POSITIVE_INFINITY);
  }

  usage(usage: Usage): string {
    return this.#falsify(this.#chunks.usage(usage));
  }

  /** Strikes the first event after `afterTokens`, at the latest the finish chunk. */
  #bendOnce(event: string, completionTokens: number): string {
    if (this.#hasStruck || completionTokens <= this.#fault.afterTokens) return this.#falsify(event);
    this.#hasStruck = true;
    return this.#bend(event);
  }

  #bend(event: string): string {
    const json = event.slice('data: '.length).trimEnd();
    switch (this.#fault.kind) {
      case 'invalid_json':
        return toEventText(firstHalf(json));
      case 'missing_choices':
        return toEventText(dropChoices(json)) + event;
      case 'early_empty_choices':
        return toEventText(emptyChoices(json)) + event;
      case 'huge_event':
        return toEventText(enlarge(json));
      default:
        return this.#falsify(event);
    }
  }

  #falsify(event: string): string {
    return falsifyUsage(event, this.#fault.kind);
  }
}

const toEventText = (json: string): string => `data: ${json}\n\n`;
