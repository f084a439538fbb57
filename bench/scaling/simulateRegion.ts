import { seededRandom } from '../seededRandom.ts';
import { type Connection, ConnectionPool, PodGroup } from './connectionPool.ts';
import { type Costs, LOOP_SHARE, type PartCosts } from './costs.ts';
import { EventQueue } from './eventQueue.ts';
import { FifoServer } from './fifoServer.ts';
import { type Load, openStreams } from './load.ts';
import type { Pods } from './planPods.ts';
import { Waits } from './waits.ts';
import { createWorkspaceDraw, shareCalls } from './workspaces.ts';

/** A tenth of the calls come fifty at once, all of one workspace. */
export const BURSTS = { share: 0.1, size: 50 };
/** As clients are told to keep idle connections, and as the edge keeps its own. */
const CLIENT_IDLE_SECONDS = 5;
export const EDGE_CONNECTIONS = { idleSeconds: 3, maxAgeSeconds: 60 };
/** An engine gives all its streams a chunk at the same moment, and has so many. */
const STREAMS_OF_ENGINE = 100;
/** Until everything has found its pace. */
const WARM_UP_SECONDS = 0.5;

export interface RegionOptions {
  seed: number;
  costs: Costs;
  load: Load;
  pods: Pods;
  /** What is measured, after a warm-up. */
  seconds: number;
}

export interface RegionResult {
  edge: LoopResult;
  router: LoopResult;
  /** What a chunk waited for both loops together, seconds; of whole answers what a call did on its way there and back. */
  waits: Waits;
}

export interface LoopResult {
  /** Work that came to each pod's loop in a second; above 1 a queue grows for as long as that lasts. */
  busy: number[];
  /** What a piece of work waited in the pod that is the busiest. */
  busiestWaits: Waits;
}

interface Call {
  client: ConnectionPool;
  toEdge: Connection;
  toRouter: Connection | undefined;
  /** Pieces of the answer that the engine has not given yet, and that have not left the edge. */
  fromEngine: number;
  toClient: number;
  /** What its last piece waited so far, with what the call did before where that is the only one. */
  waited: number;
}

type Step = 'request' | 'gate' | 'piece' | 'pass' | 'end';
type Happening = { step: Step; call: Call } | { step: 'arrive' };
const ARRIVE: Happening = { step: 'arrive' };

/**
 * Calls of one region through the event loops of its edges and routers, in virtual time. Work of a loop takes as long as was measured on
 * average, and exponentially more or less: nothing is known of how it spreads, and of what is likely little is worse. A call takes half of
 * its time on the way to the engine and half with the last piece of the answer.
 */
