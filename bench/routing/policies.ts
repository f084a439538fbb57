import { Engine } from '../../services/model-router/src/engines/engine.ts';
import type { Trial } from '../../services/model-router/src/engines/terms/dialect.ts';
import { chooseEngine } from '../../services/model-router/src/placement/chooseEngine.ts';
import type { Attempt, Placement } from '../../services/model-router/src/placement/placer.ts';
import { Placer } from '../../services/model-router/src/placement/placer.ts';
import { RouterNews } from '../../services/model-router/src/placement/routerNews.ts';
import { toEngineArguments } from '../../services/model-router/test/anEngine.ts';
import { seededRandom } from '../seededRandom.ts';
import type { SimulatedEngine } from './simulatedEngine.ts';
import type { Call } from './workload.ts';

type Placed = Pick<Attempt, 'firstEvent' | 'end'> & { engine: SimulatedEngine };

/** Says where a call goes, and hears how it went. */
export type Policy = (call: Call, engines: readonly SimulatedEngine[]) => Placed | undefined;

/** An engine as one router of several sees it: by its own calls, by what the engine reports and by what other routers tell. */
class View extends Engine {
  readonly simulated: SimulatedEngine;
  toldAtMs: number | undefined;

  constructor(simulated: SimulatedEngine, nowMs: () => number) {
    super(...toEngineArguments(simulated.id, { nowMs }));
    this.simulated = simulated;
  }

  override tryOut(trial: Trial): void {
    this.simulated.tryOut(trial);
  }
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
  turnpike: (nowMs: () => number) => {
    const placer = new Placer({ nowMs, random: seededRandom(1) });
    return (call: Call, engines: readonly SimulatedEngine[]) =>
      toPlacedOn(placer.place(engines, toPlacement(call)), (engine) => engine as SimulatedEngine);
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
      // After a pause without news, nothing is published before now.
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
  const views = new Map<SimulatedEngine, View>();
  const news = new RouterNews(`router-${seed}`, { engines: () => views.values(), nowMs });
  const placer = new Placer({ nowMs, random: seededRandom(seed), news });
  const toView = (engine: SimulatedEngine): View => {
    const known = views.get(engine) ?? new View(engine, nowMs);
    views.set(engine, known);
    if (isTold && engine.report && engine.report.atMs !== known.toldAtMs) {
      known.toldAtMs = engine.report.atMs;
      known.load.take(engine.report);
    }
    return known;
  };
  const place: Policy = (call, engines) =>
    toPlacedOn(placer.place(engines.map(toView), toPlacement(call)), (engine) => (engine as View).simulated);
  return { place, news };
}

const toPlacedOn = (
  placed: Attempt | undefined,
  toSimulated: (engine: Engine) => SimulatedEngine,
): Placed | undefined =>
  placed && {
    engine: toSimulated(placed.engine),
    firstEvent: () => placed.firstEvent(),
    end: (result) => placed.end(result),
  };

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
