import type { Redis } from 'ioredis';
import { redisKeys } from './redisKeys.ts';

/** Far fewer than Redis could give before a command's deadline. */
const WORKSPACES_PER_PAGE = 500;

/** The workspaces that have calls, page by page; one that has some all the while at least once. */
export async function* scanWorkspaces(redis: Redis): AsyncGenerator<string[]> {
  let cursor = '0';
  do {
    const [next, workspaceIds] = await redis.sscan(redisKeys.workspaces, cursor, 'COUNT', WORKSPACES_PER_PAGE);
    yield workspaceIds;
    cursor = next;
  } while (cursor !== '0');
}