export function simulateRegion({ seed, costs, load, pods, seconds }: RegionOptions): RegionResult {
  const random = seededRandom(seed);
  const exponential = (mean: number): number => -mean * Math.log(1 - random());
  const edges = openLoops(pods.edge);
  const routers = openLoops(pods.router);
  const edgeGroup = new PodGroup(pods.edge, random);
  const routerGroup = new PodGroup(pods.router, random);
  const toRouters = edges.map(() => new ConnectionPool(routerGroup, { ...EDGE_CONNECTIONS, random }));
  const clients = new Map<number, ConnectionPool>();
  const drawWorkspace = createWorkspaceDraw(shareCalls(), random);
  const waits = new Waits();
  const queue = new EventQueue<Happening>();
  const pieces = Math.max(1, load.chunks);
  const engines = Math.max(1, Math.round(openStreams(load) / STREAMS_OF_ENGINE));

  const clientOf = (workspace: number): ConnectionPool => {
    const known = clients.get(workspace);
    if (known) return known;
    const made = new ConnectionPool(edgeGroup, { idleSeconds: CLIENT_IDLE_SECONDS, random });
    clients.set(workspace, made);
    return made;
  };
  const toSeconds = ({ callUs, chunkUs }: PartCosts, isLast: boolean): number =>
    exponential(((load.chunks > 0 ? chunkUs : 0) + (isLast ? callUs / 2 : 0)) * 1e-6 * LOOP_SHARE);
  const halfCall = ({ callUs }: PartCosts): number => exponential((callUs / 2) * 1e-6 * LOOP_SHARE);
  const loopOf = (loops: Loop[], { pod }: Connection): Loop => loops[pod] as Loop;
  const routerOf = (call: Call): Connection => call.toRouter as Connection;

  function begin(client: ConnectionPool, now: number): Call {
    return { client, toEdge: client.take(now), toRouter: undefined, fromEngine: pieces, toClient: pieces, waited: 0 };
  }
  /** A stream's first chunk comes with the next step of some engine. */
  function firstPieceAt(now: number): number {
    if (load.chunks === 0) return now + exponential(load.everySeconds);
    const phase = (Math.floor(random() * engines) / engines) * load.everySeconds;
    return phase + Math.ceil((now - phase) / load.everySeconds) * load.everySeconds;
  }
  const steps: Record<Step, (now: number, call: Call) => void> = {
    request(now, call) {
      const work = halfCall(costs.edge);
      const doneAt = loopOf(edges, call.toEdge).serve(now, work);
      call.waited = doneAt - work - now;
      queue.add(doneAt, { step: 'gate', call });
    },
    gate(now, call) {
      call.toRouter = (toRouters[call.toEdge.pod] as ConnectionPool).take(now);
      const work = halfCall(costs.router);
      const doneAt = loopOf(routers, call.toRouter).serve(now, work);
      call.waited += doneAt - work - now;
      queue.add(firstPieceAt(doneAt), { step: 'piece', call });
    },
    piece(now, call) {
      call.fromEngine -= 1;
      const isLast = call.fromEngine === 0;
      if (!isLast) queue.add(now + load.everySeconds, { step: 'piece', call });
      const work = toSeconds(costs.router, isLast);
      const doneAt = loopOf(routers, routerOf(call)).serve(now, work);
      call.waited = (load.chunks > 0 ? 0 : call.waited) + doneAt - work - now;
      queue.add(doneAt, { step: 'pass', call });
    },
    pass(now, call) {
      call.toClient -= 1;
      const isLast = call.toClient === 0;
      const work = toSeconds(costs.edge, isLast);
      const doneAt = loopOf(edges, call.toEdge).serve(now, work);
      waits.add(call.waited + doneAt - work - now);
      if (isLast) queue.add(doneAt, { step: 'end', call });
    },
    end(now, call) {
      call.client.release(call.toEdge, now);
      (toRouters[call.toEdge.pod] as ConnectionPool).release(routerOf(call), now);
    },
  };
  const { share, size } = BURSTS;
  /** Of single calls and of bursts together. */
  const arrivalsPerSecond = load.callsPerSecond * (1 - share + share / size);
  const burstShare = share / size / (1 - share + share / size);
  function arrive(now: number): void {
    const client = clientOf(drawWorkspace());
    for (let left = random() < burstShare ? size : 1; left > 0; left -= 1) steps.request(now, begin(client, now));
    queue.add(now + exponential(1 / arrivalsPerSecond), ARRIVE);
  }

  // What is open already, each somewhere in its answer.
  const open = load.chunks > 0 ? openStreams(load) : load.callsPerSecond * load.everySeconds;
  for (let count = 0; count < open; count += 1) {
    const call = begin(clientOf(drawWorkspace()), 0);
    call.toRouter = (toRouters[call.toEdge.pod] as ConnectionPool).take(0);
    call.fromEngine = 1 + Math.floor(random() * pieces);
    call.toClient = call.fromEngine;
    queue.add(firstPieceAt(0), { step: 'piece', call });
  }
  queue.add(0, ARRIVE);
  const handle = (at: number, happening: Happening): void => {
    if (happening.step === 'arrive') arrive(at);
    else steps[happening.step](at, happening.call);
  };
  while (queue.takeBefore(WARM_UP_SECONDS, handle));
  for (const loop of [...edges, ...routers]) loop.begin();
  waits.clear();
  while (queue.takeBefore(WARM_UP_SECONDS + seconds, handle));
  return { edge: toResult(edges, seconds), router: toResult(routers, seconds), waits };
}

/** A pod's event loop, with what waited for it. */
class Loop extends FifoServer {
  readonly waits: Waits;

  constructor() {
    const waits = new Waits();
    super(waits);
    this.waits = waits;
  }

  /** Counts from here on. */
  begin(): void {
    this.work = 0;
    this.waits.clear();
  }
}

const openLoops = (pods: number): Loop[] => Array.from({ length: pods }, () => new Loop());

function toResult(loops: Loop[], seconds: number): LoopResult {
  const busiest = loops.reduce((most, loop) => (loop.work > most.work ? loop : most));
  return { busy: loops.map(({ work }) => work / seconds), busiestWaits: busiest.waits };
}
