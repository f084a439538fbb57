/**
 * The number of the layout of these keys. It rises with each change after which the release before misreads them. Redis has the number
 * of its keys beside its mark; a marked Redis without one has layout 1.
 */
export const LAYOUT = 1;

/** Every key of a workspace carries its hash tag, and is written by the scripts of `scripts/`, which name it themselves, and by nothing else. */
export const redisKeys = {
  /** The mark of the Redis that the balances are kept in (`follow/followRedis.ts`), under the hash tag of its shard. */
  mark: (tag: string) => `{${tag}}:mark`,
  layout: (tag: string) => `{${tag}}:layout`,
  wallet: (workspaceId: string) => `{${workspaceId}}:wallet`,
  months: (workspaceId: string) => `{${workspaceId}}:months`,
  key: (workspaceId: string, keyId: string) => `{${workspaceId}}:key:${keyId}`,
  /** Token buckets of the key's requests and tokens a minute. */
  rates: (workspaceId: string, keyId: string) => `{${workspaceId}}:tpm:${keyId}`,
  call: (workspaceId: string, callId: string) => `{${workspaceId}}:call:${callId}`,
  /** Ids of the pending calls, each with the session that it stands under. */
  calls: (workspaceId: string) => `{${workspaceId}}:calls`,
  /** Ids of the keys that have a counter. */
  keys: (workspaceId: string) => `{${workspaceId}}:keys`,
  /** Number of each owner's last put-back. */
  owners: (workspaceId: string) => `{${workspaceId}}:owners`,
  /** Lives as long as its owner says so. */
  session: (tag: string, token: string) => `{${tag}}:session:${token}`,
  /** The token of an owner's latest session. Outlasts the session, so that a session that lapsed is told from a Redis that was emptied. */
  latestSession: (tag: string, owner: string) => `{${tag}}:latest_session:${owner}`,
  sweeper: (tag: string) => `{${tag}}:sweeper`,
};

/** The pattern of all `calls` and `uncounted_calls`, and the workspace of one. */
export const CALLS_PATTERN = '{*}:*calls';
export const workspaceOf = (callsKey: string): string => callsKey.slice(1, callsKey.lastIndexOf('}:'));

/** The identity of an admitted call in Redis. */
export interface CallAddress {
  callId: string;
  workspaceId: string;
  keyId: string;
}
