import type { FaultKind } from './fault.ts';

const COUNTS = /"total_tokens":(\d+),"completion_tokens":(\d+)/g;

/** Lies about the completion tokens in the JSON of an answer or an event; other faults leave it as it is. */
export function falsifyUsage(json: string, kind: FaultKind): string {
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
