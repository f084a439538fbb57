/**
 * Every key of a workspace carries its hash tag. Beside them scripts touch `workspaces` and `epoch`, so that all of it is on one
 * Redis. `{ws}` keys are written by the scripts beside this file and by nothing else.
 */
export const redisKeys = {
  wallet: (workspaceId: string) => `{${workspaceId}}:wallet`,
  months: (workspaceId: string) => `{${workspaceId}}:months`,
  key: (workspaceId: string, keyId: string) => `{${workspaceId}}:key:${keyId}`,
  requestsPerMinute: (workspaceId: string, keyId: string) => `{${workspaceId}}:rpm:${keyId}`,
  tokensPerMinute: (workspaceId: string, keyId: string) => `{${workspaceId}}:tpm:${keyId}`,
  /** Ids of the keys that have a counter in this epoch. */
  keys: (workspaceId: string) => `{${workspaceId}}:keys`,
  call: (workspaceId: string, callId: string) => `{${workspaceId}}:call:${callId}`,
  calls: (workspaceId: string) => `{${workspaceId}}:calls`,
  /** Workspaces that have a call: where the sweeper looks. Whatever gives one a call puts it in, in the same script. */
  workspaces: 'workspaces',
  sweeper: 'sweeper',
  /** The number of the epoch whose balances are kept here. */
  epoch: 'epoch',
};

/** The identity of an admitted call in Redis. */
export interface CallAddress {
  callId: string;
  workspaceId: string;
  keyId: string;
}

/** The keys that the scripts ending a call take, in their order. */
export function endingKeysOf({ callId, workspaceId, keyId }: CallAddress): string[] {
  return [
    redisKeys.wallet(workspaceId),
    redisKeys.key(workspaceId, keyId),
    redisKeys.months(workspaceId),
    redisKeys.tokensPerMinute(workspaceId, keyId),
    redisKeys.call(workspaceId, callId),
    redisKeys.calls(workspaceId),
    redisKeys.requestsPerMinute(workspaceId, keyId),
    redisKeys.workspaces,
  ];
}
