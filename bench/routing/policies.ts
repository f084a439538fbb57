import { chooseEngine } from '../../services/model-router/src/fleet/placement/chooseEngine.ts';
import {
  createPlacer,
  type PlacedCall,
  type Placement,
} from '../../services/model-router/src/fleet/placement/placer.ts';
import type { Tryable } from '../../services/model-router/src/fleet/placement/tryOut.ts';
import { seededRandom } from '../seededRandom.ts';
import type { SimulatedEngine } from './simulatedEngine.ts';
import type { Call } from './workload.ts';

type Placed = Pick<PlacedCall<SimulatedEngine>, 'engine' | 'onFirstEvent' | 'end'>;

/** Says where a call goes, and hears how it went. */
export type Policy = (call: Call, engines: readonly SimulatedEngine[]) => Placed | undefined;

/** One that says nothing of itself. */
interface MuteEngine extends Tryable {
  id: string;
  engine: SimulatedEngine;
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
  /** The same where engines say nothing of themselves: neither their load nor the size of their caches. */
  'no metrics': (nowMs: () => number) => {
    const placer = createPlacer({ nowMs, random: seededRandom(1) });
    const known = new Map<SimulatedEngine, MuteEngine>();
    const toMute = (engine: SimulatedEngine) => {
      const mute: MuteEngine = known.get(engine) ?? { id: engine.id, engine, tryOut: (trial) => engine.tryOut(trial) };
      known.set(engine, mute);
      return mute;
    };
    return (call: Call, engines: readonly SimulatedEngine[]) => {
      const placed = placer.place(engines.map(toMute), toPlacement(call));
      return placed && { ...placed, engine: placed.engine.engine };
    };
  },
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

const toPlacement = ({ prefixHashes, promptBytes, estimatedPromptTokens }: Call): Placement => ({
  modelId: 'model',
  prefixHashes,
  promptBytes,
  estimatedPromptTokens,
  maxOutputTokens: MAX_OUTPUT_TOKENS,
  isStream: true,
});

function toPlaced(engine: SimulatedEngine): Placed;
function toPlaced(engine: SimulatedEngine | undefined): Placed | undefined;
function toPlaced(engine: SimulatedEngine | undefined): Placed | undefined {
  return engine && { engine, onFirstEvent() {}, end() {} };
}
