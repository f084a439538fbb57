import { aSilentLogger } from '@turnpike/logging/createLogger';
import { until } from '@turnpike/test-support/until';
import { OUTPUT_TOKEN_WEIGHT } from '../src/engines/terms/limits.ts';
import { Placer } from '../src/placement/placer.ts';
import { type FollowRoutersOptions, followRouters, RouterNews } from '../src/placement/routerNews.ts';
import { anEngine } from './anEngine.ts';
import { aPlacement } from './aPlacement.ts';

/** Hashes of the prompt that every call has. */
export const HASHES = [1, 2, 3];

/** A router that publishes its calls: one engine, and a call on it. */
export function aTellingRouter(name: string, shards: FollowRoutersOptions['shards'], log = aSilentLogger()) {
  const engine = anEngine('engine-1');
  const { load } = engine;
  const news = new RouterNews(name, { engines: () => [engine] });
  const placer = new Placer({ news });
  const following = followRouters({ shards, news, log });
  const place = () => placer.place([engine], aPlacement({ prefixHashes: HASHES }));
  return {
    load,
    news,
    place,
    placed: place(),
    /** Its own work, as loads count it. */
    ownTokens: () => load.work.queuedTokens + OUTPUT_TOKEN_WEIGHT * load.work.answerTokens,
    close: () => following.close(),
  };
}
export type TellingRouter = ReturnType<typeof aTellingRouter>;

/** Resolves with what all have under way, once each of them counts it. */
export async function allCountAll(routers: readonly TellingRouter[]): Promise<number> {
  const all = routers.reduce((sum, router) => sum + router.ownTokens(), 0);
  await until('all work to be counted', () => routers.every(({ load }) => isNear(load.loadTokens, all)));
  return all;
}

/** Published numbers have no fractions. */
const isNear = (one: number, other: number): boolean => Math.abs(one - other) < 10;
