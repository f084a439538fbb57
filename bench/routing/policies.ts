import { EngineLoad } from '../../services/model-router/src/engines/engineLoad.ts';
import type { Attempt } from '../../services/model-router/src/engines/terms/attempt.ts';
import { chooseEngine } from '../../services/model-router/src/placement/chooseEngine.ts';
import {
  createPlacer,
  type PlaceableEngine,
  type Placement,
} from '../../services/model-router/src/placement/placer.ts';
import { RouterNews } from '../../services/model-router/src/placement/routerNews.ts';
import { seededRandom } from '../seededRandom.ts';
import type { SimulatedEngine } from './simulatedEngine.ts';
import type { Call } from './workload.ts';

type Placed = Pick<Attempt<SimulatedEngine>, 'engine' | 'firstEvent' | 'end'>;

/** Says where a call goes, and hears how it went. */
export type Policy = (call: Call, engines: readonly SimulatedEngine[]) => Placed | undefined;

/** An engine as one router of several sees it: by its own calls, by what the engine reports and by what other routers tell. */
interface View extends PlaceableEngine {
  engine: SimulatedEngine;
  origin: string;
}

/** The longest answer that any call asks for: as usual, far more than it gets. */
const MAX_OUTPUT_TOKENS = 2_048;

/** Policies by name, each made anew for a run in which `nowMs` tells the time. */
export const POLICIES = {
  'round-robin': () => {
    let placed = 0;
    return (_call: Call, engines: readonly SimulatedEngine[]) => {
      placed += 1;
      return toPlaced(engines[placed % engines.length]);
    };
  },
  'least-requests': () => {
    const random = seededRandom(1);
    const requests = new Map<SimulatedEngine, number>();
    const countOn = (engine: SimulatedEngine) => requests.get(engine) ?? 0;
    return (_call: Call, engines: readonly SimulatedEngine[]) => {
      const [engine] = engines
        .map((candidate) => ({ candidate, count: countOn(candidate) + random() }))
        .sort((a, b) => a.count - b.count)
        .map(({ candidate }) => candidate);
      if (!engine) return undefined;
      requests.set(engine, countOn(engine) + 1);
      return { ...toPlaced(engine), engine, end: () => void requests.set(engine, countOn(engine) - 1) };
    };
  },
  turnpike: (nowMs: () => number) => {
    const placer = createPlacer({ nowMs, random: seededRandom(1) });
    return (call: Call, engines: readonly SimulatedEngine[]) => placer.place(engines, toPlacement(call));
  },
  /** Routers that share the engines, and the calls in turn. */
  '3 routers': (nowMs: () => number) => toRouters(nowMs, 3),
  '10 routers': (nowMs: () => number) => toRouters(nowMs, 10),
  /** One where engines say nothing of themselves: neither their load nor the size of their caches. */
  'no metrics': (nowMs: () => number) => toRouter(nowMs, { seed: 1, isTold: false }).place,
  oracle: () => {
    const random = seededRandom(1);
    return (call: Call, engines: readonly SimulatedEngine[]) => {
      const candidates = engines.map((engine) => ({
        engine,
        id: engine.id,
        weight: 1,
        loadTokens: engine.loadTokens,
        cachedTokens: engine.cachedTokensOf(call),
      }));
      const prompt = { leadingHash: call.prefixHashes[0], tokens: call.promptTokens.length };
      return toPlaced(chooseEngine(candidates, prompt, random)?.chosen.engine);
    };
  },
} satisfies Record<string, (nowMs: () => number) => Policy>;
export type PolicyName = keyof typeof POLICIES;

/** Routers that tell each other of their calls, each at its own moment of every so many milliseconds. */
function toRouters(nowMs: () => number, count: number): Policy {
  const routers = Array.from({ length: count }, (_, index) => {
    const router = toRouter(nowMs, { seed: index + 1, isTold: true });
    return { ...router, tellsAtMs: (router.news.pauseMs * (index + 1)) / count };
  });
  function tellAll(): void {
    for (;;) {
      const due = routers.reduce((first, router) => (router.tellsAtMs < first.tellsAtMs ? router : first));
      if (due.tellsAtMs > nowMs()) return;
      // Where nothing has happened for longer than the pause, nothing is told before now.
      const { pauseMs } = due.news;
      due.tellsAtMs = Math.max(due.tellsAtMs, nowMs() - pauseMs) + pauseMs;
      const text = due.news.tell();
      if (text !== undefined) for (const { news } of routers) news.hear(text);
    }
  }
  let calls = 0;
  return (call, engines) => {
    tellAll();
    calls += 1;
    const placed = routers[calls % count]?.place(call, engines);
    return (
      placed && {
        engine: placed.engine,
        firstEvent() {
          tellAll();
          placed.firstEvent();
        },
        end(result) {
          tellAll();
          placed.end(result);
        },
      }
    );
  };
}

/** A router with books of its own. */
function toRouter(
  nowMs: () => number,
  { seed, isTold }: { seed: number; isTold: boolean },
): { place: Policy; news: RouterNews } {
  const views = new Map<SimulatedEngine, View & { toldAtMs: number | undefined }>();
  const news = new RouterNews(`router-${seed}`, { engines: () => views.values(), nowMs });
  const placer = createPlacer({
    nowMs,
    random: seededRandom(seed),
    onPlaced: (load, hashes) => news.placed(load, hashes),
  });
  const toView = (engine: SimulatedEngine): View => {
    const known = views.get(engine) ?? {
      id: engine.id,
      origin: '',
      load: new EngineLoad(nowMs),
      engine,
      toldAtMs: undefined,
      tryOut: (trial) => engine.tryOut(trial),
    };
    views.set(engine, known);
    if (isTold && engine.report && engine.report.atMs !== known.toldAtMs) {
      known.toldAtMs = engine.report.atMs;
      known.load.take(engine.report);
    }
    return known;
  };
  const place: Policy = (call, engines) => {
    const placed = placer.place(engines.map(toView), toPlacement(call));
    return (
      placed && {
        engine: placed.engine.engine,
        firstEvent: () => placed.firstEvent(),
        end: (result) => placed.end(result),
      }
    );
  };
  return { place, news };
}

const toPlacement = ({ prefixHashes, promptBytes, estimatedPromptTokens }: Call): Placement => ({
  modelId: 'model',
  keyId: 'key',
  prefixHashes,
  promptBytes,
  estimatedPromptTokens,
  maxOutputTokens: MAX_OUTPUT_TOKENS,
  isStream: true,
});

function toPlaced(engine: SimulatedEngine): Placed;
function toPlaced(engine: SimulatedEngine | undefined): Placed | undefined;
function toPlaced(engine: SimulatedEngine | undefined): Placed | undefined {
  return engine && { engine, firstEvent() {}, end() {} };
}
