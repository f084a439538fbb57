import { aKeyRecord } from '@turnpike/internal-api/aKeyRecord';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { computeCharge } from '@turnpike/money/price';
import type { Ending } from '../../../services/model-router/src/money/call/openCalls.ts';
import { MODEL } from '../router/simulatedRouter.ts';
import { createRandom, type Random } from '../world/random.ts';
import type { SimulatedProcess } from '../world/world.ts';
import { checkLetIn } from './checkWhileRunning.ts';
import type { TrueCall } from './ledgerOfTruth.ts';
import type { RouterMachine, Stack } from './stack.ts';

const OUTPUT_TOKENS = 1_000;
/** About what such a call holds, in nano-dollars. */
const TYPICAL_HOLD = 400_000n;

/** One of this many calls releases its hold at its end, as a job that could not be made does. */
const RELEASED_EVERY = 8;

/** The key of a workspace of its own without limits: its admission depends only on whether its router admits. */
export const PROBE_KEY = 'key_probe';
export const PROBE_WORKSPACE = 'ws_probe';

/** Workspaces and keys, with limits that a few calls at once come up against. */
export function makeKeys({ world: { random, seed }, keys, truth }: Stack): void {
  // Draws of their own, so that the other seeds go on as they did.
  const ofPeriods = seed % 4 === 0 ? createRandom(seed) : undefined;
  for (let nth = 0; nth < 2; nth += 1)
    if (random.chance(0.3)) truth.capByWorkspace.set(`ws_${nth}`, TYPICAL_HOLD * BigInt(random.between(4, 14)));
  for (let nth = 0; nth < 3; nth += 1) {
    const [keyId, workspaceId] = [`key_${nth}`, `ws_${nth % 2}`];
    const maxBudgetNanoUsd = random.chance(0.3) ? aBudget(random) : null;
    if (maxBudgetNanoUsd !== null) truth.budgetByKey.set(keyId, maxBudgetNanoUsd);
    const periodBudget = ofPeriods?.chance(0.7)
      ? { period: ofPeriods.pick(['day', 'week', 'month'] as const), maxNanoUsd: aBudget(ofPeriods) }
      : null;
    if (periodBudget) truth.periodBudgetByKey.set(keyId, periodBudget);
    const monthlyCapNanoUsd = truth.capByWorkspace.get(workspaceId) ?? null;
    keys.set(
      keyId,
      aKeyRecord({ keyId, maxBudgetNanoUsd, periodBudget, workspace: { workspaceId, monthlyCapNanoUsd } }),
    );
  }
}

export function makeProbeKey({ keys }: Stack): void {
  keys.set(PROBE_KEY, aKeyRecord({ keyId: PROBE_KEY, workspace: { workspaceId: PROBE_WORKSPACE } }));
}

/** A budget of a few calls. */
export const aBudget = (random: Random): bigint => TYPICAL_HOLD * BigInt(random.between(3, 10));

/** A UUIDv7 by the clock of the router that makes it. */
function aCallId({ world }: Stack, process: SimulatedProcess, nth: number): string {
  const instant = Math.floor(world.wallClockMs(process)).toString(16).padStart(12, '0');
  return `${instant.slice(0, 8)}-${instant.slice(8)}-7000-8000-${nth.toString(16).padStart(12, '0')}`;
}

/** One call of a random key at a random router. */
export function makeCall(stack: Stack, nth: number): void {
  const { random } = stack.world;
  const machine = random.pick(stack.machines);
  const key = random.pick([...stack.keys.values()].filter(({ keyId }) => keyId !== PROBE_KEY));
  makeCallOf(stack, { machine, key, nth, longestMs: stack.longestCallMs, isToBeReleased: nth % RELEASED_EVERY === 0 });
}

/** One call, from the client's side: let in or not, served by an engine for a while, ended in some way. Undefined where none is made. */
export function makeCallOf(
  stack: Stack,
  {
    machine,
    key,
    nth,
    longestMs,
    isToBeReleased = false,
  }: { machine: RouterMachine; key: KeyRecord; nth: number; longestMs: number; isToBeReleased?: boolean },
): TrueCall | undefined {
  const { world, truth } = stack;
  const { router, process, incarnation, index, routerId } = machine;
  if (!router || process.isDead || machine.isLeaving) return undefined;
  const callId = aCallId(stack, process, nth);
  const call: TrueCall = {
    callId,
    keyId: key.keyId,
    workspaceId: key.workspace.workspaceId,
    router: index,
    incarnation,
    routerId,
    startedAt: world.now,
    month: undefined,
    admittedAtMs: undefined,
    holdNanoUsd: undefined,
    isToBeReleased,
    isRefused: false,
    isLetIn: false,
    ending: undefined,
    chargeNanoUsd: 0n,
    isKept: undefined,
    session: undefined,
    pendingAt: undefined,
    isPending: false,
    settledAt: undefined,
    isExcused: false,
    wasExcused: false,
  };
  truth.calls.set(callId, call);
  world.schedule(0, () => void serve(stack, call, longestMs), process);
  return call;
}

async function serve(stack: Stack, call: TrueCall, longestMs: number): Promise<void> {
  const { world } = stack;
  const { random } = world;
  const { router } = stack.machines[call.router] ?? {};
  const key = stack.keys.get(call.keyId);
  if (!router || !key) return;
  try {
    const letIn = await router.admit(call.callId, key, OUTPUT_TOKENS);
    world.note(`call ${call.callId.slice(-4)} of ${call.workspaceId} is ${letIn ? 'let in' : 'refused'}`);
    call.isRefused = !letIn;
    call.isLetIn = letIn !== undefined;
    call.holdNanoUsd = letIn?.holdNanoUsd;
    if (!letIn) return;
    checkLetIn(stack, call);
    await world.sleep(random.share() ** 2 * longestMs);
    if (call.isToBeReleased) {
      call.isRefused = true;
      call.isLetIn = false;
      call.holdNanoUsd = undefined;
      await letIn.release();
      world.note(`call ${call.callId.slice(-4)} is released`);
      return;
    }
    const ending = anEnding(stack);
    call.ending = ending;
    call.chargeNanoUsd = chargeOf(ending, letIn.holdNanoUsd);
    call.isKept = await letIn.call.end(ending);
    world.note(
      `call ${call.callId.slice(-4)} ended as ${ending.status}, ${call.chargeNanoUsd}: ${call.isKept ? 'kept' : 'not kept'}`,
    );
  } catch (error) {
    world.fail(error);
  }
}

function anEnding({ world: { random } }: Stack): Ending {
  const usage = {
    promptTokens: random.between(1, 40),
    cachedPromptTokens: 0,
    completionTokens: random.between(0, OUTPUT_TOKENS),
  };
  const roll = random.share();
  if (roll < 0.6) return { status: 'success', reason: 'completed', usage };
  if (roll < 0.8) return { status: 'success', reason: 'client_left', usage };
  if (roll < 0.83)
    return { status: 'success', reason: 'completed', usage: { ...usage, completionTokens: 5 * OUTPUT_TOKENS } };
  if (roll < 0.93) return { status: 'failure', reason: 'engine_died' };
  return { status: 'unknown', reason: 'no_count' };
}

function chargeOf(ending: Ending, holdNanoUsd: bigint): bigint {
  if (ending.status !== 'success') return 0n;
  const formula = computeCharge({ ...ending.usage, images: 0 }, MODEL.prices);
  return formula < holdNanoUsd ? formula : holdNanoUsd;
}
