import { headOf } from './headOf.ts';

/** The ledger's answer about a workspace, in the terms of `absorb.lua`. */
export interface Absorbed {
  timeline: number;
  sequence: number;
  left: bigint;
  months: Record<string, bigint>;
  /** Keyed by key id. All of these keys are counted from now on. */
  keys: Record<string, bigint>;
  final: string[];
  /** Ids of calls, each with the session that was seen to have lapsed. */
  unknown: [callId: string, session: string][];
}

/** The keys and arguments of `absorb.lua`, for a test that runs it by itself. Unless told, nothing is newer and nothing is recorded. */
export function toAbsorb(
  workspaceId: string,
  mark: string,
  { timeline = 1, sequence = 1, left = 0n, months = {}, keys = {}, final = [], unknown = [] }: Partial<Absorbed>,
): [keys: string[], args: (string | number)[]] {
  const head = headOf(workspaceId, mark);
  const [ofMonths, ofKeys] = [Object.entries(months), Object.entries(keys)];
  return [
    head.keys,
    [
      ...head.args,
      timeline,
      sequence,
      left.toString(),
      ofMonths.length,
      ofKeys.length,
      final.length,
      unknown.length,
      ...ofMonths.flatMap(([month, spent]) => [month, spent.toString()]),
      ...ofKeys.flatMap(([keyId, spent]) => [keyId, spent.toString(), 1, '', 0]),
      ...final,
      ...unknown.flat(),
    ],
  ];
}
