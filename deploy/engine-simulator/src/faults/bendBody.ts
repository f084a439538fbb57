import { falsifyUsage } from './falsifyUsage.ts';
import type { Fault } from './fault.ts';

/** Size of an event or body that is larger than any buffer one would think of. */
const HUGE_BYTES = 1024 * 1024;

/** A finish reason that no release knows. */
export const UNKNOWN_FINISH_REASON = 'overloaded';

/** The same JSON object with an ignorable field of 1 MiB. */
export const enlarge = (json: string): string => `${json.slice(0, -1)},"prompt_text":"${'x'.repeat(HUGE_BYTES)}"}`;

/** The JSON object without its choices. */
export function dropChoices(json: string): string {
  const { choices: _dropped, ...rest } = JSON.parse(json) as { choices: unknown };
  return JSON.stringify(rest);
}

/** The JSON object with no choice in it. */
export const emptyChoices = (json: string): string => JSON.stringify({ ...(JSON.parse(json) as object), choices: [] });

/** The first half of a text: never valid JSON when the whole was an object. */
export const firstHalf = (text: string): string => text.slice(0, Math.floor(text.length / 2));

/** A whole answer as a fault of the JSON leaves it. */
export function bendBody(json: string, fault: Fault | undefined): string {
  if (!fault) return json;
  switch (fault.kind) {
    case 'invalid_json':
      return firstHalf(json);
    case 'missing_choices':
      return dropChoices(json);
    case 'early_empty_choices':
      return emptyChoices(json);
    case 'huge_event':
      return enlarge(json);
    case 'no_usage':
      return JSON.stringify({ ...(JSON.parse(json) as object), usage: null });
    case 'unknown_finish':
      return json.replaceAll(/"finish_reason":"[^"]*"/g, `"finish_reason":"${UNKNOWN_FINISH_REASON}"`);
    default:
      return falsifyUsage(json, fault.kind);
  }
}
