import type { Delta } from '../engine/outputQueue.ts';
import type { StreamChunks, StreamEnd } from '../wire/answer.ts';
import type { Usage } from '../wire/usage.ts';
import type { Fault, FaultKind } from './fault.ts';

/** Size of an event or body that is larger than any buffer one would think of. */
const HUGE_BYTES = 1024 * 1024;
/** A finish reason of no release. */
const UNKNOWN_FINISH_REASON = 'overloaded';
const COUNTS = /"total_tokens":(\d+),"completion_tokens":(\d+)/g;

/** A whole answer as a fault of the JSON leaves it. */
export function bendBody(json: string, fault: Fault | undefined): string {
  if (!fault) return json;
  switch (fault.kind) {
    case 'no_usage':
      return JSON.stringify({ ...(JSON.parse(json) as object), usage: null });
    case 'unknown_finish':
      return json.replaceAll(/"finish_reason":"[^"]*"/g, `"finish_reason":"${UNKNOWN_FINISH_REASON}"`);
    default:
      return bendObject(json, fault.kind) ?? falsifyUsage(json, fault.kind);
  }
}

/** A JSON object that is not what it should be; undefined where the fault is of another kind. */
function bendObject(json: string, kind: FaultKind): string | undefined {
  switch (kind) {
    case 'invalid_json':
      return json.slice(0, Math.floor(json.length / 2));
    case 'missing_choices':
      return JSON.stringify({ ...(JSON.parse(json) as object), choices: undefined });
    case 'early_empty_choices':
      return JSON.stringify({ ...(JSON.parse(json) as object), choices: [] });
    case 'huge_event':
      return `${json.slice(0, -1)},"prompt_text":"${'x'.repeat(HUGE_BYTES)}"}`;
    default:
      return undefined;
  }
}

/** Falsifies the completion tokens in the JSON of an answer or an event. */
function falsifyUsage(json: string, kind: FaultKind): string {
  switch (kind) {
    case 'usage_lower':
      return json.replace(COUNTS, (_counts, total: string, completion: string) => {
        const kept = Math.floor(Number(completion) / 2);
        return `"total_tokens":${Number(total) - Number(completion) + kept},"completion_tokens":${kept}`;
      });
    case 'usage_negative':
      return json.replace(COUNTS, '"total_tokens":$1,"completion_tokens":-$2');
    case 'usage_overflow':
      return json.replace(COUNTS, '"total_tokens":$1,"completion_tokens":1e400');
    default:
      return json;
  }
}

/** The events of a stream as a fault of the JSON leaves them: one event bent, or every count, or the finish. */
export function bendChunks(chunks: StreamChunks, { kind, afterTokens }: Fault): StreamChunks {
  let hasStruck = false;

  /** Strikes the first event after `afterTokens`, at the latest the finish chunk. */
  function bendOnce(event: string, completionTokens: number): string {
    const bent = completionTokens > afterTokens && !hasStruck ? bendEvent(event, kind) : undefined;
    if (bent !== undefined) hasStruck = true;
    return bent ?? falsifyUsage(event, kind);
  }

  return {
    opening: () => falsifyUsage(chunks.opening(), kind),
    delta: (delta: Delta) => bendOnce(chunks.delta(delta), delta.completionTokens),
    finish(end: StreamEnd) {
      const finishReason = kind === 'unknown_finish' ? UNKNOWN_FINISH_REASON : end.finishReason;
      const event = chunks.finish({ ...end, finishReason });
      return kind === 'duplicate_finish' ? event + event : bendOnce(event, Number.POSITIVE_INFINITY);
    },
    usage: (usage: Usage) => falsifyUsage(chunks.usage(usage), kind),
  };
}

/** One event bent; what only adds something leaves the event itself behind it. */
function bendEvent(event: string, kind: FaultKind): string | undefined {
  const json = bendObject(event.slice('data: '.length).trimEnd(), kind);
  if (json === undefined) return undefined;
  const isAnother = kind === 'missing_choices' || kind === 'early_empty_choices';
  return `data: ${json}\n\n${isAnother ? event : ''}`;
}
